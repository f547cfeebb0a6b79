/**
 * A bare key/value store on the log: put, get, has, delete, random key.
 *
 * The table in memory has segment, position and length of each value, so `has`, `delete` and `randomKey` touch no disk
 * and `get` reads once. KEY files are arrays of 16-byte key + 8-byte position, all ones for a deletion.
 * Writes are batched; what `sync` has resolved for survives the machine. Space of old values is not taken back.
 */
import assert from 'node:assert'
import { CrawlError } from '../base/errors.ts'
import { KEY_BYTES, type Key, keyFromWords, keyWordsOf, word } from '../base/md5.ts'
import type { Clock } from '../env/clock.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { OrderedTable } from '../tables/ordered.ts'
import {
  AT,
  BODY_BYTES_MAX,
  CRAWL_ID_BYTES,
  DIGEST_BYTES,
  ITEM_WORDS,
  KIND,
  NOWHERE,
  type Position,
  ROLE,
} from './format.ts'
import { isDeletion } from './items.ts'
import { hasKey, itemsOfKeyed, KEYED_KIND_MAX, keyedValue } from './keyed.ts'
import type { OpenedLog } from './opened.ts'
import { openLog } from './recover.ts'
import type { Verdict } from './verdict.ts'
import type { LogWriter } from './writer.ts'

/** The batch is written when it is this large. */
const WRITE_BYTES = 256 * 1024
/** A sync is started when this much is unsynced. */
const SYNC_BYTES = 4 * 1024 * 1024
/** Beyond this, the caller waits for a sync. */
const UNSYNCED_BYTES_MAX = 64 * 1024 * 1024
/** Puts wait for the table until there are so many: fetching all their places from memory at once takes half the time. */
const PENDING_MAX = 64
/** Four words of the key and the two of its value. */
const PENDING_WORDS = 6
/** Lengths in the table are counted in these; the greatest record has 2¹⁶ of them. */
const LENGTH_UNIT_BYTES = 64
const DELETED_RECORD_BYTES = AT.body + KEY_BYTES
/** Bytes of a value, at most. */
const VALUE_BYTES_MAX = BODY_BYTES_MAX - KEY_BYTES

const NO_DIGEST = new Uint8Array(DIGEST_BYTES)
const NO_BYTES = new Uint8Array(0)

export interface StoreOptions {
  readonly disk: Disk
  readonly directory: string
  readonly clock: Pick<Clock, 'wallMs'>
  readonly random: Random
  /** VAL bytes of a segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax?: number
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Store {
  /** What opening found wrong at the end of the log and cut. */
  readonly verdicts: readonly Verdict[]
  private readonly table = new OrderedTable({ valueWords: 2 })
  private readonly writer: LogWriter
  private readonly clock: Pick<Clock, 'wallMs'>
  private readonly random: Random
  private readonly pending = new Uint32Array(PENDING_MAX * PENDING_WORDS)
  private pendingEnd = 0
  private lastTimeMs: number
  private waiters: Waiter[] = []

  /**
   * Opens a store, or makes it. One process at a time; the caller sees to that.
   *
   * Errors: LOG_CORRUPT, LOG_NEWER, DISK_FULL, DISK_DENIED, DISK_FAILED.
   * Cost: reads all KEY files: 24 bytes a put or delete; memory: about 30 bytes a key.
   */
  constructor(options: StoreOptions) {
    const { disk, directory, random } = options
    const opened = openLog(disk, directory, {
      role: ROLE.store,
      kindMax: KEYED_KIND_MAX,
      itemsOf: itemsOfKeyed,
      mode: 'write',
    })
    for (const segment of opened.segments) this.replay(opened, segment.number, segment.valBytes)
    this.verdicts = opened.verdicts
    this.clock = options.clock
    this.random = random
    this.lastTimeMs = opened.lastTimeMs
    const identity = { crawlId: randomBytes(random), shard: 0, generation: 0 }
    const limit = options.segmentBytesMax === undefined ? {} : { segmentBytesMax: options.segmentBytesMax }
    this.writer = opened.startWriter({ random, identity, timeMs: this.nowMs(), ...limit })
  }

  /** Keys in the store. */
  get size(): number {
    return this.settled().count
  }

  /** Bytes of the table outside the JS heap. */
  get tableBytes(): number {
    return this.table.bytes
  }

