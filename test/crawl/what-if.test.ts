/** Coverage under other rules, told from the log, against crawls that were made under those rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeContent } from '../../src/adapters/content.ts'
import type { Settings } from '../../src/core/settings.ts'
import { URL_STATE } from '../../src/core/state.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { type PastCrawl, readCrawl } from '../../src/crawl/reading.ts'
import { type WhatIf, whatIf } from '../../src/crawl/what-if.ts'
import { type Crawled, crawl, type ScriptedPage } from '../shard/small-crawl.ts'
import type { SimulatedDisk } from '../sim/disk.ts'

const SEED = 'http://a.test/s/0'
const HOSTS = ['a.test', 'b.test']
const KINDS = ['a', 'b', 'c']

function pagesOf(numbers: readonly number[]): Record<string, ScriptedPage> {
  const urls = [SEED, ...numbers.map((n, i) => `http://${HOSTS[n % 2]}/${KINDS[n % 3]}/${i}`)]
  const links = urls.map((): string[] => [])
  for (const [i, n] of numbers.entries()) {
    links[n % (i + 1)].push(urls[i + 1])
    links[(n >>> 5) % urls.length].push(urls[i + 1])
  }
  const pages: Record<string, ScriptedPage> = {}
  for (const [i, url] of urls.entries()) {
    const location = urls[1 + ((numbers[i] ?? 0) % numbers.length)]
    const isRedirect = i > 0 && (numbers[i - 1] >>> 4) % 9 === 0
    pages[url] = isRedirect
      ? { status: 302, headers: [['location', location]], body: '' }
      : { body: links[i].map((to) => `<a href="${to}">x</a>`).join(' ') }
  }
  return pages
}

/** The crawl as if it were in a DIR of its own. */
function pastOf({ disk }: Crawled): PastCrawl {
  const moved = disk.clone() as SimulatedDisk
  const shard = layoutOf('/root').shard(0)
  for (const log of ['log', 'pages']) {
    for (const name of disk.list(`/crawl/${log}`)) {
      moved.poke(`${shard}/${log}/${name}`, disk.peek(`/crawl/${log}/${name}`) ?? new Uint8Array(0))
    }
  }
  return readCrawl(moved, layoutOf('/root'), { kind: 'end' }, undefined, true)
}

async function* seeds(): AsyncGenerator<readonly string[]> {
  yield [SEED]
}

async function under(crawled: Crawled, changes: Partial<Settings>): Promise<WhatIf> {
  const past = pastOf(crawled)
  return whatIf(past, seeds(), { ...past.state.settings, ...changes }, decodeContent)
}

type Rules = Pick<Settings, 'scope' | 'depthMax' | 'include' | 'exclude'>

const rules: fc.Arbitrary<Rules> = fc.record({
  scope: fc.constantFrom('any', 'host', 'prefix'),
  depthMax: fc.constantFrom(null, 0, 1, 2, 3),
  include: fc.constantFrom([], [], ['/(a|c)/']),
  exclude: fc.constantFrom([], [], ['/a/'], ['/b/']),
})

function crawledIn({ shard }: Crawled): number {
  const { counts } = shard.state
  return counts[URL_STATE.done] + counts[URL_STATE.failed]
}

test('under narrower rules the figures are those of a crawl made under them', async () => {
  const given = fc.record({ numbers: fc.array(fc.nat(), { minLength: 5, maxLength: 40 }), rules })
  await fc.assert(
    fc.asyncProperty(given, async ({ numbers, rules }) => {
      const pages = pagesOf(numbers)
      const wide = crawl({ pages, seeds: [SEED], settings: { scope: 'any' } })
      const narrow = crawl({ pages, seeds: [SEED], settings: rules })
      const { before, after, lost, gained } = await under(wide, rules)
      assert.deepEqual([before.crawled, after.crawled], [crawledIn(wide), crawledIn(narrow)])
      assert.deepEqual([before.pages, after.pages], [wide.shard.state.pages, narrow.shard.state.pages])
      assert.deepEqual([before.bytes, after.bytes], [wide.shard.totals.bytes, narrow.shard.totals.bytes])
      assert.equal(lost.urls, before.crawled - after.crawled)
      assert.equal(gained.urls, 0)
    }),
    { numRuns: 40 },
  )
})

test('under wider rules all is kept, and what more is let in is in a crawl made under them', async () => {
  const given = fc.record({ numbers: fc.array(fc.nat(), { minLength: 5, maxLength: 40 }), rules })
  await fc.assert(
    fc.asyncProperty(given, async ({ numbers, rules }) => {
      const pages = pagesOf(numbers)
      const narrow = crawl({ pages, seeds: [SEED], settings: rules })
      const wide = crawl({ pages, seeds: [SEED], settings: { scope: 'any' } })
      const widest: Rules = { scope: 'any', depthMax: null, include: [], exclude: [] }
      const { lost, gained } = await under(narrow, widest)
      assert.equal(lost.urls, 0)
      const seen = (crawled: Crawled): number => crawled.shard.state.urls.count
      assert(gained.urls <= seen(wide) - seen(narrow))
      // Something more lies directly behind what was read, or nothing does at all.
      assert.equal(gained.urls > 0, seen(wide) > seen(narrow))
      for (const { url, reason } of gained.first) {
        assert.equal(wide.stateOf(url) !== '', true, url)
        assert.equal(narrow.stateOf(url), '', url)
        assert(/^(scope|depth|include|exclude)/.test(reason), reason)
      }
    }),
    { numRuns: 40 },
  )
})

test('a budget of pages is spent in the order of the walk', async () => {
  const pages = pagesOf(Array.from({ length: 30 }, (_, i) => i * 77 + 1))
  const wide = crawl({ pages, seeds: [SEED], settings: { scope: 'any' } })
  const { after, lost } = await under(wide, { pagesMax: 3 })
  assert.equal(after.pages, 3)
  assert.equal(lost.urls, crawledIn(wide) - after.crawled)
  assert((lost.byReason['budget.pages'] ?? 0) > 0)
})

test('of an unfinished crawl what is pending is no difference', async () => {
  const pages = pagesOf(Array.from({ length: 30 }, (_, i) => i * 77 + 1))
  const half = crawl({ pages, seeds: [SEED], settings: { scope: 'any', perHost: 1 }, untilMs: 60 })
  const pending = half.shard.state.counts[URL_STATE.pending]
  assert(pending > 0)
  const result = await under(half, { linksMax: 9999 })
  assert.deepEqual([result.pending, result.lost.urls, result.gained.urls], [pending, 0, 0])
})
