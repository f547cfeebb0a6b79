/**
 * Many deques of 8-byte entries (two u32 words), outside the JS heap: each host's queue of bulk addresses.
 *
 * A deque is DEQUE_WORDS words in an array of the caller's; all zero is the empty deque. A deque of one entry holds it
 * in those words; a longer one lies in chunks of 64 bytes, seven entries each, doubly linked. Chunks come from one
 * arena of blocks that are never moved, so growing copies nothing; freed chunks are used again.
 *
 * Invariant: only the first and the last chunk of a deque have free places: before the head, behind the tail.
 */
/** Words of a deque. */
export const DEQUE_WORDS = 4
/** first, last: numbers of chunks. offset: place of the head in the first chunk, in entries. */
const AT = { first: 0, last: 1, count: 2, offset: 3 } as const

/** Words of a chunk: numbers of the chunks before and behind (0 = none), then entries. Chunks count from 1. */
const CHUNK_WORDS = 16
const LINK = { previous: 0, next: 1 } as const
const CHUNK_HEADER_WORDS = 2
const CHUNK_ENTRIES = 7

const BLOCK_BITS = 11
const BLOCK_CHUNKS = 2 ** BLOCK_BITS

export class BulkDeques {
  /** The entry that the last `get`, `getFromTail`, `popHead`, `popTail` or `removeAt` found. */
  word0 = 0
  word1 = 0

  readonly #blocks: Uint32Array[] = []
  /** Chunks ever taken from blocks, and number 0, which is never given out. */
  #chunkCount = 1
  /** First of the freed chunks, which are linked by `next`. */
  #free = 0

  /** Bytes allocated outside the JS heap. */
  get bytes(): number {
    return this.#blocks.length * BLOCK_CHUNKS * CHUNK_WORDS * 4
  }

  /** Entries of the deque whose words begin at `deques[at]`. */
  count(deques: Uint32Array, at: number): number {
    return deques[at + AT.count]
  }

  /** Appends an entry. Cost: O(1). */
  pushTail(deques: Uint32Array, at: number, word0: number, word1: number): void {
    const count = deques[at + AT.count]++
    if (count === 0) {
      deques[at] = word0
      deques[at + 1] = word1
      return
    }
    if (count === 1) this.#intoChunk(deques, at)
    const place = (deques[at + AT.offset] + count) % CHUNK_ENTRIES
    if (place === 0) this.#addLast(deques, at)
    const last = deques[at + AT.last]
    const entry = entryIn(last, place)
    const block = this.#blockOf(last)
    block[entry] = word0
    block[entry + 1] = word1
  }

  /** Finds entry `i` from the head (0 is the head). False if there is none. Cost: a step per 7 entries from the nearer end. */
  get(deques: Uint32Array, at: number, i: number): boolean {
    const count = deques[at + AT.count]
    if (i < 0 || i >= count) return false
    if (count === 1) this.#found(deques, at)
    else {
      const chunk = this.#chunkAt(deques, at, i)
      this.#found(this.#blockOf(chunk), entryIn(chunk, (deques[at + AT.offset] + i) % CHUNK_ENTRIES))
    }
    return true
  }

  /** Finds entry `i` from the tail (0 is the tail). False if there is none. Cost: as `get`. */
  getFromTail(deques: Uint32Array, at: number, i: number): boolean {
    return this.get(deques, at, deques[at + AT.count] - 1 - i)
  }

  /** Takes the head off. False if there is none. Cost: O(1). */
  popHead(deques: Uint32Array, at: number): boolean {
    if (!this.get(deques, at, 0)) return false
    const count = --deques[at + AT.count]
    if (count === 0) zero(deques, at)
    else if (++deques[at + AT.offset] === CHUNK_ENTRIES) {
      const first = deques[at + AT.first]
      deques[at + AT.first] = this.#blockOf(first)[baseOf(first) + LINK.next]
      deques[at + AT.offset] = 0
      this.#release(first, first)
    }
    if (count === 1) this.#outOfChunk(deques, at)
    return true
  }

