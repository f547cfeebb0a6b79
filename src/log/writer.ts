/**
 * Appends records to a log, in batches; one writer per directory.
 *
 * A record is assembled in the batch (`begin`, body, `item`s, `end`), a batch goes to the operating system (`write`),
 * and a sync runs beside (`sync`).
 *
 * Invariants: a record never crosses segments; a segment's VAL is synced before its successor exists, and a segment's
 * name before it holds a second record; after a failed write or sync the writer refuses everything but
 * `closeAfterFailure`, and the files end with the last batch that was written whole.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import type { ByteWriter } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { File } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { recordChecksum } from './checksum.ts'
import type { LogFiles, Segment } from './files.ts'
import {
  AT,
  comparePositions,
  DIGEST_BYTES,
  FORMAT_VERSION,
  ITEM_BYTES,
  KIND,
  keyName,
  LENGTH_FIELD_BYTES,
  MARK_AT,
  NOWHERE,
  type Position,
  RECORD_BYTES_MAX,
  ROLE,
  SEGMENT_NUMBER_MAX,
  SEGMENT_RECORD_BYTES,
  TIME_MS_MAX,
  valName,
} from './format.ts'
import { ItemBuffer } from './items.ts'
import { readHeader } from './list.ts'
import { encodeMark, itemsOfMark, type Mark } from './mark.ts'
import { readPart, readRecord } from './reader.ts'
import { type ItemsOf, soundKey } from './rebuild.ts'
import { RecentBytes } from './recent.ts'
import type { RecordView } from './record.ts'
import { adoptRewritten } from './rewrite.ts'
import { encodeSegment, type SegmentHeader } from './segment.ts'

const U32 = 2 ** 32

/** Bytes at the end of every segment that only `closeAfterFailure` may use, since it cannot roll. */
export const CLOSE_RESERVE_BYTES = 1024
/** A segment this full wants a sync … */
const SOFT_LIMIT = 7 / 8
/** … once this much is unsynced, so that the sync before its successor finds little left to do. */
const SOFT_SYNC_BYTES = 1024 * 1024
const RESERVE_NAME = 'reserve'

export interface RecordAddress extends Position {
  readonly sequence: number
}

/** Where a writer starts: an opened log whose last segment is whole and synced. */
export interface WriterStart {
  readonly files: LogFiles
  readonly val: File
  readonly key: File
  /** Whole bytes in KEY of the last segment, and their CRC-32. */
  readonly keyBytes: number
  readonly keyChecksum: number
  /** Of the next record. */
  readonly sequence: number
}

export interface WriterSettings {
  readonly kindMax: number
  readonly itemsOf: ItemsOf
  /** VAL bytes of a segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax: number
  /** Bytes of a file kept to be given back when the disk is full; 0 = none. */
  readonly reserveBytes: number
  readonly random: Random
}

export class LogWriter {
  /** KEY items of the batch; those of the record just ended are words [itemsStart, itemsEnd). */
  readonly items: ItemBuffer
  itemsStart = 0
  /** Sequence number of the next record. */
  sequence: number
  /** The first error of a write or sync; set once. */
  failure: Error | undefined

  private readonly files: LogFiles
  private readonly settings: WriterSettings
  private readonly recent = new RecentBytes()
  private readonly bytes: ByteWriter
  private active: Segment
  private val: File
  private key: File
  private keyBytes: number
  private keyChecksum: number
  /** Of the next record once the batch is dropped. */
  private writtenSequence: number
  private recordStart = -1
  private recordTimeMs = 0
  private syncedTo: Position
  private syncStartedTo: Position
  private markEnd: Position = NOWHERE
  private writtenMarkEnd: Position = NOWHERE
  private isSyncing = false
  private isClosing = false
  private isClosed = false
  /** A sealed VAL whose sync has not returned yet. */
  private retiring: File | undefined

  constructor(start: WriterStart, settings: WriterSettings) {
    const active = start.files.last
    assert(active, 'a writer needs a segment')
    this.files = start.files
    this.settings = settings
    this.active = active
    this.items = new ItemBuffer(start.files.role)
    this.val = start.val
    this.key = start.key
    this.keyBytes = start.keyBytes
    this.keyChecksum = start.keyChecksum
    this.sequence = start.sequence
    this.writtenSequence = start.sequence
    this.bytes = this.recent.bytes
    this.recent.moveTo(active.number, active.valBytes)
    this.syncedTo = { segment: active.number, position: active.valBytes }
    this.syncStartedTo = this.syncedTo
    this.fillReserve()
  }