  /** Puts a value under md5 of `name`, in place of an older one. At most VALUE_BYTES_MAX bytes; a string is latin1. */
  put(name: string, value: Uint8Array | string): void {
    const words = keyWordsOf(name)
    this.putWords(words[0], words[1], words[2], words[3], value)
  }

  putKey(key: Key, value: Uint8Array | string): void {
    this.putWords(word(key, 0), word(key, 1), word(key, 2), word(key, 3), value)
  }

  /** The same for a key given as its four words. */
  putWords(k0: number, k1: number, k2: number, k3: number, value: Uint8Array | string): void {
    assert(value.length <= VALUE_BYTES_MAX, 'a value of more than 4 MiB')
    const { writer } = this
    const bytes = writer.begin(KIND.value, 0, this.nowMs())
    bytes.words4(k0, k1, k2, k3)
    if (typeof value === 'string') bytes.rawLatin1(value)
    else bytes.rawBytes(value)
    writer.item(k0, k1, k2, k3, KIND.value, 0)
    const { segment, position } = writer.end()
    this.enterLater(k0, k1, k2, k3, position, segmentAndUnits(segment, writer.position - position))
    this.advance()
  }

  get(name: string): Buffer | undefined {
    const words = keyWordsOf(name)
    return this.getWords(words[0], words[1], words[2], words[3])
  }