  /** Takes the tail off. False if there is none. Cost: O(1). */
  popTail(deques: Uint32Array, at: number): boolean {
    if (!this.getFromTail(deques, at, 0)) return false
    const count = --deques[at + AT.count]
    if (count === 0) zero(deques, at)
    else if ((deques[at + AT.offset] + count) % CHUNK_ENTRIES === 0) {
      const last = deques[at + AT.last]
      deques[at + AT.last] = this.#blockOf(last)[baseOf(last) + LINK.previous]
      this.#release(last, last)
    }
    if (count === 1) this.#outOfChunk(deques, at)
    return true
  }

  /**
   * Takes out entry `i` from the head; the others keep their order. False if there is none.
   * Cost: moves the entries between it and the nearer end by one.
   */
  removeAt(deques: Uint32Array, at: number, i: number): boolean {
    if (!this.get(deques, at, i)) return false
    const { word0, word1 } = this
    const last = deques[at + AT.count] - 1
    if (i <= last >> 1) {
      this.#move(deques, at, i, 0, -1)
      this.popHead(deques, at)
    } else {
      this.#move(deques, at, i, last, 1)
      this.popTail(deques, at)
    }
    this.word0 = word0
    this.word1 = word1
    return true
  }

  /** Takes the last `n` entries off, or all. Cost: O(n). */
  dropTail(deques: Uint32Array, at: number, n: number): void {
    if (n >= deques[at + AT.count]) this.clear(deques, at)
    else for (; n > 0; n--) this.popTail(deques, at)
  }

  /** Takes all entries off. Cost: O(1). */
  clear(deques: Uint32Array, at: number): void {
    if (deques[at + AT.count] > 1) this.#release(deques[at + AT.first], deques[at + AT.last])
    zero(deques, at)
  }

  /** Calls `visit` with each entry, head first. `visit` must not change the deque. */
  forEach(deques: Uint32Array, at: number, visit: (word0: number, word1: number) => void): void {
    const count = deques[at + AT.count]
    if (count === 1) visit(deques[at], deques[at + 1])
    if (count < 2) return
    let chunk = deques[at + AT.first]
    let place = deques[at + AT.offset]
    for (let left = count; left > 0; left--) {
      if (place === CHUNK_ENTRIES) {
        chunk = this.#blockOf(chunk)[baseOf(chunk) + LINK.next]
        place = 0
      }
      const block = this.#blockOf(chunk)
      const entry = entryIn(chunk, place++)
      visit(block[entry], block[entry + 1])
    }
  }

  /**
   * Makes of a copy of a deque's words what an image holds of them: the entry of a deque of one, of a longer one the
   * count alone, since numbers of chunks mean nothing elsewhere.
   */
  toImage(copies: Uint32Array, at: number): void {
    const count = copies[at + AT.count]
    if (count < 2) return
    zero(copies, at)
    copies[at + AT.count] = count
  }

  /** Makes a deque of words that `toImage` left: `next` gives the words of the entries of one with more than one. */
  fromImage(deques: Uint32Array, at: number, next: () => number): void {
    const count = deques[at + AT.count]
    if (count < 2) return
    zero(deques, at)
    for (let left = count; left > 0; left--) {
      const word0 = next()
      this.pushTail(deques, at, word0, next())
    }
  }