  /** Number of the segment that gets the next record, as far as is known before the record's length is. */
  get segment(): number {
    return this.active.number
  }

  /** Position in VAL of the next record, or within the record being assembled, of the next byte. */
  get position(): number {
    return this.recent.position
  }

  /** Bytes of VAL assembled and not yet written. */
  get batchBytes(): number {
    return this.recent.batchBytes
  }

  /** Up to where the operating system has the log. */
  get written(): Position {
    return { segment: this.active.number, position: this.active.valBytes }
  }

  /** Up to where the log is durable. */
  get synced(): Position {
    return this.syncedTo
  }

  /** Bytes of VAL that loss of power would take. */
  get unsyncedBytes(): number {
    const { segment, position } = this.syncedTo
    return this.recent.position - (segment === this.active.number ? position : 0)
  }

  /** Whether a sync should start now because the segment is nearly full: it makes the pause of rolling short. */
  get wantsSync(): boolean {
    if (this.isSyncing || this.recent.position < this.settings.segmentBytesMax * SOFT_LIMIT) return false
    const { segment, position } = this.syncStartedTo
    return this.recent.position - (segment === this.active.number ? position : 0) >= SOFT_SYNC_BYTES
  }

  get header(): SegmentHeader {
    return this.active.header
  }

  /**
   * Begins a record. The body is written with the ByteWriter returned, into the batch itself, until `end`.
   *
   * @param flags   16 bits of the owner's
   * @param timeMs  milliseconds since 1970, integer
   */
  begin(kind: number, flags: number, timeMs: number): ByteWriter {
    assert(this.recordStart < 0, 'a record is open')
    if (this.failure !== undefined || this.isClosed) throw this.refusal()
    assert(timeMs >= 0 && timeMs <= TIME_MS_MAX, 'time out of range')
    const { bytes } = this
    const start = bytes.at
    this.recordStart = start
    this.recordTimeMs = timeMs
    this.itemsStart = this.items.end
    bytes.reserve(AT.body)
    bytes.setU32(start + AT.version, FORMAT_VERSION | (kind << 8) | (flags << 16))
    bytes.setU32(start + AT.timeMs, timeMs % U32)
    bytes.setU32(start + AT.timeMs + 4, Math.floor(timeMs / U32))
    bytes.at = start + AT.body
    return bytes
  }

  /** Adds a KEY item to the record being assembled. In stores and pages, kind `deleted` makes an offset of all ones. */
  item(k0: number, k1: number, k2: number, k3: number, kind: number, arg: number): void {
    this.items.push(k0, k1, k2, k3, kind, arg, this.recent.base + this.recordStart)
  }

  /** The words of the items of the record just ended: a view, valid until the next `begin` or `write`. */
  lastItems(): Uint32Array {
    return this.items.words.subarray(this.itemsStart, this.items.end)
  }

  /** Drops the record being assembled, with its items. */
  abandon(): void {
    assert(this.recordStart >= 0, 'no record is open')
    this.bytes.at = this.recordStart
    this.items.end = this.itemsStart
    this.recordStart = -1
  }

  /**
   * Ends the record: length and checksum are filled in, and the record gets its number.
   *
   * Where it would pass the end of the segment, the log rolls first: everything before is written and synced, and a
   * new segment is made. So it can fail like `write`. Bodies above BODY_BYTES_MAX are a programmer's error.
   */
  end(): RecordAddress {
    assert(this.recordStart >= 0, 'no record is open')
    const whole = this.bytes.at - this.recordStart
    assert(whole <= RECORD_BYTES_MAX, 'a record of more than 4 MiB')
    if (!this.hasRoom(0)) this.roll(whole)
    const { bytes, recordStart: start } = this
    bytes.setU32(start, whole - LENGTH_FIELD_BYTES)
    const checksum = recordChecksum(bytes.buffer, bytes.view, start, start + whole, this.active.header.salt)
    bytes.setU32(start + AT.checksum, checksum)
    this.recordStart = -1
    return { segment: this.active.number, position: this.recent.base + start, sequence: this.sequence++ }
  }

