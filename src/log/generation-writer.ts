/**
 * Writes the segments that stand for all that a log held up to a place: the compacted part of a new generation.
 *
 * They take the last numbers up to that of the segment they end with, as many as are needed, and state their own sizes,
 * since what the segment behind them says of its predecessor was written before. The last record is the only mark.
 *
 * Invariant: the directory is nobody's log before `finish` has returned; then all in it is durable but its own name.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import { ByteWriter } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Disk, File } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { recordChecksum } from './checksum.ts'
import {
  AT,
  FORMAT_VERSION,
  KIND,
  keyName,
  LENGTH_FIELD_BYTES,
  MARK_AT,
  type Position,
  RECORD_BYTES_MAX,
  type Role,
  SEGMENT_BYTES_MAX,
  SEGMENT_RECORD_BYTES,
  valName,
} from './format.ts'
import { ItemBuffer } from './items.ts'
import { encodeMark, itemsOfMark, type Mark } from './mark.ts'
import type { LogIdentity } from './opened.ts'
import { encodeSegment, type SegmentHeader } from './segment.ts'

const U32 = 2 ** 32
/** Written at once. */
const BATCH_BYTES = 1024 * 1024
/** Suffix of a segment's files while their number is not known. */
const PART_SUFFIX = '.part'

export interface GenerationOptions {
  readonly role: Role
  readonly random: Random
  readonly identity: LogIdentity
  /** Number of the last segment, and the sequence number of the record behind it. */
  readonly lastNumber: number
  readonly sequenceAfter: number
  /** VAL bytes of a segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax?: number | undefined
}

/** A segment whose records are written. */
interface Part {
  readonly salt: number
  /** Of its first record. */
  readonly timeMs: number
  readonly valBytes: number
  readonly keyBytes: number
  readonly keyChecksum: number
  readonly records: number
}

export class GenerationWriter {
  private readonly disk: Disk
  private readonly directory: string
  private readonly options: GenerationOptions
  private readonly parts: Part[] = []
  private readonly batch = new ByteWriter(BATCH_BYTES + RECORD_BYTES_MAX)
  private items: ItemBuffer
  private val: File
  private isOpen = true
  private salt: number
  private timeMs = 0
  private records = 0
  /** Position in VAL of the batch's first byte. */
  private base = SEGMENT_RECORD_BYTES
  /** Of the record being assembled, in the batch; its items, in words. */
  private start = 0
  private itemsStart = 0
  private recordMs = 0

  /** @param directory  empty. Errors: DISK_FULL, DISK_FAILED, DISK_DENIED */
  constructor(disk: Disk, directory: string, options: GenerationOptions) {
    this.disk = disk
    this.directory = directory
    this.options = options
    this.items = new ItemBuffer(options.role)
    this.salt = options.random.uint32()
    disk.makeDirectory(directory)
    this.val = disk.open(this.partPath('val'), 'create')
  }

  /** Begins a record; the body is written with the ByteWriter returned. */
  begin(kind: number, flags: number, timeMs: number): ByteWriter {
    const { batch } = this
    this.start = batch.at
    this.itemsStart = this.items.end
    this.recordMs = timeMs
    batch.reserve(AT.body)
    batch.setU32(this.start + AT.version, FORMAT_VERSION | (kind << 8) | (flags << 16))
    batch.setU32(this.start + AT.timeMs, timeMs % U32)
    batch.setU32(this.start + AT.timeMs + 4, Math.floor(timeMs / U32))
    batch.at = this.start + AT.body
    return batch
  }

  item(k0: number, k1: number, k2: number, k3: number, kind: number, arg: number): void {
    this.items.push(k0, k1, k2, k3, kind, arg, this.base + this.start)
  }

  /** Ends the record. Errors: DISK_FULL, DISK_FAILED; LOG_FULL where more segments are needed than there are numbers. */
  end(): void {
    const { batch } = this
    const whole = batch.at - this.start
    assert(whole <= RECORD_BYTES_MAX, 'a record of more than 4 MiB')
    if (!this.hasRoom(0)) this.roll()
    const { start } = this
    batch.setU32(start, whole - LENGTH_FIELD_BYTES)
    batch.setU32(start + AT.checksum, recordChecksum(batch.buffer, batch.view, start, start + whole, this.salt))
    if (this.records++ === 0) this.timeMs = this.recordMs
    if (batch.at >= BATCH_BYTES) this.flush()
  }

  /** The last record: all before it is durable, by the time that anybody reads it. */
  mark(timeMs: number, pagesSynced: Position, digest: Uint8Array, ownerBytes: Uint8Array): void {
    if (!this.hasRoom(MARK_AT.owner + ownerBytes.length)) this.startNext()
    const { lastNumber, sequenceAfter } = this.options
    const synced = { segment: lastNumber, position: this.base + this.batch.at }
    const mark: Mark = { synced, pagesSynced, digest, sequence: sequenceAfter - 1, ownerBytes }
    encodeMark(this.begin(KIND.mark, 0, timeMs), mark, this.salt)
    itemsOfMark(mark, timeMs, this.salt, (k0, k1, k2, k3, kind, arg) => this.item(k0, k1, k2, k3, kind, arg))
    this.end()
  }