  /** The value, in memory of the caller's own. Cost: one read; none where it was put lately. Errors: LOG_CORRUPT. */
  getKey(key: Key): Buffer | undefined {
    return this.getWords(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
  }

  getWords(k0: number, k1: number, k2: number, k3: number): Buffer | undefined {
    const table = this.settled()
    const handle = table.find(k0, k1, k2, k3)
    if (handle < 0) return undefined
    const where = table.word(handle, 1)
    const segment = where & 0xffff
    const position = table.word(handle, 0)
    const { body } = this.writer.read(segment, position, ((where >>> 16) + 1) * LENGTH_UNIT_BYTES)
    if (!hasKey(body, k0 >>> 0, k1 >>> 0, k2 >>> 0, k3 >>> 0)) throw wrongKey(segment, position)
    return Buffer.from(keyedValue(body))
  }

  has(name: string): boolean {
    const words = keyWordsOf(name)
    return this.hasWords(words[0], words[1], words[2], words[3])
  }

  hasKey(key: Key): boolean {
    return this.settled().findKey(key) >= 0
  }

  /** The same for a key given as its four words: nothing is allocated. */
  hasWords(k0: number, k1: number, k2: number, k3: number): boolean {
    return this.settled().find(k0, k1, k2, k3) >= 0
  }

  delete(name: string): boolean {
    const words = keyWordsOf(name)
    return this.deleteWords(words[0], words[1], words[2], words[3])
  }

  /** Whether there was something to delete. Touches no value on disk. */
  deleteKey(key: Key): boolean {
    return this.deleteWords(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
  }

  deleteWords(k0: number, k1: number, k2: number, k3: number): boolean {
    const table = this.settled()
    const handle = table.find(k0, k1, k2, k3)
    if (handle < 0) return false
    const { writer } = this
    writer.begin(KIND.deleted, 0, this.nowMs()).words4(k0, k1, k2, k3)
    writer.item(k0, k1, k2, k3, KIND.deleted, 0)
    writer.end()
    table.remove(handle)
    this.advance()
    return true
  }

  /** A key chosen near-uniformly, without touching the disk; undefined from an empty store. */
  randomKey(): Key | undefined {
    const table = this.settled()
    const handle = table.random(this.random.uint32())
    if (handle < 0) return undefined
    return keyFromWords(
      table.keyWord(handle, 0),
      table.keyWord(handle, 1),
      table.keyWord(handle, 2),
      table.keyWord(handle, 3),
    )
  }

  /** Gives the batch to the operating system: it survives this process then. */
  flush(): void {
    this.writer.write()
  }

  /** Resolves when all that was put and deleted so far is durable. Rejects with DISK_FAILED or DISK_FULL. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject })
      if (!this.writer.syncRunning) this.startSync()
    })
  }

  /** Writes and syncs all there is, marks it, and closes the files. */
  close(): void {
    if (this.writer.failure === undefined && !this.writer.syncRunning) {
      this.writer.write()
      this.markSynced(this.writer.syncNow())
    }
    this.writer.close()
  }

  private nowMs(): number {
    this.lastTimeMs = Math.max(this.lastTimeMs, this.clock.wallMs())
    return this.lastTimeMs
  }

  private advance(): void {
    if (this.writer.batchBytes < WRITE_BYTES) return
    this.writer.write()
    if (this.writer.unsyncedBytes >= UNSYNCED_BYTES_MAX) this.writer.syncNow()
    else if (!this.writer.syncRunning && (this.writer.unsyncedBytes >= SYNC_BYTES || this.writer.wantsSync))
      this.startSync()
  }

  private startSync(): void {
    const { waiters } = this
    this.waiters = []
    try {
      this.writer.write()
      this.writer.sync((error) => this.syncReturned(error, waiters))
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error as Error)
    }
  }

  private syncReturned(error: Error | undefined, waiters: readonly Waiter[]): void {
    if (error === undefined) this.markSynced(this.writer.synced)
    for (const waiter of waiters) {
      if (error === undefined) waiter.resolve()
      else waiter.reject(error)
    }
    if (this.waiters.length > 0) this.startSync()
  }

  private markSynced(synced: Position): void {
    this.writer.mark(this.nowMs(), synced, NOWHERE, NO_DIGEST, NO_BYTES)
  }

  /** The table with all that was put: every look at it goes through here. */
  private settled(): OrderedTable {
    if (this.pendingEnd > 0) this.enterPending()
    return this.table
  }

  private enterLater(k0: number, k1: number, k2: number, k3: number, position: number, where: number): void {
    const { pending, pendingEnd: at } = this
    pending[at] = k0
    pending[at + 1] = k1
    pending[at + 2] = k2
    pending[at + 3] = k3
    pending[at + 4] = position
    pending[at + 5] = where
    this.pendingEnd = at + PENDING_WORDS
    if (this.pendingEnd === pending.length) this.enterPending()
  }

  private enterPending(): void {
    const { pending, pendingEnd, table } = this
    for (let at = 0; at < pendingEnd; at += PENDING_WORDS) table.touch(pending[at])
    for (let at = 0; at < pendingEnd; at += PENDING_WORDS) {
      this.enter(pending[at], pending[at + 1], pending[at + 2], pending[at + 3], pending[at + 4], pending[at + 5])
    }
    this.pendingEnd = 0
  }

  private enter(k0: number, k1: number, k2: number, k3: number, position: number, where: number): void {
    const { table } = this
    const handle = table.insert(k0, k1, k2, k3)
    table.setWord(handle, 0, position)
    table.setWord(handle, 1, where)
  }

  /** Applies the KEY of a segment. A value's length is what lies between it and the next, less the deletions there. */
  private replay(opened: OpenedLog, segment: number, valBytes: number): void {
    const words = opened.key(segment)
    let next = 0
    for (let at = 0; at < words.length; at += ITEM_WORDS) {
      if (isDeletion(words, at)) {
        const handle = this.settled().find(words[at], words[at + 1], words[at + 2], words[at + 3])
        if (handle >= 0) this.table.remove(handle)
        continue
      }
      for (next = Math.max(next, at + ITEM_WORDS); next < words.length && isDeletion(words, next); ) next += ITEM_WORDS
      const position = words[at + 4]
      const deletions = (next - at) / ITEM_WORDS - 1
      const end = (next < words.length ? words[next + 4] : valBytes) - deletions * DELETED_RECORD_BYTES
      const bytes = Math.min(Math.max(end - position, LENGTH_UNIT_BYTES), BODY_BYTES_MAX)
      const where = segmentAndUnits(segment, bytes)
      this.enterLater(words[at], words[at + 1], words[at + 2], words[at + 3], position, where)
    }
  }
}

/** Word 1 of an entry: the segment, and the record's length in units less one, in the upper half. */
function segmentAndUnits(segment: number, bytes: number): number {
  return segment | ((Math.ceil(bytes / LENGTH_UNIT_BYTES) - 1) << 16)
}

function randomBytes(random: Random): Uint8Array {
  const words = new Uint32Array(CRAWL_ID_BYTES / 4).map(() => random.uint32())
  return new Uint8Array(words.buffer)
}

function wrongKey(segment: number, offset: number): CrawlError {
  assert(segment > 0)
  return new CrawlError('LOG_CORRUPT', `Segment ${segment}: another key's value at offset ${offset}.`, {
    segment,
    offset,
  })
}
