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
import type { ByteWriter } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Random } from '../env/random.ts'
import { type ActiveSegment, createSegment } from './active.ts'
import { recordChecksum } from './checksum.ts'
import type { LogFiles } from './files.ts'
import {
  AT,
  comparePositions,
  DIGEST_BYTES,
  FORMAT_VERSION,
  KIND,
  keyName,
  LENGTH_FIELD_BYTES,
  MARK_AT,
  NOWHERE,
  type Position,
  RECORD_BYTES_MAX,
  ROLE,
  SEGMENT_RECORD_BYTES,
  TIME_MS_MAX,
  valName,
} from './format.ts'
import { encodeMark, itemsOfMark, type Mark } from './mark.ts'
import { fillReserve, releaseReserve } from './reserve.ts'
import { type ReadSettings, WrittenLog } from './written.ts'

const U32 = 2 ** 32

/** Bytes at the end of every segment that only `closeAfterFailure` may use, since it cannot roll. */
export const CLOSE_RESERVE_BYTES = 1024
/** A segment this full wants a sync … */
const SOFT_LIMIT = 7 / 8
/** … once this much is unsynced, so that the sync before its successor finds little left to do. */
const SOFT_SYNC_BYTES = 1024 * 1024

export interface RecordAddress extends Position {
  readonly sequence: number
}

export interface WriterSettings extends ReadSettings {
  /** VAL bytes of a segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax: number
  /** Bytes of a file kept to be given back when the disk is full; 0 = none. */
  readonly reserveBytes: number
  readonly random: Random
}

export class LogWriter extends WrittenLog {
  /** Items of the record just ended: words from here to `items.end`. */
  itemsStart = 0
  /** Sequence number of the next record. */
  sequence: number
  /** The first error of a write or sync; set once. */
  failure: Error | undefined

  private readonly settings: WriterSettings
  private readonly bytes: ByteWriter
  /** Of the next record once the batch is dropped. */
  private writtenSequence: number
  private recordTimeMs = 0
  private syncedTo: Position
  private syncStartedTo: Position
  private markEnd: Position = NOWHERE
  private writtenMarkEnd: Position = NOWHERE
  private isSyncing = false
  private hasSyncFailed = false
  private isClosing = false
  private isClosed = false

  /**
   * @param active    the last segment, whole and synced
   * @param sequence  number of the next record
   */
  constructor(files: LogFiles, active: ActiveSegment, sequence: number, settings: WriterSettings) {
    super(files, active, settings)
    this.settings = settings
    this.sequence = sequence
    this.writtenSequence = sequence
    this.bytes = this.recent.bytes
    this.recent.moveTo(active.segment.number, active.segment.valBytes)
    this.syncedTo = active.written
    this.syncStartedTo = this.syncedTo
    if (settings.reserveBytes > 0) fillReserve(files, settings.reserveBytes)
  }

  /** Number of the segment that gets the next record, as far as is known before the record's length is. */
  get segment(): number {
    return this.active.segment.number
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
    return this.active.written
  }

  /** Up to where the log is durable. */
  get synced(): Position {
    return this.syncedTo
  }

  /** Bytes of VAL that loss of power would take. */
  get unsyncedBytes(): number {
    const { segment, position } = this.syncedTo
    return this.recent.position - (segment === this.segment ? position : 0)
  }

  /** Whether a sync should start now because the segment is nearly full: it makes the pause of rolling short. */
  get wantsSync(): boolean {
    if (this.isSyncing || this.recent.position < this.settings.segmentBytesMax * SOFT_LIMIT) return false
    const { segment, position } = this.syncStartedTo
    return this.recent.position - (segment === this.segment ? position : 0) >= SOFT_SYNC_BYTES
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
    const checksum = recordChecksum(bytes.buffer, bytes.view, start, start + whole, this.header.salt)
    bytes.setU32(start + AT.checksum, checksum)
    this.recordStart = -1
    return { segment: this.segment, position: this.recent.base + start, sequence: this.sequence++ }
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
    const { salt } = this.header
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
        this.active.write(recent.batch(), items.bytes())
      } catch (error) {
        throw this.fail(error)
      }
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
    this.isSyncing = true
    this.syncStartedTo = target
    this.active.sync((error) => {
      this.isSyncing = false
      if (this.isClosed) return
      if (error === undefined) this.advanceSynced(target)
      else this.failSync(error)
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
      this.active.syncNow()
    } catch (error) {
      this.failSync(error as Error)
      throw error
    }
    this.advanceSynced(target)
    return this.syncedTo
  }

  private failSync(error: Error): void {
    this.failure ??= error
    this.hasSyncFailed = true
  }

  private advanceSynced(to: Position): void {
    if (comparePositions(to, this.syncedTo) > 0) this.syncedTo = to
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

  /** Ends the segment: all so far is written and synced, the next record is in another one. */
  seal(timeMs: number): void {
    assert(this.recordStart < 0, 'a record is open')
    if (this.failure !== undefined || this.isClosed) throw this.refusal()
    this.rollNow(timeMs)
  }

  /**
   * Goes on in another directory, to which the segments behind `until` have been linked; those up to it are read from where
   * they were. Nothing is written by it but the reserve.
   */
  moveTo(directory: string, until: number): void {
    assert(until < this.segment, 'the segment being written stays')
    releaseReserve(this.files)
    this.files.moveTo(directory, until)
    if (this.settings.reserveBytes > 0) fillReserve(this.files, this.settings.reserveBytes)
  }

  private rollNow(timeMs: number): void {
    this.write()
    this.syncNow()
    const left = this.active
    try {
      const header = left.successorHeader(this.sequence, timeMs, this.settings.random.uint32())
      this.active = createSegment(this.files, header)
    } catch (error) {
      this.failure ??= error as Error
      throw error
    }
    left.seal((error) => {
      if (error !== undefined && !this.isClosed) this.failSync(error)
    })
    this.sequence++
    this.writtenSequence = this.sequence
    this.recent.moveTo(this.segment, this.active.segment.valBytes)
  }

  /** Remembers a failed write, and cuts both files back to the last batch that was written whole. */
  private fail(error: unknown): Error {
    this.failure = error instanceof Error ? error : new Error(String(error))
    this.dropBatch()
    try {
      this.active.cutBack()
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
    this.isClosing = true
    try {
      // After a failed sync the operating system may have forgotten the bytes, and a second one would not tell.
      if (this.hasSyncFailed) return false
      this.failure = undefined
      this.removeSuccessor()
      this.active.cutBack()
      this.active.syncNow() // else the cut could be undone by a loss of power, and its bytes follow the record
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
    releaseReserve(this.files)
    for (const name of [valName(this.segment + 1), keyName(this.segment + 1)]) disk.remove(this.files.path(name))
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
    this.active.close()
    this.files.close()
  }
}