  /**
   * Appends the mark of a sync that has returned.
   *
   * @param synced       position `sync` gave; it must lie behind the mark before
   * @param pagesSynced  the same of the pages log; NOWHERE without one
   * @param digest       16 bytes
   */
  mark(
    timeMs: number,
    synced: Position,
    pagesSynced: Position,
    digest: Uint8Array,
    ownerBytes: Uint8Array,
  ): RecordAddress {
    assert(this.files.role !== ROLE.pages, 'a log of pages has no marks')
    assert(digest.length === DIGEST_BYTES)
    assert(comparePositions(synced, this.syncedTo) <= 0, 'a mark of what is not synced')
    assert(comparePositions(synced, this.markEnd) >= 0, 'the sync began before the last mark was written')
    // Roll first where it would not fit: the salt and the sequence number in it are those of where it will lie.
    if (!this.hasRoom(MARK_AT.owner + ownerBytes.length)) this.rollNow(timeMs)
    const mark: Mark = { synced, pagesSynced, digest, sequence: this.sequence, ownerBytes }
    const { salt } = this.active.header
    encodeMark(this.begin(KIND.mark, 0, timeMs), mark, salt)
    if (this.files.role === ROLE.events) {
      itemsOfMark(mark, timeMs, salt, (k0, k1, k2, k3, kind, arg) => this.item(k0, k1, k2, k3, kind, arg))
    }
    const address = this.end()
    this.markEnd = { segment: address.segment, position: this.recent.position }
    return address
  }

  /** Whether `moreBytes` fit behind what is assembled. */
  private hasRoom(moreBytes: number): boolean {
    const reserved = this.isClosing ? 0 : CLOSE_RESERVE_BYTES
    return this.recent.position + moreBytes <= this.settings.segmentBytesMax - reserved
  }

  /**
   * Gives the batch to the operating system: from then on it survives this process.
   *
   * @returns the position after the last record. Errors: DISK_FULL, DISK_FAILED; the batch is gone then, both files
   * are cut back to the end of the one before, and the writer refuses everything else.
   */
  write(): Position {
    assert(this.recordStart < 0, 'a record is open')
    if (this.failure !== undefined || this.isClosed) throw this.refusal()
    const { recent, items } = this
    if (recent.batchBytes > 0) {
      try {
        this.val.write(recent.batch(), this.active.valBytes)
        const keyBatch = items.bytes()
        this.key.write(keyBatch, this.keyBytes)
        this.keyChecksum = crc32(keyBatch, this.keyChecksum)
        this.keyBytes += keyBatch.length
      } catch (error) {
        throw this.fail(error)
      }
      this.active.valBytes = recent.position
      recent.batchWritten()
      items.end = 0
      this.itemsStart = 0
      this.writtenSequence = this.sequence
      this.writtenMarkEnd = this.markEnd
    }
    return this.written
  }

  /**
   * Starts a sync of what is written; one at a time. Calls back once, with the position up to which all is durable.
   *
   * After an error the writer refuses everything: a failed sync is never tried again.
   */
  sync(done: (error: Error | undefined, synced: Position) => void): void {
    assert(!this.isSyncing, 'a sync is running')
    if (this.failure !== undefined || this.isClosed) throw this.refusal()
    const target = this.written
    const file = this.val
    this.isSyncing = true
    this.syncStartedTo = target
    file.sync((error) => {
      this.isSyncing = false
      if (this.retiring !== undefined) {
        this.retiring.close()
        this.retiring = undefined
      }
      if (this.isClosed) return
      if (error === undefined) this.advanceSynced(target)
      else this.failure ??= error
      done(error, this.syncedTo)
    })
  }

  get syncRunning(): boolean {
    return this.isSyncing
  }

  /** Syncs what is written before it returns. */
  syncNow(): Position {
    if (this.failure !== undefined || this.isClosed) throw this.refusal()
    const target = this.written
    try {
      this.val.syncNow()
    } catch (error) {
      this.failure ??= error as Error
      throw error
    }
    this.advanceSynced(target)
    return this.syncedTo
  }

  private advanceSynced(to: Position): void {
    if (comparePositions(to, this.syncedTo) > 0) this.syncedTo = to
  }

  /**
   * Reads a record: from the batch, from the last bytes written (8 MiB) or from its file.
   *
   * From memory it is a view, valid until the next append; from a file it is checked and the caller's own.
   * Errors: LOG_CORRUPT, LOG_NEWER, DISK_FAILED. Cost: 0–2 reads; see `readRecord`.
   */
  read(segment: number, position: number, lengthHint = 0): RecordView {
    const found = this.recent.find(segment, position, this.assembledEnd())
    if (found !== undefined) return found
    return readRecord(this.files.val(segment), position, this.contextOf(segment), lengthHint)
  }

  /** Reads a part of a record, unchecked, into `target`. Cost: 0–1 reads. */
  readPart(segment: number, position: number, target: Uint8Array): void {
    if (this.recent.copyPart(segment, position, target, this.assembledEnd())) return
    readPart(this.files.val(segment), position, target, segment)
  }

