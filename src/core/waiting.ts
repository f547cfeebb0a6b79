/**
 * The waiting table: URLs that came back (`retry`, `void`) with due time, attempts and deaths. They go before the
 * host's queue. Off-heap; each host's entries form a list ordered by due time; suspects stand in a list of their own.
 */
import { OrderedTable } from '../tables/ordered.ts'
import type { HostTable } from './hosts.ts'
import { HOST } from './hosts.ts'

/** In flight at this many deaths, a URL is a suspect: claimed last and alone. */
export const SUSPECT_DEATHS = 3
/** In flight at this many deaths it is failed(poison): the last ones it was in flight alone. */
export const POISON_DEATHS = 5

const SLOT_WORDS = 10
const AT = { key: 0, host: 4, attemptsDeaths: 5, previous: 6, next: 7, dueMs: 8 } as const

export class WaitingTable {
  readonly #index = new OrderedTable({ valueWords: 1 })
  #words = new Uint32Array(SLOT_WORDS * 16)
  #floats = new Float64Array(this.#words.buffer)
  #slotCount = 0
  #freeHead = 0
  /** List of suspects: first and last slot + 1. */
  #suspectHead = 0
  #suspectTail = 0
  #suspectCount = 0

  get count(): number {
    return this.#index.count
  }

  get suspectCount(): number {
    return this.#suspectCount
  }

  /** First suspect's slot, −1 where there is none. */
  get firstSuspect(): number {
    return this.#suspectHead - 1
  }

  /** Slot of a URL, −1 where it does not wait. */
  find(k0: number, k1: number, k2: number, k3: number): number {
    const handle = this.#index.find(k0, k1, k2, k3)
    return handle < 0 ? -1 : this.#index.word(handle, 0)
  }

  /** Slots of a host in order of due time, −1 at the end. */
  firstOf(hosts: HostTable, host: number): number {
    return hosts.get(host, HOST.waitingHead) - 1
  }

  next(slot: number): number {
    return this.#words[slot * SLOT_WORDS + AT.next]! - 1
  }

  keyWord(slot: number, i: number): number {
    return this.#words[slot * SLOT_WORDS + i]!
  }

  host(slot: number): number {
    return this.#words[slot * SLOT_WORDS + AT.host]!
  }

  attempts(slot: number): number {
    return this.#words[slot * SLOT_WORDS + AT.attemptsDeaths]! & 0xff
  }

  deaths(slot: number): number {
    return this.#words[slot * SLOT_WORDS + AT.attemptsDeaths]! >>> 8
  }

  dueMs(slot: number): number {
    return this.#floats[(slot * SLOT_WORDS + AT.dueMs) >> 1]!
  }

  /** Adds a URL that does not wait yet. Cost: O(1) where due times come in order. */
  add(
    hosts: HostTable,
    host: number,
    k0: number,
    k1: number,
    k2: number,
    k3: number,
    attempts: number,
    deaths: number,
    dueMs: number,
  ): void {
    const slot = this.#takeSlot()
    this.#index.setWord(this.#index.insert(k0, k1, k2, k3), 0, slot)
    const at = slot * SLOT_WORDS
    this.#words[at] = k0
    this.#words[at + 1] = k1
    this.#words[at + 2] = k2
    this.#words[at + 3] = k3
    this.#words[at + AT.host] = host
    this.#words[at + AT.attemptsDeaths] = attempts | (deaths << 8)
    this.#floats[(at + AT.dueMs) >> 1] = dueMs
    if (deaths >= SUSPECT_DEATHS) this.#linkSuspect(slot)
    else this.#linkByDue(hosts, host, slot, dueMs)
  }

  remove(hosts: HostTable, slot: number): void {
    const at = slot * SLOT_WORDS
    const words = this.#words
    const handle = this.#index.find(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!)
    this.#index.remove(handle)
    const previous = words[at + AT.previous]!
    const next = words[at + AT.next]!
    const isSuspect = this.deaths(slot) >= SUSPECT_DEATHS
    const host = this.host(slot)
    if (previous !== 0) words[(previous - 1) * SLOT_WORDS + AT.next] = next
    else if (isSuspect) this.#suspectHead = next
    else hosts.set(host, HOST.waitingHead, next)
    if (next !== 0) words[(next - 1) * SLOT_WORDS + AT.previous] = previous
    else if (isSuspect) this.#suspectTail = previous
    else hosts.set(host, HOST.waitingTail, previous)
    if (isSuspect) this.#suspectCount--
    words[at + AT.next] = this.#freeHead
    this.#freeHead = slot + 1
  }

  /** Visits every slot in use. */
  forEach(visit: (slot: number) => void): void {
    this.#index.forEach((handle) => {
      visit(this.#index.word(handle, 0))
    })
  }

  get bytes(): number {
    return this.#index.bytes + this.#words.byteLength
  }

  #takeSlot(): number {
    if (this.#freeHead !== 0) {
      const slot = this.#freeHead - 1
      this.#freeHead = this.#words[slot * SLOT_WORDS + AT.next]!
      return slot
    }
    if ((this.#slotCount + 1) * SLOT_WORDS > this.#words.length) this.#grow()
    return this.#slotCount++
  }

  #grow(): void {
    const words = new Uint32Array(Math.ceil((this.#words.length * 1.5) / (2 * SLOT_WORDS)) * 2 * SLOT_WORDS)
    words.set(this.#words)
    this.#words = words
    this.#floats = new Float64Array(words.buffer)
  }

  #linkSuspect(slot: number): void {
    const at = slot * SLOT_WORDS
    this.#words[at + AT.previous] = this.#suspectTail
    this.#words[at + AT.next] = 0
    if (this.#suspectTail === 0) this.#suspectHead = slot + 1
    else this.#words[(this.#suspectTail - 1) * SLOT_WORDS + AT.next] = slot + 1
    this.#suspectTail = slot + 1
    this.#suspectCount++
  }

  // Due times mostly grow, so the place is looked for from the tail.
  #linkByDue(hosts: HostTable, host: number, slot: number, dueMs: number): void {
    let before = hosts.get(host, HOST.waitingTail)
    while (before !== 0 && this.dueMs(before - 1) > dueMs)
      before = this.#words[(before - 1) * SLOT_WORDS + AT.previous]!
    const after = before === 0 ? hosts.get(host, HOST.waitingHead) : this.#words[(before - 1) * SLOT_WORDS + AT.next]!
    const at = slot * SLOT_WORDS
    this.#words[at + AT.previous] = before
    this.#words[at + AT.next] = after
    if (before === 0) hosts.set(host, HOST.waitingHead, slot + 1)
    else this.#words[(before - 1) * SLOT_WORDS + AT.next] = slot + 1
    if (after === 0) hosts.set(host, HOST.waitingTail, slot + 1)
    else this.#words[(after - 1) * SLOT_WORDS + AT.previous] = slot + 1
  }
}
