/** The thread of the sealer: rewrites one segment after the other, as it is asked. */
import { parentPort } from 'node:worker_threads'
import { CrawlError, type ErrorCode } from '../base/errors.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { rewriteSegment } from '../log/rewrite.ts'
import { createPageTransform } from '../shard/page-transform.ts'
import { nodeDisk } from './disk.ts'
import { compressPage } from './page-compression.ts'

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
    const transform = createPageTransform(compressPage)
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
