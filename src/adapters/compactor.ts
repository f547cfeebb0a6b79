/** Writes a new generation of a log in a thread of its own, so that no turn of the crawl waits for it. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CrawlError } from '../base/errors.ts'
import type { CompactorAnswer, CompactorJob } from './compactor-worker.ts'

/** `.ts` in the sources, by type stripping, `.js` when built. */
const WORKER_URL = new URL(`./compactor-worker${extname(import.meta.filename)}`, import.meta.url)

export type Compacted = Exclude<CompactorAnswer, { readonly kind: 'error' }>

export interface Compactor {
  /** Errors: those of `writeGeneration`; that the thread has ended. */
  readonly answer: Promise<Compacted>
  /** Ends the thread; what it has written is removed by the next writer. */
  stop(): Promise<void>
}

export function startCompactor(job: CompactorJob): Compactor {
  const worker = new Worker(WORKER_URL, { workerData: job })
  const answer = new Promise<Compacted>((done, fail) => {
    worker.once('message', (said: CompactorAnswer) => {
      if (said.kind !== 'error') done(said)
      else fail(said.code === undefined ? new Error(said.message) : new CrawlError(said.code, said.message, said.facts))
    })
    worker.once('error', fail)
    worker.once('exit', () => fail(new Error('the crawl has ended meanwhile')))
  })
  return {
    answer,
    stop: async () => {
      await worker.terminate()
    },
  }
}
