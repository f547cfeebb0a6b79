import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { decodeContent } from '../../src/adapters/content.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { createState, type State } from '../../src/core/state.ts'
import { verifyPages } from '../../src/crawl/page-checks.ts'
import type { PastCrawl } from '../../src/crawl/reading.ts'
import type { Trouble } from '../../src/crawl/trouble.ts'
import { forEachUrl } from '../../src/crawl/urls.ts'
import type { OpenedLog } from '../../src/log/opened.ts'
import { PAGES_LOG } from '../../src/log/pages.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { auditLog } from '../../src/shard/audit.ts'
import { type CompactedShard, compactShard } from '../../src/shard/compacting.ts'
import { writeGeneration } from '../../src/shard/compaction.ts'
import { cutAtEnd } from '../../src/shard/cut.ts'
import { generationIn } from '../../src/shard/generations.ts'
import { sealForCompaction, takeOver } from '../../src/shard/live-compaction.ts'
import { EVENTS_LOG, openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import type { Shard } from '../../src/shard/shard-parts.ts'
import { seeded } from '../log/given.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import type { SimulatedDisk } from '../sim/disk.ts'
import { VirtualTime } from '../sim/scheduler.ts'
import { type Crawled, crawl, type ScriptedPage, type SmallCrawl } from './small-crawl.ts'

const DIRECTORY = '/crawl'

/** A web that has something of everything: several hosts, redirects, failures, retries, the same body twice. */
function webOf(hosts: number, pagesPerHost: number): SmallCrawl['pages'] {
  const pages: Record<string, ScriptedPage | ((times: number) => ScriptedPage)> = {}
  for (let h = 0; h < hosts; h++) {
    pages[`http://h${h}.test/robots.txt`] = {
      body: h % 3 === 0 ? 'User-agent: *\nDisallow: /p7\nCrawl-delay: 1\n' : '',
      headers: [['content-type', 'text/plain']],
    }
    for (let p = 0; p < pagesPerHost; p++) {
      const links = [1, 2, 3, 5, 8, 13].flatMap((step) => [
        `/p${(p + step) % pagesPerHost}`,
        `http://h${(h + step) % hosts}.test/p${(p * step) % pagesPerHost}`,
      ])
      const body = links.map((href) => `<a href="${href}">x</a>`).join('')
      const url = `http://h${h}.test/p${p}`
      if (p % 11 === 4) pages[url] = { status: 302, headers: [['location', `/p${(p + 1) % pagesPerHost}`]] }
      else if (p % 11 === 6) pages[url] = { status: 404, body: 'none' }
      else if (p % 11 === 9) pages[url] = (times) => (times < 3 ? { status: 503 } : { body })
      else if (p % 11 === 2) pages[url] = { body: '<p>the same everywhere</p>' }
      else pages[url] = { body }
    }
  }
  return pages
}

const WEB = webOf(8, 25)
const SETTINGS = { scope: 'any', robots: true, delayMs: 50, concurrency: 8, retriesMax: 3 } as const
const GIVEN: SmallCrawl = {
  pages: WEB,
  seeds: ['http://h0.test/p0', 'http://h1.test/p1', 'http://gone.test/'],
  settings: SETTINGS,
  addresses: { 'gone.test': [] },
  segmentBytesMax: 32 * 1024,
}

function optionsOf(store: SimulatedCheckpoints, keepMs?: number) {
  return {
    ...{ store, stated: undefined, keepMs, wallMs: 0, segmentBytesMax: 32 * 1024 },
    compress: (bytes: Uint8Array) => zstdCompressSync(bytes),
    commit: () => {},
  }
}

function compact(disk: SimulatedDisk, keepMs?: number, store = new SimulatedCheckpoints()): CompactedShard {
  return compactShard({ disk, random: seeded(1) }, DIRECTORY, optionsOf(store, keepMs))
}

function stateOf(disk: SimulatedDisk): State {
  const { events } = openShardLogs(disk, DIRECTORY, 'read')
  const state = createState()
  replay(state, events)
  const audit = auditLog(events, events.end)
  assert.equal(audit.digest, state.digest.toHex(), 'the auditor comes to the same digest')
  return state
}

/** What `urls --json` prints, sorted: pending URLs stand in another order in a compacted log. */
function urlLines(disk: SimulatedDisk): string[] {
  const logs = openShardLogs(disk, DIRECTORY, 'read')
  const state = createState()
  replay(state, logs.events)
  const lines: string[] = []
  const past = { logs, state, cut: cutAtEnd(logs.events) } as unknown as PastCrawl
  forEachUrl(past, {}, true, (line) => lines.push(JSON.stringify(line)))
  return lines.sort()
}

/** Reads every page that an event refers to; how many there are. */
function readPages(disk: SimulatedDisk): number {
  const logs = openShardLogs(disk, DIRECTORY, 'read')
  const troubles: Trouble[] = []
  const pages = verifyPages(logs, logs.events.end, decodeContent, troubles)
  assert.deepEqual(troubles, [])
  return pages
}

function assertSound(disk: SimulatedDisk, generation: number): void {
  const { findings } = verifyLog(disk, `${DIRECTORY}/log.${generation}`, EVENTS_LOG)
  assert.deepEqual(findings, [])
  assert.deepEqual(
    disk.list(DIRECTORY).filter((name) => name.startsWith('log')),
    [`log.${generation}`],
  )
}

for (const order of ['breadth', 'depth', 'random', 'priority'] as const) {
  test(`a crawl that was compacted goes on exactly as one that was not: order ${order}`, () => {
    const settings = { ...SETTINGS, order, prefer: ['p3'] }
    // A new segment draws its salt from where order `random` draws too, and a compaction moves the places of segments.
    const segmentBytesMax = order === 'random' ? 2 ** 26 : 32 * 1024
    const lives = (between: (crawled: Crawled, life: number) => void): Crawled => {
      let crawled: Crawled | undefined
      for (let life = 0; life < 5; life++) {
        const untilMs = [300, 900, 1500, 2500, 3_600_000][life]
        crawled = crawl({
          ...GIVEN,
          settings,
          segmentBytesMax,
          untilMs,
          dies: life % 2 === 1,
          ...(crawled && { after: crawled }),
        })
        between(crawled, life)
      }
      return crawled as Crawled
    }
    const plain = lives(() => {})
    let generation = 0
    const compacted = lives(({ disk }) => {
      const before = stateOf(disk)
      const lines = urlLines(disk)
      assert.equal(compact(disk).kind, 'compacted')
      assertSound(disk, ++generation)
      assert.deepEqual(urlLines(disk), lines)
      assert.ok(readPages(disk) > 0)
      assert.equal(stateOf(disk).digest.toHex(), before.digest.toHex())
      assert.deepEqual(stateOf(disk).counts, before.counts)
    })
    assert.deepEqual(compacted.requests, plain.requests)
    assert.equal(stateOf(compacted.disk).digest.toHex(), stateOf(plain.disk).digest.toHex())
  })
}

test('a crawl that is compacted while it runs, twice, ends as one that is not, and so does its log', () => {
  const plain = crawl(GIVEN)
  let turns = 0
  const compactLive = (shard: Shard): void => {
    const { disk, clock } = shard.env
    sealForCompaction(shard, (segment) => {
      const from = generationIn(disk, DIRECTORY, undefined)
      const plan = { from, to: from + 1, segment, pagesSynced: shard.pages.synced }
      writeGeneration(disk, DIRECTORY, plan, { random: seeded(1) })
      // The crawl goes on while a thread does this.
      clock.after(200, () => {
        takeOver(shard, plan, () => {})
        done++
      })
    })
  }
  let done = 0
  const compacted = crawl({
    ...GIVEN,
    onTurn: (shard) => {
      turns++
      if (turns === 40 || turns === 150) compactLive(shard)
    },
  })
  assert.equal(done, 2)
  assert.deepEqual(compacted.requests, plain.requests)
  assert.equal(stateOf(compacted.disk).digest.toHex(), compacted.shard.state.digest.toHex())
  assert.equal(compacted.shard.state.digest.toHex(), plain.shard.state.digest.toHex())
})

test('a URL that fails again and again leaves one record and one page: what was retried shrinks', () => {
  const big = 'x'.repeat(5000)
  const pages: SmallCrawl['pages'] = {
    'http://a.test/': { body: [1, 2, 3].map((i) => `<a href="/${i}">x</a>`).join('') + big },
    'http://a.test/1': (times) => ({ status: times < 4 ? 503 : 404, body: `${times} ${big}` }),
  }
  const crawled = crawl({ pages, seeds: ['http://a.test/'], settings: { retriesMax: 8 }, segmentBytesMax: 8000 })
  const before = openShardLogs(crawled.disk, DIRECTORY, 'read')
  const bytesBefore = bytesOf(before.pages)
  const result = compact(crawled.disk)
  assert.ok(result.kind === 'compacted' && result.voided.pages === 3)
  const after = openShardLogs(crawled.disk, DIRECTORY, 'read')
  assert.ok(bytesOf(after.pages) < bytesBefore - 3 * 4000)
  assert.deepEqual(verifyLog(crawled.disk, `${DIRECTORY}/pages`, PAGES_LOG).findings, [])
  const troubles: Trouble[] = []
  assert.equal(verifyPages(after, after.events.end, decodeContent, troubles), 4)
  assert.deepEqual(troubles, [])
})

function bytesOf(log: OpenedLog): number {
  return log.segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
}

test('compacted twice, a crawl is as after the first time', () => {
  const { disk } = crawl({ ...GIVEN, untilMs: 1500 })
  assert.equal(compact(disk).kind, 'compacted')
  const once = stateOf(disk)
  const again = compact(disk)
  assert.ok(again.kind === 'nothing' && /nothing has happened/.test(again.why))
  // A process that only opened and closed it is something that happened.
  crawl({ ...GIVEN, untilMs: 1, after: { disk, agenda: new VirtualTime(), times: new Map() } })
  const sizes = [bytesOf(openShardLogs(disk, DIRECTORY, 'read').events)]
  assert.equal(compact(disk).kind, 'compacted')
  sizes.push(bytesOf(openShardLogs(disk, DIRECTORY, 'read').events))
  assert.ok(Math.abs(sizes[1] - sizes[0]) < 2000, `${sizes}`)
  assert.deepEqual(stateOf(disk).counts, once.counts)
})

test('the horizon moves with what is to be kept: no record behind it is touched', () => {
  const crawled = crawl({ ...GIVEN, segmentBytesMax: 16 * 1024 })
  const { events } = openShardLogs(crawled.disk, DIRECTORY, 'read')
  assert.ok(events.segments.length > 3)
  const keepMs = events.segments[2].header.timeMs
  const before = stateOf(crawled.disk)
  const result = compact(crawled.disk, keepMs)
  assert.ok(result.kind === 'compacted')
  assert.ok(result.written.horizon.timeMs <= keepMs)
  const after = openShardLogs(crawled.disk, DIRECTORY, 'read').events
  assert.equal(after.segments.at(-1)?.number, events.segments.at(-1)?.number)
  assert.equal(after.sequence, events.sequence)
  assert.equal(stateOf(crawled.disk).digest.toHex(), before.digest.toHex())
  assert.equal(compact(crawled.disk, keepMs).kind, 'nothing')
})

test('where MANIFEST cannot be replaced the crawl goes on in the old generation, also without a MANIFEST', () => {
  const { disk } = crawl({ ...GIVEN, untilMs: 900 })
  const before = stateOf(disk).digest.toHex()
  const commit = (): void => {
    throw new CrawlError('DISK_FULL', 'no space left')
  }
  const options = optionsOf(new SimulatedCheckpoints())
  assert.throws(() => compactShard({ disk, random: seeded(1) }, DIRECTORY, { ...options, commit }), /no space left/)
  assert.equal(generationIn(disk, DIRECTORY, undefined), 0)
  assert.equal(stateOf(disk).digest.toHex(), before)
  assert.equal(compact(disk).kind, 'compacted')
  assertSound(disk, 1)
})

test('a URL that is pending has no status, whatever the page on which it was found answered', () => {
  const { disk } = crawl({ ...GIVEN, untilMs: 300 })
  const pending = urlLines(disk).filter((line) => line.includes('"state":"pending"'))
  assert.ok(pending.length > 0)
  for (const line of pending) assert.match(line, /"status":null.*"attempts":0/)
})
