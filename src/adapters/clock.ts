/** The machine's clock and timers: `env`'s clock in a real crawl. */
import type { Clock } from '../env/clock.ts'

/** Node's timers take no longer delay: 2³¹ − 1 ms, about 24.8 days. A longer one would fire at once. */
const TIMER_DELAY_MAX_MS = 2 ** 31 - 1

/**
 * The machine's clock and timers.
 *
 * Invariant: a callback runs at most once, never before its delay is over by `monotonicMs`, never inside `after`.
 */
export function createClock(): Clock {
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after: (delayMs, run) => (delayMs <= 0 ? afterOtherWork(run) : afterDelay(delayMs, run)),
  }
}

// setTimeout(0) would wait a whole millisecond; an immediate runs right after the pending input.
function afterOtherWork(run: () => void): () => void {
  const immediate = setImmediate(run)
  return () => clearImmediate(immediate)
}

function afterDelay(delayMs: number, run: () => void): () => void {
  const dueMs = performance.now() + delayMs
  // Node truncates delays to whole milliseconds and caps them, so a timer may come early: it is armed again then.
  const arm = () => setTimeout(fire, Math.min(Math.ceil(dueMs - performance.now()), TIMER_DELAY_MAX_MS))
  const fire = () => {
    if (performance.now() >= dueMs) run()
    else timer = arm()
  }
  let timer = arm()
  return () => clearTimeout(timer)
}
