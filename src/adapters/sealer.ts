/**
 * Compresses sealed segments in a thread of its own, so that no turn waits for it.
 *
 * Invariant: each `done` is called exactly once, later, also where the thread dies; a segment that could not be rewritten
 * is as it was. The thread is started by the first job and does not keep the process alive while it has none.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CrawlError } from '../base/errors.ts'
import type { Sealer } from '../env/sealer.ts'
import type { SealAnswer, SealError, SealJob } from './sealer-worker.ts'

/** `.ts` in the sources, by type stripping, `.js` when built. */
const WORKER_URL = new URL(`./sealer-worker${extname(import.meta.filename)}`, import.meta.url)

export interface ThreadedSealer extends Sealer {
  /** Waits for the jobs begun, then ends the thread. No job may follow. */
  close(): Promise<void>
}

export function createSealer(): ThreadedSealer {
  return new WorkerSealer()
}

type Done = (error?: Error) => void

class WorkerSealer implements ThreadedSealer {
  private worker: Worker | undefined
  private readonly waiting = new Map<number, Done>()
  private jobs = 0
  private whenIdle: (() => void) | undefined

  rewrite(directory: string, number: number, done: Done): void {
    const job: SealJob = { id: this.jobs++, directory, number }
    this.waiting.set(job.id, done)
    this.worker ??= this.start()
    this.worker.ref()
    this.worker.postMessage(job)
  }

  async close(): Promise<void> {
    if (this.waiting.size > 0) {
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve
      })
    }
    await this.worker?.terminate()
    this.worker = undefined
  }

  private start(): Worker {
    const worker = new Worker(WORKER_URL)
    worker.on('message', ({ id, error }: SealAnswer) => this.settle(id, error && asError(error)))
    worker.on('error', (error) => this.lose(worker, error))
    worker.on('exit', () => this.lose(worker, new Error('the thread that compresses pages has ended')))
    return worker
  }

  private settle(id: number, error: Error | undefined): void {
    const done = this.waiting.get(id)
    this.waiting.delete(id)
    if (this.waiting.size === 0) {
      this.worker?.unref()
      this.whenIdle?.()
    }
    if (error === undefined) done?.()
    else done?.(error)
  }

  /** The thread is gone, and its jobs with it; the next job starts another. */
  private lose(worker: Worker, error: unknown): void {
    if (this.worker !== worker) return
    this.worker = undefined
    const failure = error instanceof Error ? error : new Error(String(error))
    for (const id of [...this.waiting.keys()]) this.settle(id, failure)
  }
}

function asError({ code, message, facts }: SealError): Error {
  return code === undefined ? new Error(message) : new CrawlError(code, message, facts)
}