  /** Numbers the segments, states their sizes and makes them durable. Returns the bytes of all their files. */
  finish(): { readonly bytes: number; readonly segments: number } {
    this.sealPart()
    const { disk, directory, parts } = this
    const first = this.options.lastNumber - parts.length + 1
    for (let i = 0; i < parts.length; i++) {
      const val = disk.open(`${directory}/${i}.val${PART_SUFFIX}`, 'write')
      try {
        val.write(encodeSegment(this.headerOf(i)), 0)
        val.syncNow()
      } finally {
        val.close()
      }
      disk.rename(`${directory}/${i}.val${PART_SUFFIX}`, `${directory}/${valName(first + i)}`)
      disk.rename(`${directory}/${i}.key${PART_SUFFIX}`, `${directory}/${keyName(first + i)}`)
    }
    disk.syncDirectory(directory)
    return {
      bytes: parts.reduce((sum, { valBytes, keyBytes }) => sum + valBytes + keyBytes, 0),
      segments: parts.length,
    }
  }

  /** Closes what is open, after an error: the directory is of no use then. */
  abandon(): void {
    if (this.isOpen) this.val.close()
  }

  private headerOf(i: number): SegmentHeader {
    const { identity, role, lastNumber } = this.options
    const { salt, timeMs, valBytes, keyBytes, keyChecksum } = this.parts[i]
    return {
      ...identity,
      role,
      timeMs,
      number: lastNumber - this.parts.length + 1 + i,
      firstSequence: this.sequenceBefore(i),
      salt,
      beforeValBytes: 0,
      beforeKeyBytes: 0,
      beforeKeyChecksum: 0,
      ownValBytes: valBytes,
      ownKeyBytes: keyBytes,
      ownKeyChecksum: keyChecksum,
      ownSequenceAfter: this.sequenceBefore(i + 1),
    }
  }

  /** Sequence number at which part `i` begins: numbers count back from the end, and never fall below 1. */
  private sequenceBefore(i: number): number {
    const behind = this.parts.slice(i).reduce((sum, { records }) => sum + records + 1, 0)
    return Math.max(1, this.options.sequenceAfter - behind)
  }

  private hasRoom(moreBytes: number): boolean {
    const max = this.options.segmentBytesMax ?? SEGMENT_BYTES_MAX
    return this.base + this.batch.at + moreBytes <= max
  }

  /** Puts the record being assembled, with its items, at the start of the next segment. */
  private roll(): void {
    const { batch, items } = this
    const record = Buffer.from(batch.buffer.subarray(this.start, batch.at))
    const own = items.words.slice(this.itemsStart, items.end)
    batch.at = this.start
    items.end = this.itemsStart
    this.startNext()
    batch.rawBytes(record)
    this.items.append(own, this.base)
  }

  private startNext(): void {
    assert(this.records > 0, 'a record larger than a segment')
    this.sealPart()
    if (this.parts.length >= this.options.lastNumber) throw tooMany(this.directory, this.options.lastNumber)
    this.val = this.disk.open(this.partPath('val'), 'create')
    this.isOpen = true
    this.salt = this.options.random.uint32()
    this.items = new ItemBuffer(this.options.role)
    this.records = 0
    this.base = SEGMENT_RECORD_BYTES
    this.start = 0
    this.itemsStart = 0
  }

  private flush(): void {
    this.val.write(this.batch.written(), this.base)
    this.base += this.batch.at
    this.batch.reset()
  }

  /** What is left of VAL, and KEY whole and durable. VAL is synced when its `segment` record is in it. */
  private sealPart(): void {
    this.flush()
    this.val.close()
    this.isOpen = false
    const bytes = this.items.bytes()
    const key = this.disk.open(this.partPath('key'), 'create')
    try {
      key.write(bytes, 0)
      key.syncNow()
    } finally {
      key.close()
    }
    const { salt, timeMs, records } = this
    this.parts.push({ salt, timeMs, records, valBytes: this.base, keyBytes: bytes.length, keyChecksum: crc32(bytes) })
  }

  private partPath(half: 'val' | 'key'): string {
    return `${this.directory}/${this.parts.length}.${half}${PART_SUFFIX}`
  }
}

function tooMany(path: string, segments: number): CrawlError {
  const message = `The compacted log would have more than the ${segments} segments that it had before.`
  return new CrawlError('LOG_FULL', message, { path, segments }, 'There is nothing to gain by a compaction now.')
}
