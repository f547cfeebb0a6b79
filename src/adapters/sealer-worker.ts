/** The thread of the sealer: rewrites one segment after the other, as it is asked. */
import { parentPort } from 'node:worker_threads'
import { constants, zstdCompressSync } from 'node:zlib'
import { CrawlError, type ErrorCode } from '../base/errors.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { rewriteSegment } from '../log/rewrite.ts'
import { createPageTransform } from '../shard/page-transform.ts'
import { nodeDisk } from './disk.ts'

/**
 * On pages of manuals level 1 makes 5.1 of one at 280 MB/s, level 3 5.3 at 190, level 6 5.8 at 67 (scripts/bench/seal.ts):
 * the crawl wants the time more than the disk wants the space.
 */
const LEVEL = 1
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }

/** What the thread is told. */
export interface SealJob {
  readonly id: number
  readonly directory: string
  readonly number: number
}

/** What it answers. An error crosses threads as its facts. */
export interface SealAnswer {
  readonly id: number
  readonly error: SealError | undefined
}

export interface SealError {
  /** Undefined for a programmer's error. */
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly facts: Readonly<Record<string, string | number>>
}

function rewrite({ directory, number }: SealJob): SealError | undefined {
  try {
    const transform = createPageTransform((bytes) => zstdCompressSync(bytes, OPTIONS))
    rewriteSegment(nodeDisk, directory, number, PAGES_LOG, transform)
    return undefined
  } catch (error) {
    if (error instanceof CrawlError) return { code: error.code, message: error.message, facts: error.facts }
    return {
      code: undefined,
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      facts: {},
    }
  }
}

parentPort?.on('message', (job: SealJob) => {
  parentPort?.postMessage({ id: job.id, error: rewrite(job) } satisfies SealAnswer)
})
