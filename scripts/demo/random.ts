/** Chance from a seed: the same text gives the same numbers, on every machine and in any order of asking. */

export interface Chance {
  /** Uniform in [0, 1). */
  next(): number
  /** Whole, uniform in [from, to]. */
  between(from: number, to: number): number
  pick<T>(list: readonly T[]): T
}

/** A stream of numbers of its own for each text. Source: FNV-1a for the seed, mulberry32 for the stream. */
export function chanceOf(text: string): Chance {
  let state = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return { next, between, pick: (list) => list[between(0, list.length - 1)] }
}
