/**
 * Builds checkpoints in a thread of its own, one thread for each, so that its memory is given back when it is done.
 *
 * Invariant: `done` is called once, later, when the thread has ended, also where it dies; not after `close`, which ends a
 * build under way: what is left of it then is an image without a row, which counts for nothing.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CheckpointBuild, Checkpointer, CheckpointJob } from '../env/checkpointer.ts'

/** `.ts` in the sources, by type stripping, `.js` when built. */
const WORKER_URL = new URL(`./checkpointer-worker${extname(import.meta.filename)}`, import.meta.url)

export interface ThreadedCheckpointer extends Checkpointer {
  /** Gives up the build under way. No job may follow. */
  close(): Promise<void>
}

export function createCheckpointer(): ThreadedCheckpointer {
  return new WorkerCheckpointer()
}

class WorkerCheckpointer implements ThreadedCheckpointer {
  private worker: Worker | undefined
  private isClosed = false

  build(job: CheckpointJob, done: (built: CheckpointBuild) => void): void {
    let built: CheckpointBuild = { kind: 'failed', why: 'the thread that builds checkpoints has ended' }
    const worker = new Worker(WORKER_URL, { workerData: job })
    this.worker = worker
    // A crawl that has come to its end does not stay for a checkpoint: who wants it waits for it.
    worker.unref()
    worker.on('message', (answer: CheckpointBuild) => {
      built = answer
    })
    worker.on('error', (error) => {
      built = { kind: 'failed', why: error instanceof Error ? error.message : String(error) }
    })
    worker.on('exit', () => {
      this.worker = undefined
      if (!this.isClosed) done(built)
    })
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.worker?.terminate()
  }
}
