/**
 * Compaction: a new generation of the events log, whose compacted segments stand for all up to the horizon, followed by
 * the later segments as they are.
 *
 *   1. `writeGeneration` writes the compacted segments aside, replays them, and compares (also beside a running crawl);
 *   2. `publishGeneration` links the later segments beside them and gives the directory its name, durably;
 *   3. the owner replaces MANIFEST: from then on the new generation counts;
 *   4. the old directory goes, a checkpoint is saved, pages that nothing refers to any more are emptied (void-pages.ts).
 *
 * Invariant: a death between two of these steps leaves a shard that opens with the same state: before 3 by the old
 * generation, after it by the new one.
 */
import { CrawlError } from '../base/errors.ts'
import { createState, type State } from '../core/state.ts'
import type { CheckpointStore } from '../env/checkpoints.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { keyName, type Position, ROLE, valName } from '../log/format.ts'
import { GenerationWriter } from '../log/generation-writer.ts'
import type { OpenedLog } from '../log/opened.ts'
import { openLog } from '../log/recover.ts'
import { loadCheckpoint } from './checkpoint.ts'
import { cutAtSequence } from './cut.ts'
import { EVENTS_LOG } from './events-log.ts'
import { asideDirectory, logDirectory } from './generations.ts'
import type { Horizon } from './horizon.ts'
import { replay, replayFrom, totalsAt } from './replay.ts'
import { writeSnapshot } from './snapshot.ts'
import { differenceOf } from './snapshot-check.ts'

/** What a compaction is about. */
export interface CompactionPlan {
  /** The generation that is read, and that is written. */
  readonly from: number
  readonly to: number
  /** Number of the segment it ends with; segments behind it stay. */
  readonly segment: number
  /** Up to where the pages are durable. */
  readonly pagesSynced: Position
}

export interface CompactionOptions {
  readonly random: Random
  /** VAL bytes of a compacted segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax?: number | undefined
  /** To spare a part of the replay: checkpoints, or a state that stands at the horizon. */
  readonly store?: CheckpointStore | undefined
  readonly state?: State | undefined
  /** Bytes that must stay free whatever the new generation takes; default 0. */
  readonly freeBytesMin?: number | undefined
  readonly onProgress?: ((step: CompactionStep, done: number, max: number) => void) | undefined
}

/** `replay`: items; `write`, `check`: bytes of VAL. */
export type CompactionStep = 'replay' | 'write' | 'check'

/** A generation that is written and checked, aside. */
export interface WrittenGeneration {
  readonly plan: CompactionPlan
  readonly horizon: Horizon
  readonly shard: number
  /** As replayed from the new segments. */
  readonly state: State
  /** VAL and KEY of the segments that were compacted, and of those that stand for them. */
  readonly beforeBytes: number
  readonly afterBytes: number
}

/**
 * Writes the compacted segments of a new generation aside, and proves that they give the same state. Changes nothing else.
 *
 * Errors: LOG_CORRUPT where the old log is damaged, or (`what`: difference) where the new one gives another state; LOG_FULL
 * where it would need more segments; DISK_FULL, DISK_FAILED. Nothing is left of it then.
 * Cost: a replay up to the horizon, a sequential read and write of VAL, a second replay; memory of two states.
 */
export function writeGeneration(
  disk: Disk,
  directory: string,
  plan: CompactionPlan,
  options: CompactionOptions,
): WrittenGeneration {
  const aside = asideDirectory(directory, plan.to)
  disk.removeDirectory(aside)
  const log = openLog(disk, logDirectory(directory, plan.from), { ...EVENTS_LOG, mode: 'read' })
  try {
    return writeAside(disk, directory, aside, log, plan, options)
  } catch (error) {
    if (error instanceof CrawlError) removeQuietly(disk, aside)
    throw error
  } finally {
    log.close()
  }
}

/** The error that is on its way says more than one of the clean-up. */
function removeQuietly(disk: Disk, aside: string): void {
  try {
    disk.removeDirectory(aside)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
  }
}

