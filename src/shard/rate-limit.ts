/**
 * `--rate-limit`: bytes received per second over the whole shard. What arrives is taken from an allowance that grows with
 * time; while it is used up nothing new is claimed. An answer may overdraw it: the pause after it is the longer.
 */

/** An allowance may save up so much, milliseconds: short bursts pass. */
const SAVED_MS_MAX = 1000

export class RateLimit {
  #bytes = 0
  #atMs = Number.NEGATIVE_INFINITY

  /** Takes what was received. */
  spend(bytes: number): void {
    this.#bytes -= bytes
  }

  /**
   * Milliseconds until something may be claimed again, 0 = now.
   * @param bytesPerSecond null = no limit
   * @param nowMs          monotonic
   */
  waitMs(bytesPerSecond: number | null, nowMs: number): number {
    if (bytesPerSecond === null) return 0
    const perMs = bytesPerSecond / 1000
    const passedMs = Math.min(nowMs - this.#atMs, SAVED_MS_MAX)
    this.#atMs = nowMs
    this.#bytes = Math.min(this.#bytes + passedMs * perMs, SAVED_MS_MAX * perMs)
    return this.#bytes > 0 ? 0 : Math.ceil(-this.#bytes / perMs) + 1
  }
}
