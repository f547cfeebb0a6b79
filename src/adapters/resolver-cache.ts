/** What the resolver remembers of names it has looked up. */
import type { Resolution } from '../env/resolver.ts'

interface Entry {
  readonly answer: Resolution
  readonly expiresAtMs: number
}

/**
 * Answers by name, until they expire; the longest unused goes first when there are too many.
 *
 * Cost: O(1). A `Map` keeps the order of insertion, so setting a name again makes it the youngest.
 */
export class ResolverCache {
  private readonly entries = new Map<string, Entry>()
  private readonly entriesMax: number
  private readonly nowMs: () => number

  constructor(entriesMax: number, nowMs: () => number) {
    this.entriesMax = entriesMax
    this.nowMs = nowMs
  }

  /** The answer with the time it has left to live, or undefined. */
  get(name: string): Resolution | undefined {
    const entry = this.entries.get(name)
    if (entry === undefined) return undefined
    const leftMs = entry.expiresAtMs - this.nowMs()
    this.entries.delete(name)
    if (leftMs <= 0) return undefined
    this.entries.set(name, entry)
    return entry.answer.kind === 'addresses' ? { ...entry.answer, ttlMs: Math.floor(leftMs) } : entry.answer
  }

  set(name: string, answer: Resolution, ttlMs: number): void {
    this.entries.delete(name)
    this.entries.set(name, { answer, expiresAtMs: this.nowMs() + ttlMs })
    if (this.entries.size > this.entriesMax) this.entries.delete(this.entries.keys().next().value as string)
  }
}