function writeAside(
  disk: Disk,
  directory: string,
  aside: string,
  log: OpenedLog,
  plan: CompactionPlan,
  options: CompactionOptions,
): WrittenGeneration {
  refuseFullDisk(disk, directory, bytesUntil(log, plan.segment), options.freeBytesMin ?? 0)
  const horizon = horizonAt(log, plan)
  const until = horizon.position
  const state = options.state ?? stateAt(disk, directory, log, until, options)
  const totals = totalsAt(log, until)
  const first = log.segments[0].header
  const writer = new GenerationWriter(disk, aside, {
    role: ROLE.events,
    random: options.random,
    identity: { crawlId: first.crawlId, shard: first.shard, generation: plan.to },
    lastNumber: plan.segment,
    sequenceAfter: horizon.sequence + 1,
    segmentBytesMax: options.segmentBytesMax,
  })
  try {
    const { timeMs } = horizon
    const { pagesSynced } = plan
    const source = { log, until, state, totals, timeMs, pagesSynced }
    const places = writeSnapshot(source, writer, (done, max) => options.onProgress?.('write', done, max))
    const { bytes: afterBytes } = writer.finish()
    const written = openLog(disk, aside, { ...EVENTS_LOG, mode: 'read' })
    try {
      const after = createState()
      replay(after, written, progressOf('check', options))
      const difference = differenceOf({ state, log, places }, { state: after, log: written }, plan.segment)
      if (difference !== undefined) throw differs(aside, difference)
      const position = written.end
      return {
        plan,
        shard: first.shard,
        horizon: { ...horizon, position },
        state: after,
        beforeBytes: bytesUntil(log, plan.segment),
        afterBytes,
      }
    } finally {
      written.close()
    }
  } catch (error) {
    writer.abandon()
    throw error
  }
}

function progressOf(
  step: CompactionStep,
  { onProgress }: CompactionOptions,
): { onProgress?: (done: number, max: number) => void } {
  return onProgress === undefined ? {} : { onProgress: (done, max) => onProgress(step, done, max) }
}

/** The end of a segment that is not the last. */
function horizonAt(log: OpenedLog, { segment, pagesSynced }: CompactionPlan): Horizon {
  const next = log.segments.find(({ number }) => number === segment + 1)
  if (next === undefined) throw new CrawlError('LOG_CORRUPT', `Segment ${segment + 1} is missing.`, { segment })
  const sequence = next.header.firstSequence - 1
  const { timeMs } = cutAtSequence(log, sequence)
  return { position: { segment, position: log.valBytes(segment) }, sequence, timeMs, pagesSynced, isRepair: false }
}

function stateAt(disk: Disk, directory: string, log: OpenedLog, until: Position, options: CompactionOptions): State {
  const { store } = options
  const opened = { events: log, end: log.end }
  const shard = log.segments[0].header.shard
  const checkpoint = store === undefined ? undefined : loadCheckpoint(disk, directory, opened, store, shard, { until })
  return replayFrom(log, checkpoint, { until, ...progressOf('replay', options) }).state
}

function bytesUntil(log: OpenedLog, segment: number): number {
  const compacted = log.segments.filter(({ number }) => number <= segment)
  return compacted.reduce((sum, { valBytes, key }) => sum + valBytes + (key?.bytes ?? 0), 0)
}

/** Beside a running crawl the space that it must have is not taken away from it. */
function refuseFullDisk(disk: Disk, path: string, neededBytes: number, freeBytesMin: number): void {
  if (freeBytesMin === 0) return
  const freeBytes = disk.freeBytes(path)
  if (freeBytes >= neededBytes + freeBytesMin) return
  const message = `A compaction may take ${neededBytes} bytes, and ${freeBytes} are free, of which ${freeBytesMin} are to stay so.`
  throw new CrawlError('DISK_FULL', message, { path }, 'Free some space, or stop the crawl and compact it then.')
}

function differs(path: string, difference: string): CrawlError {
  const message = `The compacted log gives another state than the log it was made of: ${difference}.`
  const hint = 'Nothing was changed. Please report this, and what `crawler verify` says.'
  return new CrawlError('LOG_CORRUPT', message, { path, difference }, hint)
}

function noLinks(path: string): CrawlError {
  const hint =
    'Compaction gives the segments it leaves as they are a second name: move DIR to a file system that has hard links.'
  return new CrawlError('DISK_FAILED', `${path} cannot be made a second name of a segment.`, { path }, hint)
}

/**
 * Links the segments behind the horizon into the new generation, and gives its directory the name. It counts once
 * MANIFEST says so.
 *
 * Errors: DISK_FAILED, DISK_DENIED. Cost: two links a segment, three syncs.
 */
export function publishGeneration(disk: Disk, directory: string, { from, to, segment }: CompactionPlan): void {
  const old = logDirectory(directory, from)
  const aside = asideDirectory(directory, to)
  for (let number = segment + 1; disk.exists(`${old}/${valName(number)}`); number++) {
    // A KEY that is missing is made anew from VAL.
    for (const name of [valName(number), keyName(number)]) {
      if (disk.exists(`${old}/${name}`) && !disk.link(`${old}/${name}`, `${aside}/${name}`))
        throw noLinks(`${aside}/${name}`)
    }
  }
  disk.syncDirectory(aside)
  disk.rename(aside, logDirectory(directory, to))
  disk.syncDirectory(directory)
}

/** Takes the name back from a generation that does not count. Errors: DISK_FAILED, DISK_DENIED. */
export function withdrawGeneration(disk: Disk, directory: string, { to }: CompactionPlan): void {
  disk.rename(logDirectory(directory, to), asideDirectory(directory, to))
  disk.syncDirectory(directory)
}
