/**
 * Small crawls on a disk in memory, to be damaged: stopped half way, dead half way, finished, compacted. All of the same
 * web, so all must come to the same end.
 */
import { zstdCompressSync } from 'node:zlib'
import { decodeContent } from '../../../src/adapters/content.ts'
import type { Layout } from '../../../src/crawl/layout.ts'
import { writeManifest } from '../../../src/crawl/manifest.ts'
import { repairCrawl } from '../../../src/crawl/repairing.ts'
import { saveCheckpoint } from '../../../src/shard/checkpoint.ts'
import { compactShard } from '../../../src/shard/compacting.ts'
import { seeded } from '../../../test/log/given.ts'
import { type Crawled, crawl, type ScriptedPage, type SmallCrawl } from '../../../test/shard/small-crawl.ts'
import { SimulatedCheckpoints } from '../../../test/sim/checkpoints.ts'
import { SimulatedDisk } from '../../../test/sim/disk.ts'
import { VirtualTime } from '../../../test/sim/scheduler.ts'

export const ROOT = '/crawl'
/** The small crawl's shard is its DIR. */
export const LAYOUT: Layout = {
  root: ROOT,
  manifest: `${ROOT}/MANIFEST`,
  database: `${ROOT}/crawl.db`,
  seeds: `${ROOT}/seeds`,
  log: `${ROOT}/crawler.log`,
  forking: `${ROOT}/FORKING`,
  shard: () => ROOT,
}
export const SEGMENT_BYTES_MAX = 16 * 1024

/** Several hosts, redirects, failures, retries, the same body twice, a host that does not exist, robots.txt. */
function webOf(hosts: number, pagesPerHost: number): SmallCrawl['pages'] {
  const pages: Record<string, ScriptedPage | ((times: number) => ScriptedPage)> = {}
  for (let h = 0; h < hosts; h++) {
    const robots = h % 3 === 0 ? 'User-agent: *\nDisallow: /p7\nCrawl-delay: 1\n' : ''
    pages[`http://h${h}.test/robots.txt`] = { body: robots, headers: [['content-type', 'text/plain']] }
    for (let p = 0; p < pagesPerHost; p++) pages[`http://h${h}.test/p${p}`] = pageOf(h, p, hosts, pagesPerHost)
  }
  pages['http://moved.test/'] = { status: 301, headers: [['location', 'http://island.test/']] }
  pages['http://island.test/'] = { body: '<a href="/a">a</a><a href="/b">b</a>' }
  pages['http://island.test/a'] = { body: 'a'.repeat(700) }
  return pages
}

function pageOf(
  h: number,
  p: number,
  hosts: number,
  pagesPerHost: number,
): ScriptedPage | ((n: number) => ScriptedPage) {
  const links = [1, 2, 3, 5, 8, 13].flatMap((step) => [
    `/p${(p + step) % pagesPerHost}`,
    `http://h${(h + step) % hosts}.test/p${(p * step) % pagesPerHost}`,
  ])
  const body = `${links.map((href) => `<a href="${href}">x</a>`).join('')}<p>${h} ${p}</p>`
  if (p % 11 === 4) return { status: 302, headers: [['location', `/p${(p + 1) % pagesPerHost}`]] }
  if (p % 11 === 6) return { status: 404, body: 'none' }
  if (p % 11 === 9) return (times) => (times < 3 ? { status: 503 } : { body })
  return p % 11 === 2 ? { body: '<p>the same everywhere</p>' } : { body }
}

const GIVEN: SmallCrawl = {
  pages: webOf(6, 24),
  seeds: ['http://h0.test/p0', 'http://h1.test/p1', 'http://h2.test/p1', 'http://gone.test/', 'http://moved.test/'],
  settings: { scope: 'host', robots: true, delayMs: 50, concurrency: 8, retriesMax: 3 },
  addresses: { 'gone.test': [] },
  segmentBytesMax: SEGMENT_BYTES_MAX,
}

export interface Sample {
  readonly name: string
  readonly disk: SimulatedDisk
  readonly checkpoints: readonly Parameters<SimulatedCheckpoints['addCheckpoint']>[0][]
  readonly times: ReadonlyMap<string, number>
  readonly nowMs: number
  readonly given: SmallCrawl
  /** Of the undisturbed crawl. */
  readonly end: Outcome
}

/** What a crawl came to: state and body by URL. */
export type Outcome = ReadonlyMap<string, string>

