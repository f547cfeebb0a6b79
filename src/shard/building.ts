/**
 * Builds a checkpoint from files alone, beside the crawl that writes them: the checkpoint before and the log behind it
 * give the state at a mark, which must have the digest that the crawl had there. A standing proof that live = replayed.
 *
 * Invariants: nothing is written but the image; it is written only where the digests are equal. Called by the thread of
 * `adapters/checkpointer.ts` and by the simulator.
 */
import { CrawlError } from '../base/errors.ts'
import type { State } from '../core/state.ts'
import type { CheckpointBuild, CheckpointJob, MarkedPlace } from '../env/checkpointer.ts'
import type { Checkpoint } from '../env/checkpoints.ts'
import type { Disk } from '../env/disk.ts'
import { comparePositions } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { openLog } from '../log/recover.ts'
import { imagePathOf, loadFirstOf } from './checkpoint.ts'
import { EVENTS_LOG } from './events-log.ts'
import { logDirectory } from './generations.ts'
import { writeImage } from './image.ts'
import { keysBetween, replayFrom } from './replay.ts'

/**
 * Builds the checkpoint at a mark. Its row is the caller's to write.
 *
 * Errors: none but a programmer's; what disk and log have against it is told.
 * Cost: a scan of the last segment, two reads of an image, replay of the log behind it, one write of an image. Of URLs and
 * contents memory holds those that the log behind the image speaks of; of hosts all. Without a checkpoint to go on from it
 * holds the whole state.
 */
export function buildCheckpoint(disk: Disk, job: CheckpointJob): CheckpointBuild {
  let log: OpenedLog | undefined
  try {
    log = openLog(disk, logDirectory(job.directory, job.mark.generation), { ...EVENTS_LOG, mode: 'read' })
    if (comparePositions(job.mark, log.end) > 0) return { kind: 'failed', why: 'the log does not reach to the mark' }
    return build(disk, job, log)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return { kind: error.code === 'LOG_CORRUPT' ? 'differs' : 'failed', why: error.message }
  } finally {
    log?.close()
  }
}

function build(disk: Disk, { directory, mark, known }: CheckpointJob, log: OpenedLog): CheckpointBuild {
  const messages: string[] = []
  const tell = (message: string): void => void messages.push(message)
  const place = { segment: mark.segment, position: mark.position }
  const loaded = loadFirstOf(known, disk, directory, log, tell, (from) => keysBetween(log, from, place))
  const { state, work, isFromStart } = replayFrom(log, loaded, { until: place })
  if (isFromStart && loaded !== undefined)
    tell(`Checkpoint ${loaded.row.sequence} and the log behind it do not fit; it is not gone on from.`)
  if (state.digest.toHex() !== mark.digest) return { kind: 'differs', why: differenceAt(mark, state) }
  const before = isFromStart ? undefined : loaded?.row.path
  const checkpoint = writeState(disk, directory, mark, state, before)
  return { kind: 'built', checkpoint, ...work, messages }
}

function differenceAt({ sequence, digest }: MarkedPlace, state: State): string {
  return `At record ${sequence} the crawl had the digest ${digest}, and by replay of its log it is ${state.digest.toHex()}.`
}

function writeState(
  disk: Disk,
  directory: string,
  { shard, generation, segment, position, sequence, timeMs }: MarkedPlace,
  state: State,
  before: string | undefined,
): Omit<Checkpoint, 'createdMs'> {
  const path = imagePathOf(sequence)
  disk.makeDirectory(`${directory}/${path.slice(0, path.lastIndexOf('/'))}`)
  const place = { shard, generation, position: { segment, position }, sequence, timeMs }
  const imageBefore = before && `${directory}/${before}`
  const { digest, bytes, checksum } = writeImage(state, disk, `${directory}/${path}`, place, imageBefore)
  return { shard, segment, position, sequence, timeMs, digest, path, bytes, checksum }
}
