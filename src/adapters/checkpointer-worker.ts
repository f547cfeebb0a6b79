/** The thread of the checkpointer: builds one checkpoint, removes the files it is told then, and ends. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { CrawlError } from '../base/errors.ts'
import type { CheckpointJob } from '../env/checkpointer.ts'
import { buildCheckpoint } from '../shard/building.ts'
import { nodeDisk } from './disk.ts'

/** Nice value: the crawl comes first where there are not enough cores. */
const NICE = 10

/** On Linux a priority is a thread's, and 0 names the one that calls; elsewhere it would be that of the whole process. */
function stepBack(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, NICE)
  } catch {
    // A nicety: without it the checkpoint is built at the crawl's own priority.
  }
}

function remove(paths: readonly string[]): void {
  try {
    for (const path of paths) nodeDisk.remove(path)
  } catch (error) {
    // What is left is found by the next tidying.
    if (!(error instanceof CrawlError)) throw error
  }
}

stepBack()
parentPort?.once('message', remove)
parentPort?.postMessage(buildCheckpoint(nodeDisk, workerData as CheckpointJob))
