import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeContent } from '../../src/adapters/content.ts'
import { keyOf } from '../../src/base/md5.ts'
import { HOST } from '../../src/core/hosts.ts'
import type { Settings } from '../../src/core/settings.ts'
import { hostOf } from '../../src/core/url.ts'
import { type Explanation, explainUrl } from '../../src/crawl/explain.ts'
import type { PastCrawl } from '../../src/crawl/reading.ts'
import { forEachUrl } from '../../src/crawl/urls.ts'
import { createLinkSource } from '../../src/shard/link-source.ts'
import type { ScriptedPage } from '../shard/small-crawl.ts'
import { pastOf } from './small-past.ts'

const html = (...hrefs: string[]): ScriptedPage => ({ body: hrefs.map((href) => `<a href="${href}">x</a>`).join('') })

function explain(past: PastCrawl, url: string, wantsLinks = true): Explanation {
  const options = { settings: past.state.settings, nowMs: 1_700_000_000_000, decode: decodeContent }
  const explained = explainUrl(past.logs, url, { ...options, wantsLinks })
  assert.ok(explained, `${url} is unknown`)
  return explained
}

const linkedFrom = (past: PastCrawl, url: string) =>
  explain(past, url).linkedFrom?.pages.map((page) => `${page.how} ${page.url.slice('http://a.test'.length)}`)

/** Pages in a tree, ten links each, so that several bulks of a host wait; every seventh fails at first. */
function treePages(pageCount: number): Record<string, ScriptedPage | ((times: number) => ScriptedPage)> {
  const pages: Record<string, ScriptedPage | ((times: number) => ScriptedPage)> = {}
  for (let i = 0; i < pageCount; i++) {
    const links = Array.from({ length: 10 }, (_, k) => `http://${k % 3 === 0 ? 'b' : 'a'}.test/${i * 10 + k + 1}`)
    const page = html(...links.slice(0, i % 4 === 0 ? 10 : 3))
    for (const host of ['a', 'b']) {
      pages[`http://${host}.test/${i || ''}`] = i % 7 === 3 ? (times) => (times < 2 ? { status: 503 } : page) : page
    }
  }
  return pages
}

/** Bulks before the one with a URL, as the replayed state has its host's queues; undefined where it stands in none. */
function bulksAheadIn({ state, logs }: PastCrawl, url: string): number | undefined {
  const source = createLinkSource(logs.events, state, () => 0)
  const host = state.hosts.findKey(keyOf(hostOf(url)))
  if (state.waiting.find(...wordsOf(url)) >= 0) return undefined
  for (const field of [HOST.queuePreferred, HOST.queue]) {
    const places: Array<readonly [number, number]> = []
    const at = state.hosts.rowOf(host) + field
    state.queues.forEach(state.hosts.wordsOf(host), at, (position, place) => places.push([position, place]))
    const handle = state.urls.findKey(keyOf(url))
    for (const [index, [position, place]] of places.entries()) {
      if (state.urls.word(handle, 0) !== position || state.urls.word(handle, 1) >>> 16 !== place >>> 16) continue
      if (source.bulk(place >>> 16, position, place & 0xffff).some((link) => link.url === url)) return index
    }
  }
  return undefined
}

function wordsOf(url: string): [number, number, number, number] {
  const words = new Uint32Array(Uint8Array.from(Buffer.from(keyOf(url), 'latin1')).buffer)
  return [words[0], words[1], words[2], words[3]]
}

for (const order of ['breadth', 'depth', 'random', 'priority'] as const) {
  test(`the place of a pending URL in its queue is that of the replayed state, order ${order}`, () => {
    const settings: Partial<Settings> = { order, prefer: ['7$'], scope: 'any', perHost: 3, delayMaxMs: 50 }
    let queued = 0
    let returned = 0
    for (const untilMs of [90, 250, 600]) {
      const past = pastOf({ pages: treePages(400), seeds: ['http://a.test/', 'http://b.test/'], settings, untilMs })
      forEachUrl(past, { states: new Set([1]) }, false, ({ url }) => {
        const { standing } = explain(past, url, false)
        const ahead = bulksAheadIn(past, url)
        if (ahead === undefined) returned++
        else queued++
        assert.equal(standing?.class === 'queued' || standing?.class === 'preferred', ahead !== undefined, url)
        assert.equal(standing?.bulksAhead, ahead ?? 0, url)
      })
    }
    assert.ok(queued > 100 && returned > 0, `${queued} queued, ${returned} returned`)
  })
}

