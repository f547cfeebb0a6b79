/**
 * A table of 16-byte keys, each with a few u32 value words, outside the JS heap: ordered linear probing
 * (Amble & Knuth, "Ordered hash tables", 1974).
 *
 * Keys must be uniformly distributed (md5). They come as four words k0..k3, the little-endian words of the digest,
 * signed or unsigned. The top bits of k0 choose one of `2^partitionBits` partitions, each an array of slots that grows
 * by itself, so no growth takes longer than a few milliseconds.
 *
 * Invariants of a partition, which has `capacity` home slots and some overflow slots behind them (no wrap-around):
 * 1. The entries, from the first slot to the last, ascend by (k0, k1, k2, k3), unsigned.
 * 2. An entry's home is floor(capacity × (k0 without its top bits, as a fraction of its range)). It lies at or behind
 *    its home, and no slot from its home to itself is empty.
 * 3. The last slot is empty, so a search needs no bounds check.
 *
 * So a search ends at the first slot that is empty or not less than the key: a miss costs what a hit costs, growing is
 * one sequential pass, and an image is the same bytes whatever the order of insertion was.
 *
 * A slot is word 0: k0 without its top bits, or EMPTY; words 1..3: k1..k3; then the value words.
 *
 * A handle names an entry until the next insert, remove, clear or read of an image: slot × partitions + partition,
 * below 2³¹, so that V8 keeps it as a small integer.
 */
import assert from 'node:assert/strict'
import {
  capacityFor,
  entriesMax,
  entriesMin,
  nextCapacity,
  slackSlots,
  tableEntriesMax,
  turnCapacity,
} from './capacity.ts'
import {
  acceptsHeader,
  acceptsPartition,
  headerOf,
  PARTITION_HEADER_WORDS,
  type ReadImage,
  sealPartition,
  type WriteImage,
} from './image.ts'
import { allocate, EMPTY, pack, release, spread } from './slots.ts'

/** Random places tried before the next entry behind the last of them is taken. */
const RANDOM_TRIES_MAX = 64
/** Odd, and no constant of usual generators: were it the step from one `r` to the next, their tries would coincide. */
const NEXT_TRY = 0x7a5c3e2d

/** 1,024 partitions: at 100 million entries one growth copies 2.5 MB. */
const PARTITION_BITS = 10
const KEY_WORDS = 4

export interface OrderedTableOptions {
  /** u32 words of value per key. */
  readonly valueWords: number
  /** 2..16, default 10: the logarithm of the number of partitions. Fewer only make sense in tests. */
  readonly partitionBits?: number
}

export class OrderedTable {
  readonly valueWords: number
  readonly partitionCount: number
  /** Entries in the table. */
  count = 0
  /** Whether the last insert made a new entry. */
  wasNew = false
  /** Means nothing: what the last `touch` read, kept so that V8 does not leave the reads out. */
  touched = 0

  readonly #partitionBits: number
  readonly #partitionMask: number
  /** k0 >>> shift is the partition; k0 & lowMask is word 0. */
  readonly #shift: number
  readonly #lowMask: number
  readonly #stride: number
  /** What a partition without entries has: one empty slot, shared. */
  readonly #none: Uint32Array<ArrayBuffer>
  readonly #partitions: Uint32Array<ArrayBuffer>[]
  /** Home slots per unit of word 0: capacity / 2^shift, exact. */
  readonly #scales: Float64Array
  readonly #counts: Uint32Array
  /** Entries at which a partition grows. */
  readonly #limits: Uint32Array
  /** Entries below which it shrinks. */
  readonly #minima: Uint32Array
  #slotWords = 0
  /** Home slots of all partitions, and the entries at which the partition whose turn it is grows. */
  #homeSlots = 0
  #growAt = 0
  #turn = 0
  /** Slots of the largest partition. */
  #slotsMax = 1

