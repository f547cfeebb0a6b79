/** The thread of the checkpointer: builds one checkpoint and ends. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
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

stepBack()
parentPort?.postMessage(buildCheckpoint(nodeDisk, workerData as CheckpointJob))
