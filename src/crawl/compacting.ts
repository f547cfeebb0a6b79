/** `compact`: a crawl that nobody runs, compacted in its DIR. MANIFEST is what makes the new files count. */
import { existsSync } from 'node:fs'
import { createClock } from '../adapters/clock.ts'
import { openCrawlDb } from '../adapters/crawl-db.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { acquireLock } from '../adapters/lock.ts'
import { compressPage } from '../adapters/page-compression.ts'
import { createRandom } from '../adapters/random.ts'
import { CrawlError } from '../base/errors.ts'
import type { Disk } from '../env/disk.ts'
import { type CompactedShard, compactShard } from '../shard/compacting.ts'
import type { CompactionStep } from '../shard/compaction.ts'
import { generationIn, logDirectory } from '../shard/generations.ts'
import type { Horizon } from '../shard/horizon.ts'
import { socketPathOf } from './control.ts'
import { type Layout, layoutOf } from './layout.ts'
import { readManifest, statedGeneration, writeManifest } from './manifest.ts'
import { crawlIn } from './reading.ts'
import { segmentBytes } from './segment-bytes.ts'

/** What a compaction came to, as `--json` prints it. */
export interface CompactionReport {
  /** Something was compacted. */
  readonly compacted: boolean
  /** Why not; ''. */
  readonly why: string
  /** Bytes of events and pages together; of a running crawl, of the events that were compacted. */
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Pages that nothing referred to any more. */
  readonly pagesEmptied: number
  readonly generation: number
  /** Earliest instant (ISO 8601 UTC) and record that can still be asked for; null where that is the first record. */
  readonly earliest: string | null
  readonly earliestSeq: string | null
  /** A running crawl did it: the old files go when it ends. */
  readonly running: boolean
}

export interface CompactListener {
  readonly onMessage: (message: string) => void
  readonly onProgress: (step: CompactionStep, done: number, max: number) => void
}

/**
 * Compacts the crawl in a directory.
 *
 * @param keepMs  the horizon is not later than this instant; undefined = now
 * Errors: DIR_NO_CRAWL, DIR_IN_USE, LOG_CORRUPT, LOG_NEWER, DISK_FULL, DISK_DENIED; the crawl is as it was then.
 */
export function compactCrawl(root: string, keepMs: number | undefined, listener: CompactListener): CompactionReport {
  const layout = layoutOf(root)
  if (!existsSync(root)) throw noCrawl(root)
  const lock = acquireLock(root, socketPathOf(root))
  try {
    if (crawlIn(nodeDisk, layout) === undefined) throw noCrawl(root)
    return compactLocked(nodeDisk, layout, keepMs, listener)
  } finally {
    lock.release()
  }
}

function noCrawl(root: string): CrawlError {
  return new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${root}.`, { path: root })
}

function compactLocked(
  disk: Disk,
  layout: Layout,
  keepMs: number | undefined,
  { onMessage, onProgress }: CompactListener,
): CompactionReport {
  const directory = layout.shard(0)
  const bytesBefore = bytesOf(disk, layout)
  const { store, message } = openCrawlDb(layout.database)
  if (message !== '') onMessage(message)
  try {
    const result = compactShard({ disk, random: createRandom() }, directory, {
      store,
      stated: statedGeneration(disk, layout),
      keepMs,
      wallMs: createClock().wallMs(),
      commit: ({ plan, horizon, state }) => commitGeneration(disk, layout, plan.to, horizon, state.crawlId),
      compress: compressPage,
      onMessage,
      onProgress,
      ...segmentBytes(),
    })
    return reportOf(disk, layout, result, bytesBefore)
  } finally {
    store.close()
  }
}

/** Makes a generation count that has its name already: the one step on which everything turns. */
export function commitGeneration(
  disk: Disk,
  layout: Layout,
  generation: number,
  { timeMs, sequence }: Horizon,
  crawlId: string,
): void {
  writeManifest(disk, layout, {
    version: 1,
    crawlId,
    shards: 1,
    generation,
    horizonMs: timeMs,
    horizonSequence: sequence,
  })
}

function reportOf(disk: Disk, layout: Layout, result: CompactedShard, bytesBefore: number): CompactionReport {
  const bytesAfter = bytesOf(disk, layout)
  const manifest = readManifest(disk, layout)
  const isCompacted = result.kind === 'compacted'
  const horizon = isCompacted ? result.written.horizon : undefined
  const timeMs = horizon?.timeMs ?? manifest?.horizonMs ?? 0
  const sequence = horizon?.sequence ?? manifest?.horizonSequence ?? 0
  return {
    compacted: isCompacted,
    why: isCompacted ? '' : result.why,
    bytesBefore,
    bytesAfter,
    pagesEmptied: isCompacted ? result.voided.pages : 0,
    generation: manifest?.generation ?? 0,
    earliest: timeMs === 0 ? null : new Date(timeMs).toISOString(),
    earliestSeq: sequence === 0 ? null : String(sequence),
    running: false,
  }
}

/** Bytes of the events that count, and of the pages. */
function bytesOf(disk: Disk, layout: Layout): number {
  const directory = layout.shard(0)
  const generation = generationIn(disk, directory, statedGeneration(disk, layout))
  return [logDirectory(directory, generation), `${directory}/pages`].reduce((sum, path) => sum + bytesIn(disk, path), 0)
}

function bytesIn(disk: Disk, directory: string): number {
  let bytes = 0
  for (const name of disk.list(directory)) {
    const file = disk.open(`${directory}/${name}`, 'read')
    bytes += file.sizeBytes()
    file.close()
  }
  return bytes
}
