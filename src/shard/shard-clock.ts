/**
 * Shard time: the wall clock made monotonic. It is at least the last record's time plus the monotonic time since, so it
 * never stands still or goes back, whatever the wall clock does.
 *
 * An instant once shown is closed: no later record has its time. Only what records say is moved for that, by 1 ms at most
 * from what the clock says, so that no delay ends early by it.
 */
import type { Now } from '../core/frontier.ts'
import type { Clock } from '../env/clock.ts'

export class ShardClock {
  readonly #clock: Clock
  #shardMs: number
  #monotonicMs: number
  /** Time of the last record when an instant was last shown. */
  #closedMs: number
  /** Time of the last record written. */
  lastRecordMs: number

  /** @param lastMs time of the log's last record, which may have been shown by another process */
  constructor(clock: Clock, lastMs: number) {
    this.#clock = clock
    this.#monotonicMs = clock.monotonicMs()
    this.#shardMs = lastMs
    this.#closedMs = lastMs
    this.lastRecordMs = lastMs
  }

  now(): Now {
    const monotonicMs = this.#clock.monotonicMs()
    this.#shardMs = Math.max(this.#clock.wallMs(), this.#shardMs + (monotonicMs - this.#monotonicMs))
    this.#monotonicMs = monotonicMs
    return { shardMs: Math.floor(this.#shardMs), monotonicMs }
  }

  /** The time that a record written at `shardMs` gets; it is the last one's from then on. */
  stamp(shardMs: number): number {
    this.lastRecordMs = Math.max(shardMs, this.#closedMs + 1)
    return this.lastRecordMs
  }

  /** The log was shown as of its last record: the next one is at least 1 ms later. */
  closeInstant(): void {
    this.#closedMs = this.lastRecordMs
  }
}
