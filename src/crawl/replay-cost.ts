/** What a replay of a crawl would cost: items of KEY, all of them and those behind the last checkpoint. */
import type { CheckpointStore } from '../env/checkpoints.ts'
import { ITEM_WORDS } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { itemAt, itemsIn } from '../shard/replay.ts'

export interface ReplayCost {
  readonly items: number
  /** Items behind the last checkpoint; undefined where there is none. */
  readonly itemsAfterCheckpoint: number | undefined
  /** Sequence number and time of that checkpoint. */
  readonly checkpoint: { readonly sequence: number; readonly createdMs: number } | undefined
}

/** Cost: nothing is read but the KEY in which the checkpoint stands. */
export function replayCostOf(log: OpenedLog, store: CheckpointStore | undefined): ReplayCost {
  const items = log.segments.reduce((sum, { number }) => sum + itemsIn(log, number), 0)
  const newest = store?.newestCheckpoint(0)
  if (newest === undefined || !log.has(newest.segment))
    return { items, itemsAfterCheckpoint: undefined, checkpoint: undefined }
  let after = 0
  for (const { number } of log.segments) if (number > newest.segment) after += itemsIn(log, number)
  const words = log.key(newest.segment)
  after += words.length / ITEM_WORDS - itemAt(words, newest.position)
  return { items, itemsAfterCheckpoint: after, checkpoint: { sequence: newest.sequence, createdMs: newest.createdMs } }
}
