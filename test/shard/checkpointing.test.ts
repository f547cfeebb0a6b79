/** Checkpoints made while crawling: when, from what, and what happens where one cannot be made. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CrawlError } from '../../src/base/errors.ts'
import type { Settings } from '../../src/core/settings.ts'
import { createState } from '../../src/core/state.ts'
import type { CheckpointJob } from '../../src/env/checkpointer.ts'
import { comparePositions } from '../../src/log/format.ts'
import { buildCheckpoint } from '../../src/shard/building.ts'
import { loadCheckpoint } from '../../src/shard/checkpoint.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import type { SimulatedDisk } from '../sim/disk.ts'
import { describeState } from './describe-state.ts'
import { crawl, type ScriptedPage, type SmallCrawl } from './small-crawl.ts'

const ORIGIN = 'http://a.test'

/** A site whose pages link to a dozen others each. */
function sitePages(count: number): Record<string, ScriptedPage> {
  const links = (i: number) =>
    Array.from({ length: 12 }, (_, j) => `<a href="/${(i * 12 + j) % count}">${i}</a>`).join('')
  const pages: Record<string, ScriptedPage> = { [`${ORIGIN}/`]: { body: links(0) } }
  for (let i = 0; i < count; i++) pages[`${ORIGIN}/${i}`] = { body: links(i) }
  return pages
}

interface Heard {
  readonly level: string
  readonly text: string
  readonly facts: Readonly<Record<string, string | number>> | undefined
}

/** Crawls 300 pages with these settings; checkpoints are made as often as they can be. */
function crawlWith(settings: Partial<Settings>, more: Partial<SmallCrawl> = {}, store = new SimulatedCheckpoints()) {
  const heard: Heard[] = []
  const crawled = crawl({
    pages: sitePages(300),
    seeds: [`${ORIGIN}/`],
    settings: { checkpointAfterMs: 0, durabilityMs: 10, concurrency: 4, freeBytesMin: 0, ...settings },
    checkpoints: { store, tell: (level, text, facts) => void heard.push({ level, text, facts }) },
    ...more,
  })
  const warnings = heard.filter(({ level }) => level !== 'info')
  const made = heard.filter(({ text }) => text === 'checkpoint')
  return { ...crawled, store, heard, warnings, made }
}

/** The state at the end of the log, from the newest checkpoint on, and what lay before that. */
function resumed(disk: SimulatedDisk, store: SimulatedCheckpoints) {
  const opened = openShardLogs(disk, '/crawl', 'read')
  const loaded = loadCheckpoint(disk, '/crawl', opened, store, 0)
  const state = loaded?.state ?? createState()
  const { items } = replay(state, opened.events, loaded && { from: loaded.from })
  return { state, items, loaded }
}

test('a checkpoint built while crawling and the log behind it give the state that the crawl had', () => {
  const { shard, disk, store, made, warnings } = crawlWith({})
  assert.ok(made.length >= 5, `${made.length} were made`)
  assert.deepEqual(warnings, [])
  const { state, loaded, items } = resumed(disk, store)
  assert.equal(loaded?.row.sequence, made.at(-1)?.facts?.sequence)
  assert.ok(items < shard.work.items / 2)
  const fromStart = createState()
  replay(fromStart, openShardLogs(disk, '/crawl', 'read').events)
  assert.deepEqual(describeState(state, false), describeState(fromStart, false))
  assert.equal(state.digest.toHex(), shard.state.digest.toHex())
})

test('each is made from the one before and the log between', () => {
  const { made, shard } = crawlWith({})
  const replayed = made.map(({ facts }) => Number(facts?.items))
  assert.ok(replayed.reduce((sum, items) => sum + items, 0) <= shard.work.items)
  assert.ok(replayed.every((items) => items > 0))
})

test('an image made from the one before is byte for byte the one made from the whole log', () => {
  let compared = 0
  const build: typeof buildCheckpoint = (disk, job) => {
    const built = buildCheckpoint(disk, job)
    assert.ok(built.kind === 'built')
    const path = `/crawl/${built.checkpoint.path}`
    const image = (disk as SimulatedDisk).peek(path)
    const fromStart = buildCheckpoint(disk, { ...job, known: [] })
    assert.deepEqual((disk as SimulatedDisk).peek(path), image)
    assert.deepEqual(fromStart.kind === 'built' && fromStart.checkpoint, built.checkpoint)
    if (job.known.length > 0) compared++
    return built
  }
  crawlWith({}, { build })
  assert.ok(compared >= 4)
})

