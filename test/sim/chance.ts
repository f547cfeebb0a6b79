/**
 * Chance of a seed: the same numbers for the same seed and name, so that every run can be repeated. Each part of the
 * simulation draws from a stream of its own: what one draws does not change what another gets.
 */
import type { Random } from '../../src/env/random.ts'

export class Chance implements Random {
  #state: number

  constructor(seed: number, name: string) {
    let state = seed | 0
    for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193)
    this.#state = state
    this.uint32()
  }

  /** Uniform in [0, 2³²). SplitMix32. */
  uint32(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    let z = this.#state
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }

  /** Uniform integer in [0, bound). */
  below(bound: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * bound)
  }

  /** Uniform integer in [from, to]. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1)
  }

  /** True with a probability given in percent. */
  percent(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]
  }
}
