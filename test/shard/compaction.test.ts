import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { createState, type State } from '../../src/core/state.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { auditLog } from '../../src/shard/audit.ts'
import { type CompactedShard, compactShard } from '../../src/shard/compacting.ts'
import { EVENTS_LOG, openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import { seeded } from '../log/given.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import type { SimulatedDisk } from '../sim/disk.ts'
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

const WEB = webOf(12, 40)
const SETTINGS = { scope: 'any', robots: true, delayMs: 50, concurrency: 8, retriesMax: 3 } as const
const GIVEN: SmallCrawl = {
  pages: WEB,
  seeds: ['http://h0.test/p0', 'http://h1.test/p1', 'http://gone.test/'],
  settings: SETTINGS,
  addresses: { 'gone.test': [] },
  segmentBytesMax: 32 * 1024,
}

function compact(disk: SimulatedDisk, keepMs?: number, store = new SimulatedCheckpoints()): CompactedShard {
  return compactShard({ disk, random: seeded(1) }, DIRECTORY, {
    store,
    stated: undefined,
    keepMs,
    wallMs: 0,
    compress: (bytes) => zstdCompressSync(bytes),
    commit: () => {},
    segmentBytesMax: 32 * 1024,
  })
}

function stateOf(disk: SimulatedDisk): State {
  const { events } = openShardLogs(disk, DIRECTORY, 'read')
  const state = createState()
  replay(state, events)
  const audit = auditLog(events, events.end)
  assert.equal(audit.digest, state.digest.toHex(), 'the auditor comes to the same digest')
  return state
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
      assert.equal(compact(disk).kind, 'compacted')
      assertSound(disk, ++generation)
      assert.equal(stateOf(disk).digest.toHex(), before.digest.toHex())
      assert.deepEqual(stateOf(disk).counts, before.counts)
    })
    assert.deepEqual(compacted.requests, plain.requests)
    assert.equal(stateOf(compacted.disk).digest.toHex(), stateOf(plain.disk).digest.toHex())
  })
}
