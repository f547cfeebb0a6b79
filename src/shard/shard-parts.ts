/**
 * What a shard consists of, and how it is woken. The story is in shard.ts.
 */
import type { Key } from '../base/md5.ts'
import type { Claim, LinkSource, RobotsClaim } from '../core/claim.ts'
import type { Frontier } from '../core/frontier.ts'
import type { State } from '../core/state.ts'
import type { MarkedPlace } from '../env/checkpointer.ts'
import type { Checkpoint, CheckpointStore } from '../env/checkpoints.ts'
import type { Env } from '../env/env.ts'
import type { Position } from '../log/format.ts'
import type { LogWriter } from '../log/writer.ts'
import type { Arrival } from './arrival.ts'
import type { RateLimit } from './rate-limit.ts'
import type { ReplayWork } from './replay-work.ts'
import type { ShardClock } from './shard-clock.ts'
import type { Totals } from './totals.ts'

export interface Shard {
  readonly env: Env
  /** Where the two logs are. */
  readonly directory: string
  readonly events: LogWriter
  readonly pages: LogWriter
  readonly state: State
  readonly frontier: Frontier
  readonly source: LinkSource
  readonly totals: Totals
  readonly clock: ShardClock
  /** What arrived and is not settled. Bounded by the claims in flight and one batch of seeds. */
  readonly inbox: Arrival[]
  /** Claims whose observation has not come. At most `concurrency`. */
  readonly inFlight: Map<Key, Claim>
  /** The same of robots.txt, by host and scheme. */
  readonly asked: Map<number, RobotsClaim>
  readonly syncing: Syncing
  /** Sealed page segments to be compressed, the first number not looked at, and whether one is being compressed. */
  readonly sealing: { readonly waiting: number[]; next: number; isRunning: boolean }
  /** What a replay has to do from the checkpoint on with which the shard was opened, to come to where it is now. */
  readonly work: ReplayWork
  /** Undefined where no checkpoints are made while it crawls. */
  readonly checkpointing: Checkpointing | undefined
  readonly rate: RateLimit
  /** Look-ups in flight. */
  lookups: number
  /** Whether new work is started. */
  isClaiming: boolean
  /** Set once by `stop` or a failure: no turn is taken any more. */
  hasEnded: boolean
  isTurnScheduled: boolean
  /** Cancels the timer for the next due host. */
  cancelTimer: (() => void) | undefined
  timerMs: number
  /** Takes one turn: `turn` of shard.ts. */
  readonly takeTurn: (shard: Shard) => void
  /** Called after each turn: limits, progress, termination are the owner's business. */
  onTurn: () => void
  /** Called once where a write or a sync failed; the shard has ended then. */
  onFailure: (error: unknown) => void
}

/** Where checkpoints are kept, and who is told of them. */
export interface CheckpointKeeping {
  readonly store: CheckpointStore
  readonly tell: (
    level: 'info' | 'warn' | 'error',
    text: string,
    facts?: Readonly<Record<string, string | number>>,
  ) => void
}

/** Checkpoints made while crawling. `…At`: `work` of the shard when the log stood there. */
export interface Checkpointing extends CheckpointKeeping {
  /** The last one; undefined where the log was replayed from its start and none was made since. */
  newest: Checkpoint | undefined
  coveredAt: Readonly<ReplayWork>
  /** Where the last was begun, whatever came of it. */
  triedAt: Readonly<ReplayWork>
  latestMark: NotedMark | undefined
  /** The mark before that, which is synced. */
  durableMark: NotedMark | undefined
  isBuilding: boolean
  /** It was said that none could be made. */
  hasFailed: boolean
  /** Called when a build has ended. */
  whenIdle: (() => void) | undefined
}

export interface NotedMark {
  readonly mark: MarkedPlace
  readonly work: Readonly<ReplayWork>
}

/** Syncs and who waits for them. */
export interface Syncing {
  /** Records other than marks were written since the last sync began. */
  hasNews: boolean
  isRunning: boolean
  /** A sync is due: its timer runs. */
  isTimed: boolean
  /** Positions that the sync which has returned made durable; the next record is their mark. */
  returned: { readonly events: Position; readonly pages: Position } | undefined
  /** Called when the sync that covers them has returned. */
  waiting: Array<() => void>
  covered: Array<() => void>
}

/** Asks for a turn soon; several wishes make one turn. */
export function wake(shard: Shard): void {
  if (shard.isTurnScheduled || shard.hasEnded) return
  shard.isTurnScheduled = true
  shard.env.clock.after(0, () => {
    shard.isTurnScheduled = false
    if (shard.hasEnded) return
    try {
      shard.takeTurn(shard)
    } catch (error) {
      shard.hasEnded = true
      shard.onFailure(error)
    }
  })
}
