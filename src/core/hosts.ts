/**
 * What is known of each host, off-heap: one row of words per host in blocks that never move.
 *
 * A host is `URL.host`, its key the md5 of that. Ids count from 1 in order of first mention (0 = none). Rows hold
 * projection (in the digest) and schedule (not in it); which is which stands at each field.
 */
import assert from 'node:assert/strict'
import { type Key, keyFromWords } from '../base/md5.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { StringArena } from '../tables/strings.ts'

/** Word of a row. Fields ending in Ms are float64 and begin at an even word. */
export const HOST = {
  key0: 0,
  key1: 1,
  key2: 2,
  key3: 3,
  /** Bits of `HOST_FLAG`. */
  flags: 4,
  /** URLs by state. In the digest. */
  pending: 5,
  processing: 6,
  done: 7,
  failed: 8,
  refused: 9,
  /** Answers with a stored 2xx body. In the digest. */
  pages: 10,
  /** Backoff level, raised by failures, lowered by answers. In the digest. */
  backoffLevel: 11,
  /** No contact before. In the digest. */
  blockedUntilMs: 12,
  /** Queued URLs are failed(host.bad) and new ones turned away until then. In the digest. */
  badUntilMs: 14,
  /** Host2IP: handle of the addresses, and their expiry. Both in the digest. */
  addresses: 16,
  badReason: 17,
  resolvedUntilMs: 18,
  /** robots.txt of the http and of the https origin: verdicts and attempts (8 bits each), expiry, Crawl-delay, record. */
  robotsVerdicts: 20,
  robotsDelayMs: 21,
  robotsHttpUntilMs: 22,
  robotsHttpsUntilMs: 24,
  robotsHttpSegment: 26,
  robotsHttpPosition: 27,
  robotsHttpsSegment: 28,
  robotsHttpsPosition: 29,
  /** Deques of bulk addresses (tables/deque): what `prefer` matches, and the rest. Not in the digest. */
  queuePreferred: 30,
  queue: 34,
  /** Waiting list of the host: first and last slot + 1. Not in the digest: its entries are. */
  waitingHead: 38,
  waitingTail: 39,
  /** Handle of the name, 0 until it is needed after a replay; a record that spells it. Not in the digest. */
  name: 40,
  seenSegment: 41,
  seenPosition: 42,
  /** Schedule: requests in flight, robots.txt included. */
  inFlight: 43,
  /** Schedule: monotonic instant of the earliest next contact. */
  contactMs: 44,
} as const

export const ROW_WORDS = 46
export const ROWS_PER_BLOCK = 1024

export const HOST_FLAG = {
  /** Some address of it accepted a connection once. In the digest. */
  answered: 1,
  /** robots.txt is being asked for, http and https. In the digest. */
  askingHttp: 2,
  askingHttps: 4,
  /** A look-up of its addresses is under way. Schedule only. */
  lookingUp: 8,
} as const

/** Flags that belong to the projection. */
export const HOST_FLAGS_DIGESTED = HOST_FLAG.answered | HOST_FLAG.askingHttp | HOST_FLAG.askingHttps

export class HostTable {
  readonly #index = new OrderedTable({ valueWords: 1 })
  readonly #words: Uint32Array[] = []
  readonly #floats: Float64Array[] = []
  readonly strings = new StringArena()
  #count = 0

  /** Hosts known; their ids are 1 … count. */
  get count(): number {
    return this.#count
  }

  /** Id of a host, 0 where it is unknown. Cost: one search. */
  find(k0: number, k1: number, k2: number, k3: number): number {
    const handle = this.#index.find(k0, k1, k2, k3)
    return handle < 0 ? 0 : this.#index.word(handle, 0)
  }

  findKey(key: string): number {
    const handle = this.#index.findKey(key)
    return handle < 0 ? 0 : this.#index.word(handle, 0)
  }

