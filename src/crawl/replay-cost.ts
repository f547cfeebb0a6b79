/** What a replay of a crawl would cost: items of KEY, all of them and those behind the last checkpoint. */
import type { CheckpointStore } from '../env/checkpoints.ts'
import { ITEM_WORDS } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { itemAt, itemsIn } from '../shard/replay.ts'
import { workSince } from '../shard/replay-work.ts'
import type { Shard } from '../shard/shard-parts.ts'

/** Plain JSON: a running crawl tells it at its door. */
export interface ReplayCost {
  readonly items: number
  /** Items behind the last checkpoint; undefined where there is none. */
  readonly itemsAfterCheckpoint?: number
  /** Of the last checkpoint: sequence number, when it was made (milliseconds since 1970), bytes of its image. */
  readonly checkpoint?: { readonly sequence: number; readonly createdMs: number; readonly bytes: number }
}

/** Cost: nothing is read but the KEY in which the checkpoint stands. */
export function replayCostOf(log: OpenedLog, store: CheckpointStore | undefined): ReplayCost {
  const items = log.segments.reduce((sum, { number }) => sum + itemsIn(log, number), 0)
  const newest = store?.checkpointsBefore(0, log.end.segment, log.end.position)[0]
  if (newest === undefined) return { items }
  let itemsAfterCheckpoint = 0
  for (const { number } of log.segments) if (number > newest.segment) itemsAfterCheckpoint += itemsIn(log, number)
  if (log.has(newest.segment)) {
    const words = log.key(newest.segment)
    itemsAfterCheckpoint += words.length / ITEM_WORDS - itemAt(words, newest.position)
  }
  const { sequence, createdMs, bytes } = newest
  return { items, itemsAfterCheckpoint, checkpoint: { sequence, createdMs, bytes } }
}

/** The same of a running crawl, as it is now. Cost: nothing is read. */
export function liveReplayCostOf({ events, checkpointing, work }: Shard): ReplayCost {
  const items = events.itemsInAll()
  const newest = checkpointing?.newest
  if (checkpointing === undefined || newest === undefined) return { items }
  const { sequence, createdMs, bytes } = newest
  const itemsAfterCheckpoint = workSince(work, checkpointing.coveredAt).items
  return { items, itemsAfterCheckpoint, checkpoint: { sequence, createdMs, bytes } }
}