  /**
   * Reads `count` KEY items of a segment from item `ordinal` on: six words each; fewer at the end.
   *
   * Cost: one read of 24 bytes each, or none where they are still in the batch. Unchecked.
   */
  readItems(segment: number, ordinal: number, count: number): Uint32Array {
    const writtenItems = segment === this.active.number ? this.keyBytes / ITEM_BYTES : Number.POSITIVE_INFINITY
    const bytes = new Uint8Array(count * ITEM_BYTES)
    let have = 0
    if (ordinal < writtenItems) {
      const wanted = Math.min(count, writtenItems - ordinal) * ITEM_BYTES
      have = this.files.key(segment).read(bytes.subarray(0, wanted), ordinal * ITEM_BYTES)
    }
    if (segment === this.active.number && have < bytes.length) {
      const from = Math.max(0, ordinal - writtenItems) * ITEM_BYTES
      const batch = this.items.bytes().subarray(from, from + bytes.length - have)
      bytes.set(batch, have)
      have += batch.length
    }
    return new Uint32Array(bytes.buffer, 0, Math.floor(have / ITEM_BYTES) * (ITEM_BYTES / 4))
  }

  /** KEY items of the active segment so far, written or not. */
  get itemCount(): number {
    return (this.keyBytes + this.items.end * 4) / ITEM_BYTES
  }

  private assembledEnd(): number {
    return this.recordStart < 0 ? this.bytes.at : this.recordStart
  }

  private contextOf(segment: number) {
    return { segment, salt: this.files.segment(segment).header.salt, kindMax: this.settings.kindMax }
  }

  /** Makes the KEY of a sealed segment anew, where it was found wrong. Cost: a scan of the segment. */
  repairKey(segment: number): void {
    assert(segment !== this.active.number)
    soundKey(this.files, segment, this.settings.kindMax, this.settings.itemsOf, true)
  }

  /** Bytes of a segment's VAL, the batch included. */
  valBytes(segment: number): number {
    return segment === this.active.number ? this.recent.position : this.files.segment(segment).valBytes
  }

  has(segment: number): boolean {
    return this.files.find(segment) !== undefined
  }

  /** Puts what `rewriteSegment` wrote aside in the place of a sealed segment: two renames, then durable. */
  adopt(segment: number): void {
    assert(segment !== this.active.number)
    const { disk, directory } = this.files
    adoptRewritten(disk, directory, segment)
    this.files.forget(segment)
    const { header, valBytes } = readHeader(disk, this.files.path(valName(segment)), segment)
    assert(header)
    const known = this.files.segment(segment)
    known.header = header
    known.valBytes = valBytes
    known.key = { bytes: header.ownKeyBytes, checksum: header.ownKeyChecksum }
  }

  /** Puts the open record into a new segment: copies it and its items aside, rolls, and puts them back. */
  private roll(whole: number): void {
    const room = this.settings.segmentBytesMax - CLOSE_RESERVE_BYTES
    assert(!this.isClosing && SEGMENT_RECORD_BYTES + whole <= room, 'a record larger than a segment')
    const record = Buffer.from(this.bytes.buffer.subarray(this.recordStart, this.bytes.at))
    const items = this.items.words.slice(this.itemsStart, this.items.end)
    this.abandon()
    this.rollNow(this.recordTimeMs)
    this.recordStart = this.bytes.at
    this.bytes.rawBytes(record)
    this.itemsStart = this.items.end
    this.items.append(items, this.recent.base + this.recordStart)
  }

  private rollNow(timeMs: number): void {
    this.write()
    this.syncNow()
    let next: { segment: Segment; val: File; key: File }
    try {
      next = createSegment(this.files, this.nextHeader(timeMs))
    } catch (error) {
      this.failure ??= error as Error
      throw error
    }
    this.seal()
    this.files.segments.push(next.segment)
    this.active = next.segment
    this.val = next.val
    this.key = next.key
    this.keyBytes = 0
    this.keyChecksum = 0
    this.sequence++
    this.writtenSequence = this.sequence
    this.recent.moveTo(next.segment.number, next.segment.valBytes)
  }

  private nextHeader(timeMs: number): SegmentHeader {
    const { header, valBytes, number } = this.active
    if (number === SEGMENT_NUMBER_MAX) {
      throw new CrawlError('LOG_FULL', `The log has ${SEGMENT_NUMBER_MAX} segments, as many as there can be.`, {
        path: this.files.directory,
      })
    }
    return {
      ...header,
      timeMs,
      number: number + 1,
      firstSequence: this.sequence,
      salt: this.settings.random.uint32(),
      beforeValBytes: valBytes,
      beforeKeyBytes: this.keyBytes,
      beforeKeyChecksum: this.keyChecksum,
      ownValBytes: 0,
      ownKeyBytes: 0,
      ownKeyChecksum: 0,
      ownSequenceAfter: 0,
    }
  }

