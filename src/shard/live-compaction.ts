/**
 * The compaction of a shard that runs: its part of it. Writing the new generation is somebody else's, from the files.
 *
 * Invariant: what is in memory names places of the files that were compacted; these are read from where they were until
 * the process ends. Everything written from now on lies in the new generation.
 */
import { type CompactionPlan, publishGeneration, withdrawGeneration } from './compaction.ts'
import { logDirectory } from './generations.ts'
import { type Shard, wake } from './shard-parts.ts'
import { whenSynced } from './syncing.ts'

/**
 * Seals the segment being written, so that all so far can be compacted; calls back with its number when all is synced.
 * Cost: a sync that the loop waits for, and one beside it.
 */
export function sealForCompaction(shard: Shard, done: (segment: number) => void): void {
  const { events, pages, clock, syncing } = shard
  const { segment } = events
  const { shardMs } = clock.now()
  pages.write()
  events.seal(shardMs)
  clock.lastRecordMs = shardMs
  syncing.hasNews = true
  wake(shard)
  whenSynced(shard, () => done(segment))
}

/**
 * Takes the new generation over: later segments are linked into it, it counts, and the log goes on in it. Nothing is
 * written meanwhile. Errors: DISK_FAILED, DISK_DENIED; the shard goes on as before then.
 */
export function takeOver(shard: Shard, plan: CompactionPlan, commit: () => void): void {
  const { disk } = shard.env
  publishGeneration(disk, shard.directory, plan)
  try {
    commit()
  } catch (error) {
    // The crawl goes on in the old one: nobody may take the new one for it, should MANIFEST be lost.
    withdrawGeneration(disk, shard.directory, plan)
    throw error
  }
  shard.events.moveTo(logDirectory(shard.directory, plan.to), plan.segment)
}
