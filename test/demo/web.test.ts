/** The demo web does what its model says: a plain crawler with a DOM finds the URLs, states and requests expected. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { parse } from 'parse5'
import { type DemoOptions, type DemoWeb, startDemoWeb } from '../../scripts/demo/web.ts'

/** A crawler of a page's length: no delay, no robots.txt but the prefixes forbidden everywhere, DOM for links. */
async function crawl(seeds: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>(seeds.map((url) => [url, '']))
  const origins = seeds.map((url) => new URL(url).origin)
  const isOurs = (url: string) => origins.includes(new URL(url).origin)
  for (const url of states.keys()) {
    const links = /^\/(?:private|cgi-bin)\//.test(new URL(url).pathname) ? 'refused' : await visit(url)
    states.set(url, typeof links === 'string' ? links : 'done')
    if (typeof links !== 'string') for (const link of links) if (isOurs(link) && !states.has(link)) states.set(link, '')
  }
  return states
}

async function visit(url: string): Promise<string | string[]> {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const response = await fetch(url, { redirect: 'manual' }).catch(() => undefined)
    if (response === undefined || response.status === 500) continue
    if (response.status >= 400) return 'failed'
    if (response.status >= 300) return targetOf(url, response.headers.get('location'))
    if (!response.headers.get('content-type')?.startsWith('text/html')) return []
    const bytes = new Uint8Array(await response.arrayBuffer())
    const html = new TextDecoder('latin1').decode(bytes)
    const charset = /charset=["']?([\w-]+)/.exec(`${response.headers.get('content-type')} ${html}`)![1]
    return linksOf(new TextDecoder(charset).decode(bytes), url)
  }
  return 'failed'
}

/** The only loops of this web are `/loop` and `/self`. */
function targetOf(url: string, location: string | null): string | string[] {
  if (location === null) return 'failed'
  const target = new URL(location, url).href
  return target === url || target.endsWith('/loop/1') ? 'failed' : [target]
}

interface Node {
  readonly tagName?: string
  readonly attrs?: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly childNodes?: readonly Node[]
}

function linksOf(html: string, url: string): string[] {
  const nodes: Node[] = [parse(html) as Node]
  const links: string[] = []
  let base = url
  for (const node of nodes) {
    const attribute = (name: string) => node.attrs?.find((each) => each.name === name)?.value
    const href = attribute('href')
    if (node.tagName === 'base' && href !== undefined) base = new URL(href, url).href
    if (node.tagName === 'a' && href !== undefined && attribute('rel') !== 'nofollow') links.push(href)
    nodes.push(...(node.childNodes ?? []))
  }
  return links.map((href) => new URL(href, base).href.replace(/#.*/, '')).filter((href) => href.startsWith('http:'))
}

/** Serves a web until the test ends. */
async function given(context: TestContext, options: DemoOptions): Promise<DemoWeb> {
  const web = await startDemoWeb(options)
  context.after(() => web.close())
  return web
}

test('a plain crawl finds exactly the URLs expected, in the states expected', async (context) => {
  const web = await given(context, { seed: 7, pages: 120, hosts: 5 })
  const expected = new Map(web.expected().map(({ url, state }) => [url, state]))
  const found = await crawl(web.seeds)
  assert.deepEqual(Object.fromEntries([...found].sort()), Object.fromEntries([...expected].sort()))
  assert.ok([...expected.values()].filter((state) => state === 'done').length >= 120)
  for (const state of ['failed', 'refused'] as const) assert.ok([...expected.values()].includes(state))
})

test('the requests expected are those that the log shows', async (context) => {
  const web = await given(context, { seed: 3, pages: 60, hosts: 4 })
  await crawl(web.seeds)
  const counts = new Map<string, number>()
  for (const { host, path } of web.log) {
    const url = `http://${host}${path}`
    counts.set(url, (counts.get(url) ?? 0) + 1)
  }
  for (const { url, requestsMin } of web.expected()) assert.equal(counts.get(url) ?? 0, requestsMin, url)
  assert.equal(web.stats().requests, web.log.length)
})

test('the same seed and port give the same bytes in any order', async (context) => {
  const read = async (urls: readonly string[]) => {
    const texts = new Map<string, string>()
    // A connection kept from the web before is closed now: the second request opens another.
    const get = (url: string) => fetch(url, { redirect: 'manual' })
    for (const url of urls) texts.set(url, await (await get(url).catch(() => get(url))).text())
    return [...texts].sort()
  }
  const first = await given(context, { seed: 5, pages: 20, hosts: 4 })
  const steady = first.expected().filter(({ state, requestsMin }) => state === 'done' && requestsMin === 1)
  const urls = steady.map(({ url }) => url)
  const once = await read(urls)
  await first.close()
  await given(context, { seed: 5, pages: 20, hosts: 4, port: first.port })
  assert.deepEqual(await read(urls.toReversed()), once)
})

test('another seed gives another web', async (context) => {
  const paths = async (seed: number) => {
    const web = await given(context, { seed, pages: 20, hosts: 4 })
    return web.expected().map(({ url }) => new URL(url).pathname)
  }
  assert.notDeepEqual(await paths(1), await paths(2))
})
