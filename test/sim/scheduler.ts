/**
 * Virtual time: one queue of things to come, in order of time and, within a millisecond, of asking. Nothing here waits.
 *
 * Invariant: time never goes back; what the wall clock shows may.
 */
import type { Clock } from '../../src/env/clock.ts'
import type { Chance } from './chance.ts'

/** Where the wall clock starts: 2026-01-01. */
const WALL_START_MS = Date.UTC(2026, 0, 1)

interface Entry {
  readonly timeMs: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

export class VirtualTime {
  /** Milliseconds since the simulation began. */
  nowMs = 0
  /** Things done so far. */
  steps = 0
  readonly #heap: Entry[] = []
  #asked = 0

  at(timeMs: number, run: () => void): () => void {
    const entry: Entry = { timeMs: Math.max(timeMs, this.nowMs), order: this.#asked++, run, isCancelled: false }
    this.#push(entry)
    return () => {
      entry.isCancelled = true
    }
  }

  after(delayMs: number, run: () => void): () => void {
    return this.at(this.nowMs + delayMs, run)
  }

  /** Lets time pass without anything happening: a machine that is off. */
  pass(durationMs: number): void {
    this.nowMs += durationMs
  }

  /** Does the next thing. False where there is none. */
  step(): boolean {
    for (;;) {
      const entry = this.#pop()
      if (entry === undefined) return false
      if (entry.isCancelled) continue
      this.nowMs = Math.max(this.nowMs, entry.timeMs)
      this.steps++
      entry.run()
      return true
    }
  }

  /** Forgets all that was to come: the process that asked for it is dead. */
  clear(): void {
    this.#heap.length = 0
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(entry, heap[parent])) break
      heap[at] = heap[parent]
      at = parent
    }
    heap[at] = entry
  }

  #pop(): Entry | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++
      if (!isBefore(heap[child], last)) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
    return first
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order)
}

/** The wall clock of the machine: virtual time and what people and time servers did to it. */
export class Wall {
  readonly #time: VirtualTime
  #offsetMs = WALL_START_MS
  /** Sum of all steps forward: by so much an absolute instant may come too early. */
  forwardMs = 0

  constructor(time: VirtualTime) {
    this.#time = time
  }

  get ms(): number {
    return this.#time.nowMs + this.#offsetMs
  }

  step(byMs: number): void {
    this.#offsetMs += byMs
    if (byMs > 0) this.forwardMs += byMs
  }
}

/** The clock of one process: its monotonic time counts from an instant of its own, and timers may be late. */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime
  readonly #wall: Wall
  readonly #chance: Chance
  readonly #startMs: number

  constructor(time: VirtualTime, wall: Wall, chance: Chance) {
    this.#time = time
    this.#wall = wall
    this.#chance = chance
    this.#startMs = time.nowMs - chance.below(1_000_000) - 0.25
  }

  wallMs(): number {
    return this.#wall.ms
  }

  monotonicMs(): number {
    return this.#time.nowMs - this.#startMs
  }

  after(delayMs: number, run: () => void): () => void {
    const lateMs = this.#chance.percent(20) ? this.#chance.below(20) : 0
    return this.#time.after(Math.ceil(delayMs) + lateMs, run)
  }
}
