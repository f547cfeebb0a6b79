/** The compaction of a shard that nobody runs: opened as a writer does, sealed, compacted, cleaned up. */

import { CrawlError } from '../base/errors.ts'
import type { State } from '../core/state.ts'
import type { CheckpointStore } from '../env/checkpoints.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, KIND, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { loadCheckpoint, renewCheckpoints, writeCheckpointImage } from './checkpoint.ts'
import {
  type CompactionOptions,
  publishGeneration,
  type WrittenGeneration,
  withdrawGeneration,
  writeGeneration,
} from './compaction.ts'
import { cutAtSequence } from './cut.ts'
import { removeOtherGenerations } from './generations.ts'
import { horizonOf } from './horizon.ts'
import type { ImagePlace } from './image-facts.ts'
import { cutToMatch, openShardLogs } from './opening.ts'
import type { Compress } from './page-transform.ts'
import { replayFrom, totalsAt } from './replay.ts'
import { encodeTotals } from './totals.ts'
import { type VoidedPages, voidPages } from './void-pages.ts'

export interface CompactShardOptions extends Pick<CompactionOptions, 'segmentBytesMax' | 'onProgress'> {
  readonly store: CheckpointStore
  /** Generation that MANIFEST states; undefined where there is none to be read. */
  readonly stated: number | undefined
  /** The horizon is not later than this instant; undefined = now. */
  readonly keepMs?: number | undefined
  readonly wallMs: number
  /** For pages that were not compressed yet when their segment is rewritten. */
  readonly compress: Compress
  /** Makes the new generation count: replaces MANIFEST. */
  readonly commit: (written: WrittenGeneration) => void
  /** Called with what went wrong and costs nothing but time or space. */
  readonly onMessage?: (message: string) => void
}

export type CompactedShard =
  | {
      readonly kind: 'compacted'
      readonly written: WrittenGeneration
      readonly voided: VoidedPages
    }
  /** `why` is for people. */
  | { readonly kind: 'nothing'; readonly why: string }

/**
 * Compacts a shard, whose DIR the caller has locked.
 *
 * Errors: LOG_CORRUPT, LOG_FULL, DISK_FULL, DISK_FAILED; the shard is as it was then. Cost: see `writeGeneration`.
 */
export function compactShard(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  directory: string,
  options: CompactShardOptions,
): CompactedShard {
  const sealed = seal(disk, random, directory, options)
  if ('why' in sealed) return { kind: 'nothing', why: sealed.why }
  const { from, segment, pagesSynced, state } = sealed
  const plan = { from, to: from + 1, segment, pagesSynced }
  const { store, segmentBytesMax, onProgress } = options
  const written = tryWriting(() =>
    writeGeneration(disk, directory, plan, { random, store, state, segmentBytesMax, onProgress }),
  )
  if ('why' in written) return { kind: 'nothing', why: written.why }
  publishGeneration(disk, directory, plan)
  try {
    options.commit(written)
  } catch (error) {
    if (error instanceof CrawlError) withdrawGeneration(disk, directory, plan)
    throw error
  }
  removeOtherGenerations(disk, directory, plan.to)
  saveFirstCheckpoint(disk, directory, written, options)
  return { kind: 'compacted', written, voided: tidyPages(disk, directory, plan.to, options) }
}

/** A log that would not get smaller stays as it is. */
function tryWriting(write: () => WrittenGeneration): WrittenGeneration | { readonly why: string } {
  try {
    return write()
  } catch (error) {
    if (error instanceof CrawlError && error.code === 'LOG_FULL') return { why: error.message }
    throw error
  }
}

interface Sealed {
  readonly from: number
  readonly segment: number
  readonly pagesSynced: Position
  /** Where it stands at the horizon already. */
  readonly state: State | undefined
}