export function makeSamples(outcomeOf: (disk: SimulatedDisk) => Outcome): readonly Sample[] {
  const half = { ...GIVEN, untilMs: 4000 }
  const compacted = crawl({ ...GIVEN, untilMs: 2500 })
  compact(compacted)
  // The shortest way to each URL decides what a limit of depth lets in; the order makes it known late.
  const deep = { ...GIVEN, settings: { ...GIVEN.settings, order: 'depth', depthMax: 3 } } as const
  const mixed = { ...GIVEN, settings: { ...GIVEN.settings, order: 'random', scope: 'domain' } } as const
  const end = outcomeOf(crawl(GIVEN).disk)
  const ended = { given: GIVEN, end }
  return [
    { ...sampleOf('stopped', crawl(half), true), ...ended },
    { ...sampleOf('killed', crawl({ ...half, dies: true }), false), ...ended },
    { ...sampleOf('finished', crawl({ ...GIVEN, after: crawl(half) }), true), ...ended },
    { ...sampleOf('compacted', crawl({ ...GIVEN, untilMs: 3000, after: compacted }), true), ...ended },
    { ...sampleOf('repaired', repairedBefore(), true), ...ended },
    { ...sampleOf('deep', crawl({ ...deep, untilMs: 4000 }), true), given: deep, end: outcomeOf(crawl(deep).disk) },
    { ...sampleOf('mixed', crawl({ ...mixed, untilMs: 5000 }), true), given: mixed, end: outcomeOf(crawl(mixed).disk) },
  ]
}

/** One that was damaged and repaired, and went on. */
function repairedBefore(): Crawled {
  const stopped = crawl({ ...GIVEN, untilMs: 3000 })
  const path = `${ROOT}/log/000001.val`
  const val = stopped.disk.peek(path) as Uint8Array
  stopped.disk.poke(path, val.fill(0, 4000, 4500))
  const openStore = () => ({ store: new SimulatedCheckpoints(), note: '' })
  const nowMs = 1_700_000_003_500
  const { disk } = stopped
  const tools = { disk, random: seeded(9), decode: decodeContent, nowMs, openStore, segmentBytesMax: SEGMENT_BYTES_MAX }
  repairCrawl(tools, LAYOUT)
  return crawl({ ...GIVEN, untilMs: 3000, after: stopped })
}

function compact({ disk }: Crawled): void {
  compactShard({ disk, random: seeded(1) }, ROOT, {
    store: new SimulatedCheckpoints(),
    stated: undefined,
    wallMs: 0,
    compress: zstdCompressSync,
    commit: () => {},
    segmentBytesMax: SEGMENT_BYTES_MAX,
  })
}

function sampleOf(name: string, crawled: Crawled, isClosed: boolean): Omit<Sample, 'given' | 'end'> {
  const { disk, times, agenda, shard } = crawled
  const store = new SimulatedCheckpoints()
  if (isClosed) saveCheckpoint(shard, store)
  writeManifest(disk, LAYOUT, {
    version: 1,
    crawlId: '00'.repeat(16),
    shards: 1,
    generation: name === 'compacted' || name === 'repaired' ? 1 : 0,
    horizonMs: 0,
    horizonSequence: 0,
  })
  const checkpoints = store.checkpointsBefore(0, Number.POSITIVE_INFINITY, 0)
  return { name, disk: disk.clone(), checkpoints, times: new Map(times), nowMs: agenda.nowMs }
}

/** The store of a sample's checkpoints. */
export function storeOf({ checkpoints }: Sample): SimulatedCheckpoints {
  const store = new SimulatedCheckpoints()
  for (const checkpoint of checkpoints) store.addCheckpoint(checkpoint)
  return store
}

/** Goes on with a sample whose files are these, to the end. `disk` is as it was left. */
export function resumeToEnd(sample: Sample, files: SimulatedDisk): SimulatedDisk {
  const agenda = new VirtualTime()
  agenda.pass(sample.nowMs + 1000)
  const disk = new SimulatedDisk((run) => agenda.after(1, run))
  for (const path of pathsIn(files, ROOT)) disk.poke(path, files.peek(path) as Uint8Array)
  const after = { agenda, disk, times: new Map(sample.times) } as unknown as Crawled
  crawl({ ...sample.given, after })
  return disk
}

/** All files below a directory. */
export function pathsIn(disk: SimulatedDisk, directory: string): string[] {
  return disk.list(directory).flatMap((name) => {
    const path = `${directory}/${name}`
    return disk.peek(path) === undefined ? pathsIn(disk, path) : [path]
  })
}