const GRAPH = {
  'http://a.test/': html('/one', '/two', '/moved'),
  'http://a.test/one': html('/two', '/one', '/three', '/two'),
  'http://a.test/two': html('/', '/three'),
  'http://a.test/moved': { status: 302, headers: [['location', '/two']] },
} as const

test('every page that links to a URL is named once, redirects as such, and no page for its link to itself', () => {
  const past = pastOf({ pages: GRAPH, seeds: ['http://a.test/'] })
  assert.deepEqual(linkedFrom(past, 'http://a.test/two'), ['link /', 'link /one', 'redirect /moved'])
  assert.deepEqual(linkedFrom(past, 'http://a.test/one'), ['link /'])
  assert.deepEqual(linkedFrom(past, 'http://a.test/'), ['link /two'])
  assert.deepEqual(linkedFrom(past, 'http://a.test/three'), ['link /one', 'link /two'])
})

test('without the link graph only the page that brought a URL in is named, and it is said to be incomplete', () => {
  const past = pastOf({ pages: GRAPH, seeds: ['http://a.test/'], settings: { graph: false } })
  assert.deepEqual(linkedFrom(past, 'http://a.test/two'), ['link /'])
  assert.equal(explain(past, 'http://a.test/two').linkedFrom?.isComplete, false)
})

test('a page whose links were read again after a shorter way counts once', () => {
  const pages = {
    'http://a.test/': html('/long', 'http://b.test/slow'),
    'http://a.test/long': html('/mid'),
    'http://a.test/mid': html('/deep', '/end'),
    'http://b.test/slow': (times: number) => (times < 3 ? { status: 503 } : html('http://a.test/deep')),
    'http://a.test/deep': html('/end', '/more'),
  }
  const past = pastOf({ pages, seeds: ['http://a.test/'], settings: { depthMax: 3, scope: 'any' } })
  const deep = explain(past, 'http://a.test/deep')
  assert.ok(
    deep.events.some(({ kind }) => kind === 'relinked'),
    'no page was read again',
  )
  assert.equal(deep.depth, 2)
  assert.deepEqual(linkedFrom(past, 'http://a.test/end'), ['link /mid', 'link /deep'])
  assert.deepEqual(linkedFrom(past, 'http://a.test/more'), ['link /deep'])
})

test('a URL that waits says for what: its own next attempt and the pause of its host', () => {
  const pages = { 'http://a.test/': (): ScriptedPage => ({ status: 503, headers: [['retry-after', '60']] }) }
  const past = pastOf({ pages, seeds: ['http://a.test/'], untilMs: 5000 })
  const { state, waits, standing } = explain(past, 'http://a.test/')
  assert.deepEqual([state, standing?.class], ['pending', 'returned'])
  assert.match(waits.map(({ what }) => what).join('; '), /next attempt after http\.status; its host, which asked/)
  assert.ok(waits.every(({ until }) => until !== null))
})

test('a URL whose host was asked a moment ago waits for the delay between two requests', () => {
  const settings = { delayMs: 60_000 }
  const past = pastOf({ pages: GRAPH, seeds: ['http://a.test/'], settings, untilMs: 30_000 })
  const { waits, standing } = explain(past, 'http://a.test/one')
  assert.deepEqual(
    [waits.map(({ what }) => what), standing],
    [['the delay between two requests to its host'], { class: 'queued', bulksAhead: 0 }],
  )
})

test('the rule that let a URL in is told by the settings of that time', () => {
  const past = pastOf({ pages: GRAPH, seeds: ['http://a.test/'], settings: { include: ['two', 'o'], depthMax: 4 } })
  const [found] = explain(past, 'http://a.test/two').events
  assert.equal(found.rule, 'scope host, depth 4, include two')
})