/** Opens the shard as a writer: cut, synced, and (without `keepMs`) its last segment sealed. Finds the horizon. */
function seal(
  disk: Disk,
  random: Random,
  directory: string,
  options: CompactShardOptions,
): Sealed | { readonly why: string } {
  const { store, stated, keepMs, wallMs } = options
  const opened = openShardLogs(disk, directory, 'write', store.newestCheckpoint(0), stated)
  const { events, pages, generation } = opened
  if (events.isEmpty) throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${directory}.`, { path: directory })
  for (const message of opened.messages) options.onMessage?.(message)
  removeOtherGenerations(disk, directory, generation)
  cutToMatch(opened)
  const horizon = horizonOf(events)?.position.segment ?? 0
  const isSealing = keepMs === undefined && hasNews(events)
  const state = isSealing ? stateAtEnd(disk, directory, events, options) : undefined
  const last = events.segments.at(-1)?.number ?? 0
  const segment = keepMs === undefined ? (isSealing ? last : last - 1) : lastSealedUntil(events, keepMs)
  const totals = totalsAt(events, events.end)
  const timeMs = Math.max(wallMs, events.lastTimeMs)
  const identity = events.segments[0].header
  const pagesWriter = pages.startWriter({ random, timeMs, identity })
  const writer = events.startWriter({ random, timeMs })
  const pagesSynced = pagesWriter.syncNow()
  if (state !== undefined) {
    writer.seal(timeMs)
    writer.mark(timeMs, writer.syncNow(), pagesSynced, state.digest.bytes(), encodeTotals(totals))
  }
  writer.close()
  pagesWriter.close()
  if (segment > horizon) return { from: generation, segment, pagesSynced, state }
  return {
    why:
      keepMs === undefined
        ? 'nothing has happened since the last compaction'
        : 'all that is older is compacted, or no segment ended so early',
  }
}

/** Whether the last segment holds more than marks. */
function hasNews(events: OpenedLog): boolean {
  const last = events.segments.at(-1)?.number ?? 0
  const words = events.key(last)
  for (let at = 0; at < words.length; at += ITEM_WORDS) {
    const kind = itemKind(words[at + ITEM_AT.kindAndArg])
    if (kind !== KIND.mark && kind !== KIND.synced) return true
  }
  return false
}

function stateAtEnd(disk: Disk, directory: string, events: OpenedLog, options: CompactShardOptions): State {
  const { store, onProgress, onMessage } = options
  const shard = events.segments[0].header.shard
  const checkpoint = loadCheckpoint(disk, directory, { events, end: events.end }, store, shard, {
    setsAside: true,
    ...(onMessage === undefined ? {} : { onMessage }),
  })
  const progress = onProgress && ((done: number, max: number) => onProgress('replay', done, max))
  return replayFrom(events, checkpoint, progress === undefined ? {} : { onProgress: progress }).state
}

/** The last sealed segment whose last record is not later than an instant; 0 where there is none. */
export function lastSealedUntil(events: OpenedLog, keepMs: number): number {
  const { segments } = events
  const horizon = horizonOf(events)
  for (let i = segments.length - 2; i >= 0; i--) {
    const { number, header } = segments[i]
    if (horizon !== undefined && number <= horizon.position.segment) return number
    if (header.timeMs > keepMs) continue
    const { timeMs } = cutAtSequence(events, segments[i + 1].header.firstSequence - 1)
    if (timeMs <= keepMs) return number
  }
  return 0
}

function saveFirstCheckpoint(
  disk: Disk,
  directory: string,
  written: WrittenGeneration,
  { store, wallMs, onMessage }: CompactShardOptions,
): void {
  const why = renewCheckpoints(disk, directory, store, () =>
    writeCheckpointImage(written.state, disk, directory, placeOf(written), wallMs),
  )
  if (why !== '') onMessage?.(`No checkpoint was saved: ${why}.`)
}

/** Where the state of a new generation stands. */
export function placeOf({ plan, horizon, shard }: WrittenGeneration): ImagePlace {
  const { position, sequence, timeMs } = horizon
  return { shard, generation: plan.to, position, sequence, timeMs }
}

/** Frees what only the void records referred to. What does not come off now does at the next compaction. */
function tidyPages(
  disk: Disk,
  directory: string,
  generation: number,
  { onMessage, compress }: CompactShardOptions,
): VoidedPages {
  const { events, pages } = openShardLogs(disk, directory, 'read', undefined, generation)
  try {
    return voidPages(disk, events, pages, `${directory}/pages`, compress)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    onMessage?.(`Pages that nothing refers to any more still take up space: ${error.message}`)
    return { pages: 0, bytesFreed: 0 }
  } finally {
    events.close()
    pages.close()
  }
}
