/**
 * Which checkpoints are kept: the newest two, and behind them a series each about twice as far back as the one before,
 * so that a rewind to any instant replays about as much as lies between that instant and now, at most.
 */
import type { Checkpoint } from '../env/checkpoints.ts'

const NEWEST_KEPT = 2

/**
 * @param checkpoints  of one shard, newest first
 * @param bytesMax     of all images together; the newest two are kept whatever their size
 * @returns those kept, newest first
 */
export function checkpointsToKeep(checkpoints: readonly Checkpoint[], bytesMax: number): Checkpoint[] {
  const kept: Checkpoint[] = []
  let bytes = 0
  for (const [i, checkpoint] of checkpoints.entries()) {
    const isNewest = i < NEWEST_KEPT
    if (!isNewest && !isLastOfItsOctave(checkpoints, i)) continue
    if (!isNewest && bytes + checkpoint.bytes > bytesMax) break
    kept.push(checkpoint)
    bytes += checkpoint.bytes
  }
  return kept
}

/**
 * Of all whose distance from the newest lies between the same two powers of two, the farthest stays: the nearest would
 * be replaced again and again before it had come far enough to fill the next octave.
 */
function isLastOfItsOctave(checkpoints: readonly Checkpoint[], i: number): boolean {
  const octave = (checkpoint: Checkpoint) => Math.floor(Math.log2(checkpoints[0].sequence - checkpoint.sequence))
  return i + 1 === checkpoints.length || octave(checkpoints[i]) !== octave(checkpoints[i + 1])
}
