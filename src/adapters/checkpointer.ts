/**
 * Builds checkpoints in a thread of its own, one thread for each, so that its memory is given back when it is done.
 *
 * Invariant: `done` is called once, later, also where the thread dies; not after `close`, which ends a build under way:
 * what is left of it then is an image without a row, which counts for nothing.
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
  /** The one that builds, and one that is still removing files. */
  private readonly workers = new Set<Worker>()
  private isClosed = false

  build(job: CheckpointJob, done: (built: CheckpointBuild) => readonly string[]): void {
    let worker: Worker
    try {
      worker = new Worker(WORKER_URL, { workerData: job })
    } catch (error) {
      // No thread can be had: too little memory, or too many threads.
      setImmediate(() => this.isClosed || done({ kind: 'failed', why: textOf(error) }))
      return
    }
    let isDone = false
    const settle = (built: CheckpointBuild): void => {
      if (isDone || this.isClosed) return
      isDone = true
      worker.postMessage(done(built))
    }
    this.workers.add(worker)
    // A crawl that has come to its end does not stay for a checkpoint: who wants it waits for it.
    worker.unref()
    worker.on('message', settle)
    worker.on('error', (error) => {
      settle({ kind: 'failed', why: textOf(error) })
    })
    worker.on('exit', () => {
      this.workers.delete(worker)
      settle({ kind: 'failed', why: 'the thread that builds checkpoints has ended' })
    })
  }

  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all([...this.workers].map((worker) => worker.terminate()))
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
