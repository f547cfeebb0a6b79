/**
 * Checkpoints: an image of a shard's state and a row that says where in the log it stands. They make replay shorter and
 * nothing else: one that is missing, damaged or wrong is passed over for an older one, or none.
 *
 * Invariants: the row is written last, when the image and its name are durable. A checkpoint is used only where a mark
 * of the log stands at its place and tells the same digest.
 */
import { CrawlError } from '../base/errors.ts'
import type { State } from '../core/state.ts'
import type { Checkpoint, CheckpointStore } from '../env/checkpoints.ts'
import type { Disk } from '../env/disk.ts'
import { comparePositions, ITEM_AT, ITEM_WORDS, itemKind, KIND, type Position } from '../log/format.ts'
import { decodeMark, type Mark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'
import { imageBytesOf, readImage, writeImage } from './image.ts'
import type { ImageFacts, ImagePlace } from './image-facts.ts'
import { checkpointsToKeep } from './kept-checkpoints.ts'
import type { OpenedShard } from './opening.ts'
import { itemAt } from './replay.ts'
import type { Shard } from './shard-parts.ts'

const IMAGES = 'images'

/** How long saving may take when a shard stops, milliseconds. */
const SAVE_MS_MAX = 2000
/** Bytes of image a millisecond writes and syncs, on a slow disk: what is above SAVE_MS_MAX is not begun. */
const IMAGE_BYTES_PER_MS = 200_000
/** Bytes of all images of a shard, at most; the newest two are kept whatever their size. */
const CHECKPOINT_BYTES_MAX = 4 * 1024 * 1024 * 1024

export interface SaveOptions {
  /** Default SAVE_MS_MAX; infinity for who will wait. */
  readonly saveMsMax?: number
  /** Default CHECKPOINT_BYTES_MAX. */
  readonly imagesBytesMax?: number
}

export type SaveResult =
  | { readonly kind: 'saved'; readonly checkpoint: Checkpoint }
  /** `why` is for people. The crawl is none the worse. */
  | { readonly kind: 'skipped'; readonly why: string }

/**
 * Saves a checkpoint of a shard that was closed in order, and forgets those it makes superfluous.
 *
 * Never throws for disk or store: a checkpoint that could not be saved is a longer replay, no more.
 * Cost: one pass over the state, one write of its image, two syncs and a row.
 */
export function saveCheckpoint(shard: Shard, store: CheckpointStore, options: SaveOptions = {}): SaveResult {
  const { state, env, directory } = shard
  // After a failure memory is ahead of the log: its state is none the log has.
  if (state.isOpen) return skipped('the shard did not end in order')
  const bytes = imageBytesOf(state)
  if (bytes > (options.saveMsMax ?? SAVE_MS_MAX) * IMAGE_BYTES_PER_MS)
    return skipped(`an image of ${bytes} bytes takes too long to write`)
  try {
    if (env.disk.freeBytes(directory) < bytes + state.settings.freeBytesMin) return skipped('the disk is nearly full')
    const { events, clock } = shard
    const place = {
      shard: events.header.shard,
      generation: events.generation,
      position: events.synced,
      sequence: events.sequence - 1,
      timeMs: clock.lastRecordMs,
    }
    const checkpoint = writeCheckpoint(state, env.disk, directory, place, store, env.clock.wallMs())
    tidy(env.disk, directory, store, checkpoint, options.imagesBytesMax ?? CHECKPOINT_BYTES_MAX)
    return { kind: 'saved', checkpoint }
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return skipped(error.message)
  }
}

function skipped(why: string): SaveResult {
  return { kind: 'skipped', why }
}

/** Image, its name, then the row. Errors: DISK_FULL, DISK_FAILED. */
function writeCheckpoint(
  state: State,
  disk: Disk,
  directory: string,
  place: ImagePlace,
  store: CheckpointStore,
  createdMs: number,
): Checkpoint {
  const checkpoint = writeCheckpointImage(state, disk, directory, place, createdMs)
  store.addCheckpoint(checkpoint)
  return checkpoint
}

/** The half of a checkpoint that is a file. Nobody uses it before its row is there. Errors: DISK_FULL, DISK_FAILED. */
export function writeCheckpointImage(
  state: State,
  disk: Disk,
  directory: string,
  place: ImagePlace,
  createdMs: number,
): Checkpoint {
  const { shard, position, sequence } = place
  const path = `${IMAGES}/${sequence}.img`
  disk.makeDirectory(`${directory}/${IMAGES}`)
  const { digest, bytes, checksum, timeMs } = writeImage(state, disk, `${directory}/${path}`, place)
  return { shard, ...position, sequence, timeMs, digest, path, bytes, checksum, createdMs }
}

/**
 * Makes the first checkpoint of a new generation count; those of the one before are forgotten, since they name other
 * places. @returns why not, '' where all is well. Never throws for disk or store.
 */
export function renewCheckpoints(
  disk: Disk,
  directory: string,
  store: CheckpointStore,
  writeFirst: () => Checkpoint,
): string {
  try {
    const checkpoint = writeFirst()
    store.prune(checkpoint.shard, new Set())
    store.addCheckpoint(checkpoint)
    tidy(disk, directory, store, checkpoint, CHECKPOINT_BYTES_MAX)
    return ''
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return error.message
  }
}

/**
 * Forgets what is superfluous and what was set aside, rows first: an image without a row is found and removed by the
 * next tidying.
 */
function tidy(disk: Disk, directory: string, store: CheckpointStore, newest: Checkpoint, imagesBytesMax: number): void {
  const known = store.checkpointsBefore(newest.shard, newest.segment, newest.position)
  const kept = checkpointsToKeep(known, imagesBytesMax)
  store.prune(newest.shard, new Set(kept.map((checkpoint) => checkpoint.sequence)))
  const paths = new Set(kept.map((checkpoint) => checkpoint.path))
  for (const name of disk.list(`${directory}/${IMAGES}`)) {
    const path = `${IMAGES}/${name}`
    if (!paths.has(path)) disk.remove(`${directory}/${path}`)
  }
}

export interface LoadOptions {
  /** The checkpoint lies at or before this place; default: where the events that count end. */
  readonly until?: Position
  /** Called with what was passed over and why, a sentence each. */
  readonly onMessage?: (message: string) => void
  /** Whether checkpoints behind the end are taken out of use: by who will write there. Default: they are not. */
  readonly setsAside?: boolean
}

/** A state, and the place in the log where it stands. */
export interface LoadedCheckpoint {
  readonly state: State
  readonly from: Position
}

/**
 * The state of the newest checkpoint that fits a log, to go on from by `openShard` or `replay`.
 *
 * @param directory  the shard's
 * @returns undefined where the log must be replayed from its start
 * Errors: none for what is in the store or an image; LOG_CORRUPT, DISK_FAILED of the log itself.
 * Cost: one read of an image, of a KEY file and of a mark; more where images are damaged.
 */
export function loadCheckpoint(
  disk: Disk,
  directory: string,
  opened: Pick<OpenedShard, 'events' | 'end'>,
  store: CheckpointStore,
  shard: number,
  options: LoadOptions = {},
): LoadedCheckpoint | undefined {
  const tell = options.onMessage ?? (() => {})
  for (const checkpoint of askStore(store, shard, opened.end, options, tell)) {
    const loaded = tryCheckpoint(disk, directory, opened.events, checkpoint)
    if (typeof loaded !== 'string') return loaded
    tell(`Checkpoint ${checkpoint.sequence} of shard ${shard} is not used: ${loaded}.`)
  }
  return undefined
}

function askStore(
  store: CheckpointStore,
  shard: number,
  end: Position,
  options: LoadOptions,
  tell: (message: string) => void,
): Checkpoint[] {
  try {
    const beyond = options.setsAside ? store.setAsideBeyond(shard, end.segment, end.position) : 0
    if (beyond > 0) tell(`Checkpoints of shard ${shard} that know more than its log holds: ${beyond}, set aside.`)
    const until = options.until ?? end
    return store.checkpointsBefore(shard, until.segment, until.position)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    tell(`The checkpoints of shard ${shard} cannot be asked for: ${error.message}.`)
    return []
  }
}

/** The state of a checkpoint, or why it cannot be used. The log is asked first: that is the cheaper half. */
function tryCheckpoint(
  disk: Disk,
  directory: string,
  log: OpenedLog,
  checkpoint: Checkpoint,
): LoadedCheckpoint | string {
  const from = { segment: checkpoint.segment, position: checkpoint.position }
  const mark = markAt(log, from)
  if (mark === undefined) return 'no mark of the log stands at its place'
  if (Buffer.from(mark.digest).toString('hex') !== checkpoint.digest) return 'the log has another digest there'
  const image = readImage(disk, `${directory}/${checkpoint.path}`)
  if (image.kind === 'unusable') return image.why
  const difference = compareFacts(image.facts, checkpoint, log)
  return difference === undefined ? { state: image.state, from } : `its image has another ${difference}`
}

function compareFacts(facts: ImageFacts, checkpoint: Checkpoint, log: OpenedLog): string | undefined {
  const crawlId = Buffer.from(log.header?.crawlId ?? []).toString('hex')
  if (facts.crawlId !== crawlId) return 'crawl'
  if (facts.generation !== log.generation) return 'generation'
  if (facts.shard !== checkpoint.shard) return 'shard'
  if (facts.sequence !== checkpoint.sequence) return 'sequence number'
  if (comparePositions(facts.position, checkpoint) !== 0) return 'place'
  if (facts.digest !== checkpoint.digest) return 'digest'
  return facts.bytes !== checkpoint.bytes || facts.checksum !== checkpoint.checksum ? 'checksum' : undefined
}

/** The mark that ends or begins at a place: between it and the place nothing changes the state. */
function markAt(log: OpenedLog, { segment, position }: Position): Mark | undefined {
  if (!log.has(segment) || comparePositions({ segment, position }, log.end) > 0) return undefined
  const words = log.key(segment)
  const next = itemAt(words, position)
  // A mark has two items, and no record before the place ends behind it, or the digests would not be equal.
  for (const item of [next - 2, next]) {
    if (item < 0 || item * ITEM_WORDS >= words.length) continue
    if (itemKind(words[item * ITEM_WORDS + ITEM_AT.kindAndArg]) !== KIND.mark) continue
    const record = log.read(segment, words[item * ITEM_WORDS + ITEM_AT.position])
    const isThere = item === next ? record.position === position : record.position + record.length === position
    if (isThere) return decodeMark(record)
  }
  return undefined
}