  constructor(options: OrderedTableOptions) {
    this.#partitionBits = options.partitionBits ?? PARTITION_BITS
    assert(this.#partitionBits >= 2 && this.#partitionBits <= 16 && options.valueWords >= 0)
    this.valueWords = options.valueWords
    this.#stride = KEY_WORDS + options.valueWords
    this.partitionCount = 2 ** this.#partitionBits
    this.#partitionMask = this.partitionCount - 1
    this.#shift = 32 - this.#partitionBits
    this.#lowMask = 2 ** this.#shift - 1
    this.#none = allocate(this.#stride).fill(EMPTY)
    this.#partitions = new Array(this.partitionCount).fill(this.#none)
    this.#scales = new Float64Array(this.partitionCount)
    this.#counts = new Uint32Array(this.partitionCount)
    this.#limits = new Uint32Array(this.partitionCount)
    this.#minima = new Uint32Array(this.partitionCount)
  }

  /** Bytes allocated outside the JS heap; the arrays' objects (about 0.3 KB a partition in use) come on top. */
  get bytes(): number {
    return this.#slotWords * 4 + this.#scales.byteLength + 3 * this.#counts.byteLength
  }

  /** The entry of a key, or −1. Cost: one place in memory, about seven slots when densest; nothing is allocated. */
  find(k0: number, k1: number, k2: number, k3: number): number {
    const partition = k0 >>> this.#shift
    const slot = this.#seek(partition, k0 & this.#lowMask, k1 >>> 0, k2 >>> 0, k3 >>> 0)
    return slot < 0 ? -1 : (slot << this.#partitionBits) | partition
  }

  /**
   * Fetches the place of a key from memory, so that a `find` or `insert` soon after need not wait for it. Touching a
   * hundred keys one after the other and then finding them takes half the time of finding alone.
   * Cost: a place in memory, fetched at the same time as those of the touches before and after; changes nothing.
   */
  touch(k0: number): void {
    const partition = k0 >>> this.#shift
    const words = this.#partitions[partition]
    const at = (((k0 & this.#lowMask) * this.#scales[partition]) | 0) * this.#stride
    // Three cache lines, as far as a usual walk goes.
    this.touched = (words[at] + words[at + 16] + words[at + 32]) | 0
  }

  /** The entry of a key, made with zero values where there was none (`wasNew`). Cost: a find and a short move. */
  insert(k0: number, k1: number, k2: number, k3: number): number {
    const partition = k0 >>> this.#shift
    const low = k0 & this.#lowMask
    let slot = this.#seek(partition, low, k1 >>> 0, k2 >>> 0, k3 >>> 0)
    this.wasNew = slot < 0
    if (slot < 0) {
      if (this.count >= this.#growAt || this.#counts[partition] >= this.#limits[partition]) {
        this.#grow(partition)
        slot = this.#seek(partition, low, k1 >>> 0, k2 >>> 0, k3 >>> 0)
      }
      slot = ~slot
      this.#makeRoom(partition, slot)
      const words = this.#partitions[partition]
      const at = slot * this.#stride
      words[at] = low
      words[at + 1] = k1
      words[at + 2] = k2
      words[at + 3] = k3
      for (let i = KEY_WORDS; i < this.#stride; i++) words[at + i] = 0
      this.#counts[partition]++
      this.count++
    }
    return (slot << this.#partitionBits) | partition
  }

  /** Takes an entry out. Cost: a short move. Frees memory when the partition has become far too large. */
  remove(handle: number): void {
    const partition = handle & this.#partitionMask
    const words = this.#partitions[partition]
    const scale = this.#scales[partition]
    const from = (handle >>> this.#partitionBits) * this.#stride
    assert(words[from] < EMPTY, 'handle of no entry')
    // Entries behind that are not at home move up by one; the first that is at home, or an empty slot, ends them.
    let end = from + this.#stride
    while (words[end] !== EMPTY && ((words[end] * scale) | 0) * this.#stride < end) end += this.#stride
    words.copyWithin(from, from + this.#stride, end)
    words[end - this.#stride] = EMPTY
    this.count--
    const left = --this.#counts[partition]
    if (left < this.#minima[partition]) this.#shrink(partition)
  }

  /** The same for a key given as 16 characters of one byte each, as `crypto.hash('md5', s, 'latin1')` returns it. */
  findKey(key: string): number {
    return this.find(keyWordOf(key, 0), keyWordOf(key, 4), keyWordOf(key, 8), keyWordOf(key, 12))
  }

  insertKey(key: string): number {
    return this.insert(keyWordOf(key, 0), keyWordOf(key, 4), keyWordOf(key, 8), keyWordOf(key, 12))
  }

  /** Value word `i` < valueWords of an entry. */
  word(handle: number, i: number): number {
    return this.#partitions[handle & this.#partitionMask][
      (handle >>> this.#partitionBits) * this.#stride + KEY_WORDS + i
    ]
  }

  setWord(handle: number, i: number, value: number): void {
    const at = (handle >>> this.#partitionBits) * this.#stride + KEY_WORDS + i
    this.#partitions[handle & this.#partitionMask][at] = value
  }

  /** Word `i` < 4 of an entry's key, unsigned. */
  keyWord(handle: number, i: number): number {
    const partition = handle & this.#partitionMask
    const word = this.#partitions[partition][(handle >>> this.#partitionBits) * this.#stride + i]
    return i === 0 ? (word | (partition << this.#shift)) >>> 0 : word
  }

  /**
   * An entry chosen by `r`, uniform in [0, 2³²): the same `r` and the same table give the same entry; −1 from an empty
   * table. Each entry is as likely as any other, but in a table of a few hundred those behind gaps are likelier.
   * Cost: about 1.4 places in memory.
   */
  random(r: number): number {
    if (this.count === 0) return -1
    let partition = 0
    let slot = 0
    for (let tries = 0; tries < RANDOM_TRIES_MAX; tries++) {
      const bits = scramble((r + Math.imul(tries, NEXT_TRY)) | 0)
      partition = bits >>> this.#shift
      slot = Math.floor(((bits & this.#lowMask) * this.#slotsMax) / (this.#lowMask + 1))
      // Places beyond a shorter partition's end are refused like empty ones, so that all slots are equally likely.
      const words = this.#partitions[partition]
      const at = slot * this.#stride
      if (at < words.length && words[at] !== EMPTY) return (slot << this.#partitionBits) | partition
    }
    return this.#nextEntry(partition, slot)
  }

  /** Calls `visit` with each entry, keys ascending. `visit` may set values, but not insert or remove. */
  forEach(visit: (handle: number) => void): void {
    for (let partition = 0; partition < this.partitionCount; partition++) this.forEachOf(partition, visit)
  }

  /** The same for the entries of one partition: those with `partitionOf(k0) === partition`. */
  forEachOf(partition: number, visit: (handle: number) => void): void {
    const words = this.#partitions[partition]
    for (let at = 0, slot = 0; at < words.length; at += this.#stride, slot++) {
      if (words[at] !== EMPTY) visit((slot << this.#partitionBits) | partition)
    }
  }

  partitionOf(k0: number): number {
    return k0 >>> this.#shift
  }

  /** Takes all entries out and gives the memory back. */
  clear(): void {
    for (let partition = 0; partition < this.partitionCount; partition++) this.clearPartition(partition)
    this.#turn = 0
  }

  clearPartition(partition: number): void {
    this.count -= this.#counts[partition]
    this.#replace(partition, this.#none, 0)
    this.#counts[partition] = 0
  }

  /**
   * Writes the table as an image (format: image.ts): the same bytes for the same entries, whatever their history.
   *
   * @param write  takes each piece before it returns; the bytes are gone afterwards. A header, then one piece a partition.
   * Cost: one pass in memory, about 40 ns an entry.
   */
  writeImage(write: WriteImage): void {
    this.writeHeader(write)
    for (let partition = 0; partition < this.partitionCount; partition++) this.writePartition(partition, write)
  }

  /**
   * Fills the table from an image; what it held is lost.
   *
   * @param read  fills the target from the image's next bytes and returns how many there were
   * @returns false if the image is damaged, cut, or of another shape; the table is empty then
   * Cost: one pass in memory, about 50 ns an entry.
   */
  readImage(read: ReadImage): boolean {
    this.clear()
    let whole = this.readHeader(read)
    for (let partition = 0; whole && partition < this.partitionCount; partition++) {
      whole = this.readPartition(partition, read)
    }
    if (!whole) this.clear()
    return whole
  }

  /** The first piece of an image. */
  writeHeader(write: WriteImage): void {
    write(headerOf(this.#partitionBits, this.valueWords))
  }

  /** Whether an image is one of a table of this shape. */
  readHeader(read: ReadImage): boolean {
    return acceptsHeader(this.#partitionBits, this.valueWords, read)
  }

  /** One partition's piece of an image: an image is the header and these, from 0 on. Lets a checkpoint hold one at a time. */
  writePartition(partition: number, write: WriteImage): void {
    const entryWords = this.#counts[partition] * this.#stride
    if (entryWords === 0) return write(sealPartition(new Uint32Array(PARTITION_HEADER_WORDS), partition, 0))
    const piece = allocate(PARTITION_HEADER_WORDS + entryWords)
    pack(this.#partitions[partition], piece, PARTITION_HEADER_WORDS, this.#stride, (partition << this.#shift) >>> 0)
    write(sealPartition(piece, partition, this.#counts[partition]))
    release(piece)
  }

  /** Fills one partition from its piece; false if that is damaged, and the partition is empty then. */
  readPartition(partition: number, read: ReadImage): boolean {
    this.clearPartition(partition)
    const entries = acceptsPartition(partition, this.#shift, this.#stride, read)
    if (entries === undefined) return false
    const entryCount = entries.length / this.#stride
    if (entryCount === 0) return true
    this.#fill(partition, entries, capacityFor(entryCount, partition / this.partitionCount), 0)
    this.#counts[partition] = entryCount
    this.count += entryCount
    release(entries)
    return true
  }

  #seek(partition: number, low: number, k1: number, k2: number, k3: number): number {
    const words = this.#partitions[partition]
    const stride = this.#stride
    let slot = (low * this.#scales[partition]) | 0
    let at = slot * stride
    while (words[at] < low) {
      at += stride
      slot++
    }
    while (words[at] === low) {
      const order = words[at + 1] - k1 || words[at + 2] - k2 || words[at + 3] - k3
      if (order === 0) return slot
      if (order > 0) break
      at += stride
      slot++
    }
    return ~slot
  }

  /** Moves the entries at and behind `slot` back by one, up to the first empty slot. */
  #makeRoom(partition: number, slot: number): void {
    const words = this.#partitions[partition]
    const stride = this.#stride
    const from = slot * stride
    let end = from
    while (words[end] !== EMPTY) end += stride
    if (end === words.length - stride) {
      // The overflow slots are used up. With the same home slots and more of those, all entries keep their slots.
      const capacity = this.#capacityOf(partition)
      this.#reallocate(partition, capacity, 2 * (words.length / stride - capacity))
      this.#makeRoom(partition, slot)
    } else words.copyWithin(from + stride, from, end)
  }

  #capacityOf(partition: number): number {
    return this.#scales[partition] * (this.#lowMask + 1)
  }

  /** Grows the partition whose turn it is if the table is full enough, and `wanted` if that itself is full. */
  #grow(wanted: number): void {
    const mean = this.#homeSlots / this.partitionCount
    if (this.count >= this.#growAt && this.count > 0) {
      const capacity = turnCapacity(mean)
      // Those that have grown out of turn let the others catch up. Some partition is not above the mean.
      while (this.#capacityOf(this.#turn) >= capacity) this.#turn = (this.#turn + 1) & this.#partitionMask
      this.#reallocate(this.#turn, capacity, 0)
      this.#turn = (this.#turn + 1) & this.#partitionMask
    }
    if (this.#counts[wanted] < this.#limits[wanted]) return
    this.#reallocate(wanted, nextCapacity(this.#capacityOf(wanted), mean), 0)
  }

  #shrink(partition: number): void {
    this.#reallocate(partition, capacityFor(this.#counts[partition], 0.5), 0)
  }

  /** Gives a partition so many home slots, and at least so many overflow slots. Cost: about 20 ns an entry. */
  #reallocate(partition: number, capacity: number, slackMin: number): void {
    this.#fill(partition, this.#partitions[partition], capacity, slackMin)
  }

  #fill(partition: number, from: Uint32Array, capacity: number, slackMin: number): void {
    const scale = capacity / (this.#lowMask + 1)
    for (let slack = Math.max(slackMin, slackSlots(capacity)); ; slack *= 2) {
      assert(capacity + slack < 2 ** (31 - this.#partitionBits), 'a handle has no more bits for slots')
      const words = allocate((capacity + slack) * this.#stride)
      if (spread(from, from.length, words, this.#stride, scale)) {
        this.#replace(partition, words, capacity)
        return
      }
      release(words)
    }
  }

  #replace(partition: number, words: Uint32Array<ArrayBuffer>, capacity: number): void {
    const old = this.#partitions[partition]
    this.#partitions[partition] = words
    this.#homeSlots += capacity - this.#capacityOf(partition)
    this.#growAt = tableEntriesMax(this.#homeSlots, this.partitionCount)
    this.#scales[partition] = capacity / (this.#lowMask + 1)
    this.#limits[partition] = entriesMax(capacity)
    this.#minima[partition] = entriesMin(capacity)
    if (words.length >= old.length) this.#slotsMax = Math.max(this.#slotsMax, words.length / this.#stride)
    else if (old.length === this.#slotsMax * this.#stride) this.#slotsMax = longest(this.#partitions) / this.#stride
    if (words !== this.#none) this.#slotWords += words.length
    if (old === this.#none) return
    this.#slotWords -= old.length
    release(old)
  }

  #nextEntry(partition: number, slot: number): number {
    for (;;) {
      const words = this.#partitions[partition]
      for (let at = slot * this.#stride; at < words.length; at += this.#stride, slot++) {
        if (words[at] !== EMPTY) return (slot << this.#partitionBits) | partition
      }
      partition = (partition + 1) & this.#partitionMask
      slot = 0
    }
  }
}

/** Length of the longest. */
function longest(arrays: readonly Uint32Array[]): number {
  let length = 0
  for (const array of arrays) length = Math.max(length, array.length)
  return length
}

/** murmur3's finalizer: every bit of the result depends on every bit of `x`. */
function scramble(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return x ^ (x >>> 16)
}

/** Four characters of one byte each as a little-endian word. */
function keyWordOf(key: string, at: number): number {
  return (
    key.charCodeAt(at) | (key.charCodeAt(at + 1) << 8) | (key.charCodeAt(at + 2) << 16) | (key.charCodeAt(at + 3) << 24)
  )
}
