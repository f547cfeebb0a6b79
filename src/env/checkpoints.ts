/**
 * Where checkpoints are remembered. Nothing is in it alone: what it loses costs the time of a longer replay.
 * Implementations: `adapters/crawl-db.ts` (SQLite), the simulator's.
 */

/** A checkpoint: an image of a shard's state, and the place in the log where that state stands. */
export interface Checkpoint {
  readonly shard: number
  /** After the last record applied. */
  readonly segment: number
  readonly position: number
  /** Of the last record applied; in the shard the name of the checkpoint. */
  readonly sequence: number
  /** Time of that record, milliseconds since 1970. */
  readonly timeMs: number
  /** Digest of the state, 32 hexadecimal digits. */
  readonly digest: string
  /** Of the image, relative to the shard's directory. */
  readonly path: string
  /** Size of the image. */
  readonly bytes: number
  /** What the image states of itself (shard/IMAGE.md). */
  readonly checksum: number
  /** Wall clock, milliseconds since 1970. */
  readonly createdMs: number
}

/** Methods throw a CrawlError (DISK_FAILED, DISK_FULL) where the store cannot be used now; nothing is changed then. */
export interface CheckpointStore {
  /** Whether rows outlive the process: not where the file could not be used and memory stands in for it. */
  readonly isLasting: boolean
  /** The last one of a shard; undefined where there is none. */
  newestCheckpoint(shard: number): Checkpoint | undefined
  /** Those of a shard at or before a place, newest first. */
  checkpointsBefore(shard: number, segment: number, position: number): Checkpoint[]
  /** Durable when it returns; replaces one of the same shard and sequence. Call it last: image and name are durable. */
  addCheckpoint(checkpoint: Checkpoint): void
  /** No error where there is none. */
  dropCheckpoint(shard: number, sequence: number): void
  /**
   * Takes those of a shard behind a place out of use, because the log ends there now; they stay in the store.
   * @returns how many there were
   */
  setAsideBeyond(shard: number, segment: number, position: number): number
  /**
   * Forgets those of a shard that are set aside, or in use and not among `keep`.
   * @param keep  sequence numbers
   * @returns paths of the images that no checkpoint names any more
   */
  prune(shard: number, keep: ReadonlySet<number>): string[]
}
