/**
 * Any byte of a crawl's log may be lost or wrong: for each the verdict is known beforehand, and reading, verifying and
 * going on agree with it.
 *
 *     node scripts/checks/any-byte.ts [--cuts BYTES] [--step N] [--flips N] [--whole N] [--pages N]
 *       [--only killed|ended]
 *
 * Cuts: at every byte of the last 64 KiB of the events' VAL, at every seventh of the pages'. Flips: single bits, over VAL
 * and KEY of both logs, the image of a checkpoint, and crawl.db. On a disk in memory, but for crawl.db.
 */
import { parseArgs } from 'node:util'
import { createState } from '../../src/core/state.ts'
import { openLog } from '../../src/log/recover.ts'
import { auditLog } from '../../src/shard/audit.ts'
import { logDirectory } from '../../src/shard/generations.ts'
import { EVENTS_LOG } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { Bench, type Damage, type Report } from './damage.ts'
import { flipDatabase, flipImage } from './damaged-checkpoints.ts'
import { factsOfLog, recordAt, type SegmentFacts } from './log-facts.ts'
import { crawlSample, SHARD } from './sample-crawl.ts'
import { type LogName, type ShardFacts, shardFacts, verdictOfCut, verdictOfFlip, verdictOfKeyFlip } from './verdicts.ts'

export interface AnyByteOptions {
  readonly pages: number
  readonly segmentBytesMax: number
  /** Bytes at the end of each VAL at which it is cut. */
  readonly cutBytes: number
  /** Only every so manyth of these bytes. */
  readonly cutStep: number
  /** Bytes at the edges of records are cut whatever the step, at every so manyth record. */
  readonly edgeStep: number
  /** Bits flipped, over both samples. */
  readonly flips: number
  /** Of cuts within one record, every so manyth is read, verified and resumed too; the first and the last always are. */
  readonly wholeEvery: number
  /** `killed` or `ended`: only this sample. Default: both. */
  readonly only?: string | undefined
}

export async function checkAnyByte(options: AnyByteOptions, tell: (text: string) => void = () => {}): Promise<Report> {
  const sample = await crawlSample(options)
  const onDisagreement = (line: string): void => tell(`DISAGREES  ${line}`)
  const report: Report = { counts: new Map(), disagreements: [], onDisagreement }
  for (const [name, disk] of [
    ['killed', sample.killed],
    ['ended', sample.ended],
  ] as const) {
    if (options.only !== undefined && options.only !== name) continue
    const facts = shardFacts(disk, digestsOf(disk, report))
    tell(`${name}: ${describe(facts)}`)
    const bench = new Bench(name, disk, facts, report)
    cutLog(bench, disk, facts, 'events', options, tell)
    cutLog(bench, disk, facts, 'pages', { ...options, cutStep: options.cutStep * PAGES_STEP }, tell)
    flipLogs(bench, disk, facts, Math.ceil(options.flips * 0.4), tell)
  }
  flipImage(sample, Math.ceil(options.flips * 0.15), report)
  flipDatabase(sample, Math.ceil(options.flips * 0.05), report)
  tell(`checkpoints: ${report.disagreements.length} disagreements`)
  return report
}

/** The digest after each record by replay, record by record; compared with the marks' and, here and there, an audit. */
function digestsOf(disk: SimulatedDisk, report: Report): string[] {
  const segments = factsOfLog(disk, logDirectory(SHARD, 0), true)
  const log = openLog(disk, logDirectory(SHARD, 0), { ...EVENTS_LOG, mode: 'read' })
  const state = createState()
  const digests = ['']
  let from = { segment: 0, position: 0 }
  for (const record of segments.flatMap((segment) => segment.records)) {
    const until = { segment: record.segment, position: record.end }
    const before = state.digest.toHex()
    if (record.mark !== undefined && record.mark.digest !== before) {
      report.disagreements.push(`record ${record.sequence}: replayed ${before}, live ${record.mark.digest}`)
    }
    replay(state, log, { from, until })
    from = until
    digests[record.sequence] = state.digest.toHex()
    if (record.sequence % AUDIT_EVERY !== 0) continue
    const audited = auditLog(log, until).digest
    if (audited !== digests[record.sequence]) report.disagreements.push(`record ${record.sequence}: audited ${audited}`)
  }
  log.close()
  return digests
}

const AUDIT_EVERY = 20
/** Pages are large, and one byte of a body is as good as the next. */
const PAGES_STEP = 7

