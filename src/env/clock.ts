/** Time, as the world tells it. Only `adapters/clock.ts` and the simulator implement it. */
export interface Clock {
  /** Milliseconds since 1970, integer; may step back or jump. A label, never a delay. */
  wallMs(): number
  /** Milliseconds since some instant of this process; never goes back. All delays run on it. */
  monotonicMs(): number
  /** Calls `run` once, not before `delayMs` (0 = as soon as other work lets it). Cancelled by the returned function. */
  after(delayMs: number, run: () => void): () => void
}
