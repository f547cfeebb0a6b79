/** Coarseness of all limits of time: one pass over everything in flight per tick, instead of timers per request. */
const TICK_MS = 50

/** Something in flight that looks at its own limits, and ends itself when one has passed. */
export interface Deadlined {
  /** Place in the list of those watched; -1 outside it. */
  watchedAt: number
  checkLimits(): void
}

/**
 * One timer for the limits of thousands of requests.
 *
 * Invariant: `nowMs` counts the time in which input could be served. A loop held up for a minute (by a checkpoint, a
 * suspended machine) does not make every server look silent for a minute.
 * Cost: 20 passes a second, about 10 ns for each request in flight; nothing while there is none.
 */
export class Deadlines<Item extends Deadlined> {
  nowMs = 0
  // Each item knows its place, and the last one fills a gap: a Set would rebuild itself every few thousand requests.
  private readonly watched: Item[] = []
  private timer: NodeJS.Timeout | null = null
  private tickedAtMs = 0

  get size(): number {
    return this.watched.length
  }

  watch(item: Item): void {
    item.watchedAt = this.watched.length
    this.watched.push(item)
    if (this.timer !== null) return
    this.tickedAtMs = performance.now()
    this.timer = setInterval(() => this.tick(), TICK_MS)
    // Sockets keep the process alive while something is in flight; the timer need not.
    this.timer.unref()
  }

  unwatch(item: Item): void {
    const last = this.watched.pop()
    if (last !== undefined && last !== item) {
      last.watchedAt = item.watchedAt
      this.watched[item.watchedAt] = last
    }
    item.watchedAt = -1
  }

  /** Whether `limitMs` have passed since an instant of `nowMs`; late by up to two ticks, never early. */
  hasPassed(limitMs: number, sinceMs: number): boolean {
    // An instant is noted as that of the tick before it.
    return this.nowMs - sinceMs >= limitMs + TICK_MS
  }

  all(): readonly Item[] {
    return this.watched
  }

  private tick(): void {
    const machineMs = performance.now()
    this.nowMs += Math.min(machineMs - this.tickedAtMs, 2 * TICK_MS)
    this.tickedAtMs = machineMs
    // What ends here is taken off in a microtask, after the pass.
    for (const item of this.watched) item.checkLimits()
    if (this.watched.length > 0 || this.timer === null) return
    clearInterval(this.timer)
    this.timer = null
  }
}