function describe(facts: ShardFacts): string {
  const part = (name: string, segments: readonly SegmentFacts[]): string => {
    const bytes = segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
    const records = segments.reduce((sum, segment) => sum + segment.records.length, 0)
    return `${name} ${segments.length} segments, ${records} records, ${bytes} bytes`
  }
  return `${part('events', facts.events)}; ${part('pages', facts.pages)}`
}

/** Cuts a log at its last bytes, across segments: those behind the cut are gone then. */
function cutLog(
  bench: Bench,
  disk: SimulatedDisk,
  facts: ShardFacts,
  log: LogName,
  options: AnyByteOptions,
  tell: (text: string) => void,
): void {
  let left = options.cutBytes
  const gone = new Map<string, undefined>()
  for (const segment of facts[log].toReversed()) {
    const val = disk.peek(segment.valPath) as Uint8Array
    const lowest = Math.max(0, segment.valBytes - left)
    for (let at = segment.valBytes - 1; at >= lowest; at--) {
      left--
      const expected = verdictOfCut(facts, log, segment.number, at)
      const isEdge = isAtEdge(segment, at, options.edgeStep)
      const turn = segment.valBytes - at
      if (turn % options.cutStep !== 0 && !isEdge) continue
      const damage: Damage = new Map([...gone, [segment.valPath, val.subarray(0, at)]])
      bench.try('cut', log, damage, expected, isEdge || turn % options.wholeEvery === 0)
    }
    if (left <= 0) break
    gone.set(segment.valPath, undefined).set(segment.keyPath, undefined)
  }
  tell(`  ${log}: cut at ${options.cutBytes - left} bytes, ${bench.report.disagreements.length} disagreements`)
}

/** The first two bytes and the last one of every `step`th record. */
function isAtEdge(segment: SegmentFacts, at: number, step: number): boolean {
  const { start, end, sequence } = recordAt(segment, at)
  return sequence % step === 0 && (at === start || at === start + 1 || at === end - 1)
}

function flipLogs(
  bench: Bench,
  disk: SimulatedDisk,
  facts: ShardFacts,
  count: number,
  tell: (text: string) => void,
): void {
  for (let i = 0; i < count; i++) {
    const log: LogName = i % 5 < 3 ? 'events' : 'pages'
    const segment = pick(facts[log])
    const isKey = i % 4 === 3
    const path = isKey ? segment.keyPath : segment.valPath
    const bytes = disk.peek(path) as Uint8Array
    if (bytes.length === 0) continue
    // Every other flip hits the head of a record: the few bytes that decide how the rest is read.
    const at = isKey || i % 2 === 0 ? below(bytes.length) : pick(segment.records).start + below(20)
    bytes[at] ^= 1 << below(8)
    const expected = isKey
      ? verdictOfKeyFlip(facts, log, segment.number, at)
      : verdictOfFlip(facts, log, segment.number, at)
    bench.try(`flip ${log} ${isKey ? 'KEY' : 'VAL'}`, log, new Map([[path, bytes]]), expected, true)
  }
  tell(`  ${count} bits flipped, ${bench.report.disagreements.length} disagreements`)
}

/** A few disagreements of each sort: without their numbers they are often the same. */
function someOfEach(lines: readonly string[]): string[] {
  const sorts = Map.groupBy(lines, (line) => line.replace(/\d+/g, '#'))
  return [...sorts.values()].flatMap((sort) => [
    ...sort.slice(0, 3),
    ...(sort.length > 3 ? [`… ${sort.length} of these`] : []),
  ])
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit)
}

function pick<T>(list: readonly T[]): T {
  return list[below(list.length)]
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      cuts: { type: 'string', default: '65536' },
      flips: { type: 'string', default: '10000' },
      step: { type: 'string', default: '1' },
      whole: { type: 'string', default: '50' },
      only: { type: 'string' },
      pages: { type: 'string', default: '400' },
    },
  })
  const report = await checkAnyByte(
    {
      pages: Number(values.pages),
      segmentBytesMax: 48 * 1024,
      cutBytes: Number(values.cuts),
      cutStep: Number(values.step),
      flips: Number(values.flips),
      edgeStep: 1,
      wholeEvery: Number(values.whole),
      only: values.only,
    },
    console.log,
  )
  for (const [what, count] of [...report.counts].sort()) console.log(`${String(count).padStart(8)}  ${what}`)
  for (const line of someOfEach(report.disagreements)) console.log(`DISAGREES  ${line}`)
  console.log(report.disagreements.length === 0 ? 'No disagreement.' : `${report.disagreements.length} disagreements.`)
  process.exitCode = report.disagreements.length === 0 ? 0 : 1
}

if (import.meta.main) await main()