  /** The active segment becomes a sealed one. Its KEY is synced beside, to save rebuilding it after a loss of power. */
  private seal(): void {
    const { val, key } = this
    this.active.key = { bytes: this.keyBytes, checksum: this.keyChecksum }
    if (this.isSyncing && this.retiring === undefined) this.retiring = val
    else val.close()
    key.sync((error) => {
      key.close()
      if (error !== undefined && !this.isClosed) this.failure ??= error
    })
  }

  /** Remembers a failed write, and cuts both files back to the last batch that was written whole. */
  private fail(error: unknown): Error {
    this.failure = error instanceof Error ? error : new Error(String(error))
    this.dropBatch()
    try {
      this.val.truncate(this.active.valBytes)
      this.key.truncate(this.keyBytes)
    } catch {
      // The tail stays and is cut when the log is next opened: it was never synced, so it was never promised.
    }
    return this.failure
  }

  private dropBatch(): void {
    this.recent.dropBatch()
    this.items.end = 0
    this.itemsStart = 0
    this.recordStart = -1
    this.sequence = this.writtenSequence
    this.markEnd = this.writtenMarkEnd
  }

  private refusal(): Error {
    return this.failure ?? new Error('the log is closed')
  }

  /**
   * After DISK_FULL or a failure elsewhere: forgets the batch, gives back the reserve, appends one small record (a
   * `close`), syncs and closes. `append` gets this writer, and at most CLOSE_RESERVE_BYTES.
   *
   * @returns whether the record is durable; where it is not, the log ends without it. Never throws for the disk.
   */
  closeAfterFailure(append: (writer: LogWriter) => void): boolean {
    assert(!this.isClosed)
    this.dropBatch()
    this.failure = undefined
    this.isClosing = true
    try {
      this.removeSuccessor()
      this.val.truncate(this.active.valBytes)
      this.key.truncate(this.keyBytes)
      this.val.syncNow() // else the cut could be undone by a loss of power, and its bytes follow the record
      append(this)
      this.write()
      this.syncNow()
      return true
    } catch (error) {
      if (!(error instanceof CrawlError)) throw error
      return false
    } finally {
      this.closeFiles()
    }
  }

  /** A successor whose making failed must not come back: it would say that this segment had ended. */
  private removeSuccessor(): void {
    const { disk, directory } = this.files
    const number = this.active.number + 1
    for (const name of [RESERVE_NAME, valName(number), keyName(number)]) disk.remove(this.files.path(name))
    disk.syncDirectory(directory)
  }

  /** Writes and syncs all there is, and closes the files. */
  close(): void {
    if (this.isClosed) return
    try {
      if (this.failure === undefined) {
        this.write()
        this.syncNow()
      }
    } finally {
      this.closeFiles()
    }
  }

  private closeFiles(): void {
    this.isClosed = true
    this.key.close()
    if (this.isSyncing && this.retiring === undefined) this.retiring = this.val
    else this.val.close()
    this.files.close()
  }

  /** Keeps a little of the disk aside, so that a full one still has room for the last record. */
  private fillReserve(): void {
    const { disk } = this.files
    if (this.settings.reserveBytes === 0) return
    const file = disk.open(this.files.path(RESERVE_NAME), 'create')
    try {
      if (file.sizeBytes() < this.settings.reserveBytes) file.write(new Uint8Array(this.settings.reserveBytes), 0)
    } catch (error) {
      if (!(error instanceof CrawlError)) throw error
    } finally {
      file.close()
    }
  }
}

/**
 * Makes the files of a segment, with its `segment` record, and their names durable.
 *
 * On failure the log ends with the segment before: what is left of the new one is cut at the next opening.
 */
export function createSegment(files: LogFiles, header: SegmentHeader): { segment: Segment; val: File; key: File } {
  const { disk } = files
  const key = disk.open(files.path(keyName(header.number)), 'create')
  let val: File | undefined
  try {
    key.truncate(0)
    val = disk.open(files.path(valName(header.number)), 'create')
    val.truncate(0)
    val.write(encodeSegment(header), 0)
    disk.syncDirectory(files.directory)
  } catch (error) {
    key.close()
    val?.close()
    throw error
  }
  return { segment: { number: header.number, header, valBytes: SEGMENT_RECORD_BYTES, key: undefined }, val, key }
}