  /** Id of a host, new where it is unknown. */
  ensure(k0: number, k1: number, k2: number, k3: number): number {
    const handle = this.#index.insert(k0, k1, k2, k3)
    if (!this.#index.wasNew) return this.#index.word(handle, 0)
    const id = ++this.#count
    this.#index.setWord(handle, 0, id)
    if ((id - 1) % ROWS_PER_BLOCK === 0) this.#addBlock()
    const words = this.wordsOf(id)
    const row = this.rowOf(id)
    words[row] = k0
    words[row + 1] = k1
    words[row + 2] = k2
    words[row + 3] = k3
    return id
  }

  #addBlock(): void {
    const buffer = new ArrayBuffer(ROWS_PER_BLOCK * ROW_WORDS * 4)
    this.#words.push(new Uint32Array(buffer))
    this.#floats.push(new Float64Array(buffer))
  }

  /** The block of words that holds the row of `id`; the row begins at `rowOf(id)`. */
  wordsOf(id: number): Uint32Array {
    return this.#words[((id - 1) / ROWS_PER_BLOCK) | 0]!
  }

  rowOf(id: number): number {
    return ((id - 1) % ROWS_PER_BLOCK) * ROW_WORDS
  }

  get(id: number, field: number): number {
    return this.wordsOf(id)[this.rowOf(id) + field]!
  }

  set(id: number, field: number, value: number): void {
    this.wordsOf(id)[this.rowOf(id) + field] = value
  }

  add(id: number, field: number, by: number): void {
    const words = this.wordsOf(id)
    words[this.rowOf(id) + field]! += by
  }

  /** A float64 field, milliseconds. */
  getMs(id: number, field: number): number {
    return this.#floats[((id - 1) / ROWS_PER_BLOCK) | 0]![(this.rowOf(id) + field) >> 1]!
  }

  setMs(id: number, field: number, value: number): void {
    this.#floats[((id - 1) / ROWS_PER_BLOCK) | 0]![(this.rowOf(id) + field) >> 1] = value
  }

  hasFlag(id: number, flag: number): boolean {
    return (this.get(id, HOST.flags) & flag) !== 0
  }

  setFlag(id: number, flag: number, isOn: boolean): void {
    const flags = this.get(id, HOST.flags)
    this.set(id, HOST.flags, isOn ? flags | flag : flags & ~flag)
  }

  /** The host's name, '' where a replay has not met it in text yet. */
  name(id: number): string {
    const handle = this.get(id, HOST.name)
    return handle === 0 ? '' : this.strings.get(handle - 1)
  }

  setName(id: number, name: string): void {
    if (this.get(id, HOST.name) === 0) this.set(id, HOST.name, this.strings.add(name) + 1)
  }

  /** Addresses in the order to try them; [] where none is known. Expiry is the caller's business. */
  addresses(id: number): string[] {
    const handle = this.get(id, HOST.addresses)
    return handle === 0 ? [] : this.strings.get(handle - 1).split(' ')
  }

  setAddresses(id: number, addresses: readonly string[]): void {
    const text = addresses.join(' ')
    const handle = this.get(id, HOST.addresses)
    if (handle !== 0 && this.strings.get(handle - 1) === text) return
    this.set(id, HOST.addresses, text === '' ? 0 : this.strings.add(text) + 1)
  }

  keyOf(id: number): Key {
    const words = this.wordsOf(id)
    const row = this.rowOf(id)
    return keyFromWords(words[row], words[row + 1], words[row + 2], words[row + 3])
  }

  /** The table of keys, for an image. See `OrderedTable.writeImage`. */
  writeIndex(write: (bytes: Uint8Array) => void): void {
    this.#index.writeImage(write)
  }

  /** Reads what `writeIndex` wrote; false where it is damaged. The rows follow by `addRows`. */
  readIndex(read: (target: Uint8Array) => number): boolean {
    return this.#index.readImage(read)
  }

  /** Takes the rows of the next hosts, a whole block of memory of which they are the first `rowCount` rows. */
  addRows(block: ArrayBuffer, rowCount: number): void {
    assert(this.#count === this.#words.length * ROWS_PER_BLOCK && rowCount <= ROWS_PER_BLOCK)
    assert(block.byteLength === ROWS_PER_BLOCK * ROW_WORDS * 4)
    this.#words.push(new Uint32Array(block))
    this.#floats.push(new Float64Array(block))
    this.#count += rowCount
  }

  get bytes(): number {
    return this.#index.bytes + this.#words.length * ROWS_PER_BLOCK * ROW_WORDS * 4 + this.strings.bytes
  }
}
