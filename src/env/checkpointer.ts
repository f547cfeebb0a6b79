/**
 * Builds checkpoints beside the crawl, from files alone. Implementations: `adapters/checkpointer.ts` (a thread for each
 * build), the simulator's; both do what `shard/building.ts` says.
 */
import type { Checkpoint } from './checkpoints.ts'

export interface Checkpointer {
  /**
   * Builds the checkpoint at a mark: image written, synced and named durably. The row is the caller's to write.
   * One at a time. Calls back once, later, with what came of it, also where the thread dies; nothing is thrown.
   *
   * @param done  returns the files that are superfluous now, by their paths. They are removed beside the crawl, as far as
   * that can be done: to remove a gigabyte takes a disk a second.
   */
  build(job: CheckpointJob, done: (built: CheckpointBuild) => readonly string[]): void
}

/** Plain data: it crosses threads. */
export interface CheckpointJob {
  /** The shard's. */
  readonly directory: string
  /** Where the state is to stand: behind a mark that is durable. */
  readonly mark: MarkedPlace
  /** Checkpoints to go on from, newest first: the first that is sound and fits the log is taken. */
  readonly known: readonly Checkpoint[]
}

/** The place right behind a mark, and what the mark tells of the state there. */
export interface MarkedPlace {
  readonly shard: number
  /** Of the log. */
  readonly generation: number
  readonly segment: number
  readonly position: number
  /** Of the mark itself. */
  readonly sequence: number
  /** Of the mark, milliseconds since 1970. */
  readonly timeMs: number
  /** 32 hexadecimal digits. */
  readonly digest: string
}

export type CheckpointBuild =
  | {
      readonly kind: 'built'
      readonly checkpoint: Omit<Checkpoint, 'createdMs'>
      /** KEY items replayed behind the checkpoint before, and records opened for them. */
      readonly items: number
      readonly records: number
      /** What was passed over on the way and why, a sentence each. */
      readonly messages: readonly string[]
    }
  /** By replay the log gives another state than the crawl had, or it is damaged. Nothing was written. `why` is for people. */
  | { readonly kind: 'differs'; readonly why: string }
  /** It could not be built. */
  | { readonly kind: 'failed'; readonly why: string }
