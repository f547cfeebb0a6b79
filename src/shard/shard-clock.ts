/**
 * Shard time: the wall clock made monotonic. It is at least the last record's time plus the monotonic time since, so it
 * never stands still or goes back, whatever the wall clock does.
 */
import type { Now } from '../core/frontier.ts'
import type { Clock } from '../env/clock.ts'

export class ShardClock {
  readonly #clock: Clock
  #shardMs: number
  #monotonicMs: number
  /** Time of the last record written. */
  lastRecordMs: number

  /**
   * @param lastMs time of the log's last record; that instant may have been shown, so the next record is later, even where
   * the wall clock was put back meanwhile
   */
  constructor(clock: Clock, lastMs: number) {
    this.#clock = clock
    this.#monotonicMs = clock.monotonicMs()
    this.#shardMs = lastMs + 1
    this.lastRecordMs = lastMs
  }

  now(): Now {
    const monotonicMs = this.#clock.monotonicMs()
    this.#shardMs = Math.max(this.#clock.wallMs(), this.#shardMs + (monotonicMs - this.#monotonicMs))
    this.#monotonicMs = monotonicMs
    return { shardMs: Math.floor(this.#shardMs), monotonicMs }
  }

  /** An instant was shown: the next record is at least 1 ms later. */
  closeInstant(): void {
    this.#shardMs = Math.floor(this.now().shardMs) + 1
  }
}