  #found(words: Uint32Array, entry: number): void {
    this.word0 = words[entry]
    this.word1 = words[entry + 1]
  }

  /** The chunk of entry `i` of a deque in chunks. */
  #chunkAt(deques: Uint32Array, at: number, i: number): number {
    const offset = deques[at + AT.offset]
    let before = Math.floor((offset + i) / CHUNK_ENTRIES)
    let behind = Math.floor((offset + deques[at + AT.count] - 1) / CHUNK_ENTRIES) - before
    let chunk = before <= behind ? deques[at + AT.first] : deques[at + AT.last]
    if (before <= behind) for (; before > 0; before--) chunk = this.#blockOf(chunk)[baseOf(chunk) + LINK.next]
    else for (; behind > 0; behind--) chunk = this.#blockOf(chunk)[baseOf(chunk) + LINK.previous]
    return chunk
  }

  /** Copies to entry `to` its neighbour in direction `step`, and so on from there, until entry `end` has been copied. */
  #move(deques: Uint32Array, at: number, to: number, end: number, step: 1 | -1): void {
    if (to === end) return
    const link = step === 1 ? LINK.next : LINK.previous
    const edge = step === 1 ? CHUNK_ENTRIES : -1
    let chunk = this.#chunkAt(deques, at, to)
    let place = (deques[at + AT.offset] + to) % CHUNK_ENTRIES
    let block = this.#blockOf(chunk)
    let entry = entryIn(chunk, place)
    for (; to !== end; to += step) {
      place += step
      if (place === edge) {
        chunk = block[baseOf(chunk) + link]
        place = step === 1 ? 0 : CHUNK_ENTRIES - 1
      }
      const source = this.#blockOf(chunk)
      const from = entryIn(chunk, place)
      block[entry] = source[from]
      block[entry + 1] = source[from + 1]
      block = source
      entry = from
    }
  }

  /** Moves the one entry of a deque from its words into a chunk. */
  #intoChunk(deques: Uint32Array, at: number): void {
    const chunk = this.#take()
    const block = this.#blockOf(chunk)
    const entry = entryIn(chunk, 0)
    block[entry] = deques[at]
    block[entry + 1] = deques[at + 1]
    deques[at + AT.first] = chunk
    deques[at + AT.last] = chunk
    deques[at + AT.offset] = 0
  }

  /** Moves the one entry left in a deque from its chunk into its words. */
  #outOfChunk(deques: Uint32Array, at: number): void {
    const chunk = deques[at + AT.first]
    const block = this.#blockOf(chunk)
    const entry = entryIn(chunk, deques[at + AT.offset])
    deques[at] = block[entry]
    deques[at + 1] = block[entry + 1]
    deques[at + AT.offset] = 0
    this.#release(chunk, chunk)
  }

  #addLast(deques: Uint32Array, at: number): void {
    const chunk = this.#take()
    const last = deques[at + AT.last]
    this.#blockOf(last)[baseOf(last) + LINK.next] = chunk
    this.#blockOf(chunk)[baseOf(chunk) + LINK.previous] = last
    deques[at + AT.last] = chunk
  }

  /** A chunk with links of chance. */
  #take(): number {
    if (this.#free !== 0) {
      const chunk = this.#free
      this.#free = this.#blockOf(chunk)[baseOf(chunk) + LINK.next]
      return chunk
    }
    if (this.#chunkCount > this.#blocks.length * BLOCK_CHUNKS - 1) {
      this.#blocks.push(new Uint32Array(BLOCK_CHUNKS * CHUNK_WORDS))
    }
    return this.#chunkCount++
  }

  /** Frees the chunks from `first` to `last`, which are linked. */
  #release(first: number, last: number): void {
    this.#blockOf(last)[baseOf(last) + LINK.next] = this.#free
    this.#free = first
  }

  #blockOf(chunk: number): Uint32Array {
    return this.#blocks[chunk >>> BLOCK_BITS]
  }
}

/** Where a chunk begins in its block, in words. */
function baseOf(chunk: number): number {
  return (chunk % BLOCK_CHUNKS) * CHUNK_WORDS
}

/** Where an entry begins in the block of its chunk, in words. */
function entryIn(chunk: number, place: number): number {
  return baseOf(chunk) + CHUNK_HEADER_WORDS + place * 2
}

function zero(deques: Uint32Array, at: number): void {
  deques.fill(0, at, at + DEQUE_WORDS)
}
