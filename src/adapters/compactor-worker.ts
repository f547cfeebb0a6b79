/** The thread of a compaction beside a running crawl: reads files, writes files aside, touches nothing else. */
import { parentPort, workerData } from 'node:worker_threads'
import { CrawlError, type ErrorCode } from '../base/errors.ts'
import type { Checkpoint } from '../env/checkpoints.ts'
import type { Position } from '../log/format.ts'
import { openLog } from '../log/recover.ts'
import { writeCheckpointImage } from '../shard/checkpoint.ts'
import { lastSealedUntil, placeOf } from '../shard/compacting.ts'
import { type CompactionPlan, writeGeneration } from '../shard/compaction.ts'
import { logDirectory } from '../shard/generations.ts'
import { type Horizon, horizonOf } from '../shard/horizon.ts'
import { EVENTS_LOG } from '../shard/opening.ts'
import { openCrawlDb } from './crawl-db.ts'
import { nodeDisk } from './disk.ts'
import { createRandom } from './random.ts'

/** What the thread is to do. */
export interface CompactorJob {
  /** Of the shard. */
  readonly directory: string
  readonly database: string
  readonly from: number
  /** The last segment to be compacted; undefined: what `keepMs` says. */
  readonly segment: number | undefined
  readonly keepMs: number | undefined
  readonly pagesSynced: Position
  readonly segmentBytesMax: number | undefined
  /** Bytes that stay free for the crawl. */
  readonly freeBytesMin: number
  readonly wallMs: number
}

export type CompactorAnswer =
  | {
      readonly kind: 'written'
      readonly plan: CompactionPlan
      readonly horizon: Horizon
      readonly bytesBefore: number
      readonly bytesAfter: number
      /** Its image is there, its row is not; undefined where it could not be written. */
      readonly checkpoint: Checkpoint | undefined
    }
  | { readonly kind: 'nothing'; readonly why: string }
  | {
      readonly kind: 'error'
      /** Undefined for a programmer's error. */
      readonly code: ErrorCode | undefined
      readonly message: string
      readonly facts: Readonly<Record<string, string | number>>
    }

function compact(job: CompactorJob): CompactorAnswer {
  const { directory, from, pagesSynced, segmentBytesMax, freeBytesMin, wallMs } = job
  const segment = job.segment ?? chooseSegment(job)
  if (segment === undefined)
    return { kind: 'nothing', why: 'all that is older is compacted, or no segment ended so early' }
  const { store } = openCrawlDb(job.database, 'read')
  try {
    const plan = { from, to: from + 1, segment, pagesSynced }
    const written = writeGeneration(nodeDisk, directory, plan, {
      random: createRandom(),
      store,
      segmentBytesMax,
      freeBytesMin,
    })
    const { horizon, beforeBytes, afterBytes } = written
    const checkpoint = tryImage(() =>
      writeCheckpointImage(written.state, nodeDisk, directory, placeOf(written), wallMs),
    )
    return { kind: 'written', plan, horizon, bytesBefore: beforeBytes, bytesAfter: afterBytes, checkpoint }
  } finally {
    store.close()
  }
}

function chooseSegment({ directory, from, keepMs }: CompactorJob): number | undefined {
  const log = openLog(nodeDisk, logDirectory(directory, from), { ...EVENTS_LOG, mode: 'read' })
  try {
    const segment = lastSealedUntil(log, keepMs ?? 0)
    return segment > (horizonOf(log)?.position.segment ?? 0) ? segment : undefined
  } finally {
    log.close()
  }
}

/** A checkpoint only spares time. */
function tryImage(write: () => Checkpoint): Checkpoint | undefined {
  try {
    return write()
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return undefined
  }
}

function answer(job: CompactorJob): CompactorAnswer {
  try {
    return compact(job)
  } catch (error) {
    if (error instanceof CrawlError && error.code === 'LOG_FULL') return { kind: 'nothing', why: error.message }
    if (error instanceof CrawlError) {
      const { code, message, facts } = error
      return { kind: 'error', code, message, facts }
    }
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { kind: 'error', code: undefined, message, facts: {} }
  }
}

parentPort?.postMessage(answer(workerData as CompactorJob))
