/**
 * What is gone with the records of a damaged log, as far as their KEY items still tell: of a record that is lost, KEY
 * says its kind and the URLs and hosts it spoke of.
 *
 * Invariant: a fact is in here only while no later surviving record says the same thing anew.
 */
import { type Key, keyFromWords, keyOf, word } from '../base/md5.ts'
import type { CrawlEvent } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import { OrderedTable } from '../tables/ordered.ts'

/** What a host loses with a record. */
export type HostFact = 'resolved' | 'badhost' | 'robots' | 'delay'
const HOST_FACT = new Map<number, HostFact>([
  [KIND.resolved, 'resolved'],
  [KIND.badhost, 'badhost'],
  [KIND.robots, 'robots'],
  [KIND.delay, 'delay'],
])

export class Losses {
  /** URLs whose final outcome stood in a record that is gone. */
  readonly outcomes = new OrderedTable({ valueWords: 0 })
  /** URLs whose link stood in one. */
  readonly links = new OrderedTable({ valueWords: 0 })
  /** Of `open` and `control` records that are gone, behind the last that is left. */
  settings = 0
  /** Of `seeded` records. */
  seeds = 0
  /** Lost ranges of whose records nothing is known. */
  unindexed = 0
  /** Keyed by host and kind; value: the kind. */
  readonly #hostFacts = new OrderedTable({ valueWords: 1 })

  /**
   * @param items       of a lost range; undefined where its KEY tells nothing
   * @param onReopened  called with each URL that a lost record had sent back to pending
   * @returns whether it may have held seeds
   */
  lose(items: Uint32Array | undefined, onReopened: (key: Key) => void): boolean {
    if (items === undefined) {
      this.unindexed++
      return true
    }
    const before = this.seeds
    for (let at = 0; at < items.length; at += ITEM_WORDS) {
      const kind = itemKind(items[at + ITEM_AT.kindAndArg])
      if (kind === KIND.reopened) onReopened(keyFromWords(items[at], items[at + 1], items[at + 2], items[at + 3]))
      this.#loseItem(items[at], items[at + 1], items[at + 2], items[at + 3], kind)
    }
    return this.seeds > before
  }

  #loseItem(k0: number, k1: number, k2: number, k3: number, kind: number): void {
    switch (kind) {
      case KIND.fetched:
      case KIND.failed:
      case KIND.refused:
        this.outcomes.insert(k0, k1, k2, k3)
        return
      case KIND.enqueue:
      case KIND.reopened:
        this.links.insert(k0, k1, k2, k3)
        return
      case KIND.open:
      case KIND.control:
        this.settings++
        return
      case KIND.seeded:
        this.seeds++
        return
      case KIND.resolved:
      case KIND.badhost:
      case KIND.robots:
      case KIND.delay:
        this.#hostFacts.setWord(this.#hostFacts.insert(k0, k1, k2, (k3 ^ kind) >>> 0), 0, kind)
    }
  }

  /** A record that is left says something anew. Cost: nothing where nothing was lost before it. */
  survive(event: CrawlEvent): void {
    if (event.kind === KIND.open || event.kind === KIND.control) this.settings = 0
    if (this.#hostFacts.count === 0 || !HOST_FACT.has(event.kind) || !('host' in event)) return
    const key = keyOf(event.host)
    const handle = this.#hostFacts.find(word(key, 0), word(key, 1), word(key, 2), (word(key, 3) ^ event.kind) >>> 0)
    if (handle >= 0) this.#hostFacts.remove(handle)
  }

  get hostFacts(): number {
    return this.#hostFacts.count
  }

  /** Each fact of a host that is gone, in no order. */
  forEachHostFact(visit: (hostKey: Key, fact: HostFact) => void): void {
    const facts = this.#hostFacts
    facts.forEach((handle) => {
      const kind = facts.word(handle, 0)
      const key = [0, 1, 2, 3].map((i) => facts.keyWord(handle, i))
      visit(keyFromWords(key[0], key[1], key[2], (key[3] ^ kind) >>> 0), HOST_FACT.get(kind) as HostFact)
    })
  }
}