test('a checkpoint stands behind a mark that is durable when its row is written', () => {
  const jobs: CheckpointJob[] = []
  const { disk, store } = crawlWith(
    {},
    {
      build: (disk, job) => {
        jobs.push(job)
        return buildCheckpoint(disk, job)
      },
    },
  )
  assert.ok(jobs.length > 0)
  const { events } = openShardLogs(disk, '/crawl', 'read')
  for (const { mark } of jobs) {
    const later = events.lastMark()
    assert.ok(later !== undefined && comparePositions(mark, later.mark.synced) <= 0)
  }
  assert.equal(store.newestCheckpoint(0)?.sequence, jobs.at(-1)?.mark.sequence)
})

test('a crawl whose replay takes no time makes none', () => {
  const { made, heard } = crawlWith({ checkpointAfterMs: 1000 })
  assert.deepEqual([made, heard], [[], []])
})

test('the next one is due when a replay of the rest takes half as long as reading the image', () => {
  const { made, shard } = crawlWith({})
  const bytes = Number(made.at(-1)?.facts?.bytes)
  // 500 bytes of image a microsecond, 3 items a microsecond: an item for each 167 bytes, and half of that.
  const itemsMax = shard.work.items / (bytes / 167 / 2)
  assert.ok(made.length <= itemsMax + 8, `${made.length} checkpoints of ${bytes} bytes`)
})

test('what cannot be built is said once, tried again at the next distance, and said anew after one that could', () => {
  let builds = 0
  const { warnings, made } = crawlWith(
    {},
    {
      build: (disk, job) => (++builds === 4 ? buildCheckpoint(disk, job) : { kind: 'failed', why: 'the thread died' }),
    },
  )
  const text = 'No checkpoint could be made: the thread died. The crawl goes on; it is tried again later.'
  assert.ok(builds > 5, `${builds} builds`)
  assert.deepEqual(
    warnings.map((heard) => [heard.level, heard.text]),
    [
      ['warn', text],
      ['warn', text],
    ],
  )
  assert.equal(made.length, 1)
})

test('a log that gives another state than the crawl has is said as an error each time, and no row or image is written', () => {
  let builds = 0
  const digest = '00'.repeat(16)
  const { warnings, store, disk } = crawlWith(
    {},
    {
      build: (disk, job) => {
        builds++
        return buildCheckpoint(disk, { ...job, mark: { ...job.mark, digest } })
      },
    },
  )
  assert.ok(builds > 1)
  assert.equal(warnings.length, builds)
  for (const { level, text } of warnings) {
    assert.equal(level, 'error')
    assert.match(text, new RegExp(`At record \\d+ the crawl had the digest ${digest}, and by replay of its log it is `))
  }
  assert.equal(store.newestCheckpoint(0), undefined)
  assert.deepEqual(disk.list('/crawl/images'), [])
})

test('rows that cannot be written leave the crawl as it is, and images without rows go when one can', () => {
  const store = new SimulatedCheckpoints()
  let changes = 0
  store.fault = () => (++changes <= 3 ? new CrawlError('DISK_FAILED', 'database is locked') : undefined)
  const { warnings, made, disk } = crawlWith({}, {}, store)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0].text, /database is locked/)
  assert.ok(made.length > 0)
  const kept = store.checkpointsBefore(0, 99, 0).map(({ path }) => path.slice('images/'.length))
  assert.deepEqual(disk.list('/crawl/images').sort(), kept.sort())
})

test('where the disk is nearly full, or rows do not last, nothing is built', () => {
  const build = () => assert.fail('nothing may be built')
  const { warnings } = crawlWith({ freeBytesMin: 2 ** 40 }, { build, diskBytes: 2 ** 40 })
  assert.equal(warnings.length, 1)
  assert.match(warnings[0].text, /the disk is nearly full/)
  const passing = new SimulatedCheckpoints()
  Object.assign(passing, { isLasting: false })
  assert.deepEqual(crawlWith({}, { build }, passing).heard, [])
})

test('images beyond --checkpoint-bytes go, but for the newest two', () => {
  const { store, disk } = crawlWith({ checkpointBytesMax: 0 })
  assert.equal(store.checkpointsBefore(0, 99, 0).length, 2)
  assert.equal(disk.list('/crawl/images').length, 2)
})
