/** Rules that change while a crawl is under way: it must end in the set that the rules in force at the end give. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Settings } from '../../src/core/settings.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { type Crawled, crawl, type ScriptedPage } from './small-crawl.ts'

/** Pages by URL: what they link to, or where they redirect. */
interface Web {
  readonly links: ReadonlyMap<string, readonly string[]>
  readonly redirects: ReadonlyMap<string, string>
}

const HOSTS = ['a.test', 'b.test']
const KINDS = ['a', 'b', 'c']
const SEED = 'http://a.test/s/0'

/** A seed and pages of three kinds on two hosts, each linked to from some of the others. */
function webOf(numbers: readonly number[]): Web {
  const urls = [SEED, ...numbers.map((n, i) => `http://${HOSTS[n % 2]}/${KINDS[n % 3]}/${i}`)]
  const links = new Map<string, string[]>(urls.map((url) => [url, []]))
  const redirects = new Map<string, string>()
  for (const [i, n] of numbers.entries()) {
    const url = urls[i + 1]
    links.get(urls[n % (i + 1)])?.push(url)
    links.get(urls[(n >>> 5) % urls.length])?.push(url)
    if (n % 7 === 0) redirects.set(url, urls[1 + ((n >>> 9) % numbers.length)])
  }
  return { links, redirects }
}

function pagesOf({ links, redirects }: Web): Record<string, ScriptedPage> {
  const pages: Record<string, ScriptedPage> = {}
  for (const [url, targets] of links) {
    const location = redirects.get(url)
    pages[url] =
      location === undefined
        ? { body: targets.map((target) => `<a href="${target}">x</a>`).join(' ') }
        : { status: 302, headers: [['location', location]], body: 'moved' }
  }
  return pages
}

type Rules = Pick<Settings, 'scope' | 'depthMax' | 'include' | 'exclude'>

function allows({ scope, depthMax, include, exclude }: Rules, url: string, depth: number): boolean {
  if (scope === 'host' && !url.startsWith('http://a.test/')) return false
  if (scope === 'prefix' && !url.startsWith('http://a.test/s/')) return false
  if (depthMax !== null && depth > depthMax) return false
  if (exclude.some((source) => new RegExp(source).test(url))) return false
  return include.length === 0 || url === SEED || include.some((source) => new RegExp(source).test(url))
}

/** What a plain walk comes to that knows the pages already had, and may follow their links: shortest ways count. */
function walk({ links, redirects }: Web, rules: Rules, had: ReadonlySet<string>): Set<string> {
  const depths = new Map([[SEED, 0]])
  const isTaken = (url: string): boolean => had.has(url) || allows(rules, url, depths.get(url) as number)
  for (let isNew = true; isNew; ) {
    isNew = false
    for (const [url, depth] of [...depths]) {
      if (!isTaken(url)) continue
      const target = redirects.get(url)
      const ways =
        target === undefined ? (links.get(url) ?? []).map((to) => [to, depth + 1] as const) : [[target, depth] as const]
      for (const [to, toDepth] of ways) {
        if ((depths.get(to) ?? Number.POSITIVE_INFINITY) <= toDepth) continue
        depths.set(to, toDepth)
        isNew = true
      }
    }
  }
  return new Set([...depths.keys()].filter(isTaken))
}

function doneIn({ stateOf }: Crawled, { links }: Web): Set<string> {
  return new Set([...links.keys()].filter((url) => stateOf(url) === 'done'))
}

const rules: fc.Arbitrary<Rules> = fc.record({
  scope: fc.constantFrom('any', 'host', 'host', 'prefix'),
  depthMax: fc.constantFrom(null, null, 0, 1, 2, 3, 5),
  include: fc.constantFrom([], [], ['/(a|c)/'], ['/b/', '/c/']),
  exclude: fc.constantFrom([], [], ['/a/'], ['/b/'], ['/a/', 's/0']),
})

test('whatever the rules were before, a crawl ends in the set of a plain walk under those of its end', () => {
  const given = fc.record({
    numbers: fc.array(fc.nat(), { minLength: 8, maxLength: 40 }),
    order: fc.constantFrom('breadth', 'random', 'depth'),
    lives: fc.array(fc.record({ rules, untilMs: fc.integer({ min: 20, max: 250 }) }), { minLength: 1, maxLength: 3 }),
    last: rules,
  })
  fc.assert(
    fc.property(given, ({ numbers, order, lives, last }) => {
      const web = webOf(numbers)
      const common = { pages: pagesOf(web), seeds: [SEED] }
      let crawled: Crawled | undefined
      for (const { rules, untilMs } of lives) {
        const before = crawled === undefined ? {} : { disk: crawled.disk }
        crawled = crawl({ ...common, ...before, settings: { ...rules, order: order as Settings['order'] }, untilMs })
      }
      assert(crawled)
      const had = doneIn(crawled, web)
      const end = crawl({ ...common, disk: crawled.disk, settings: { ...last, order: order as Settings['order'] } })
      // A redirect that leads back to one of its own chain has failed, wherever it was found.
      const loops = [...web.redirects.keys()].filter((url) => end.stateOf(url) === 'failed')
      const found = doneIn(end, web)
      const plain = new Set([...walk(web, last, new Set()), ...had])
      const widest = walk(web, last, had)
      for (const url of plain) assert(found.has(url) || loops.includes(url), `${url} is missing`)
      for (const url of found) assert(widest.has(url), `${url} is too much`)
      // Of a page that was had and does not belong to the crawl any more, shorter ways to it are not looked for.
      const areAllIn = [...had].every((url) => allows({ ...last, depthMax: null }, url, 0))
      if (areAllIn) assert.equal(found.size, [...widest].filter((url) => !loops.includes(url)).length)
      assert.equal(openShardLogs(end.disk, '/crawl', 'read').isLossy, false)
    }),
    { numRuns: 60 },
  )
})
