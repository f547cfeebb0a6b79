/**
 * Reading a log: one record, a part of one, a whole segment in order, a whole KEY file.
 *
 * A record counts as read when its checksum was right; then its version and kind are looked at, and a greater one is
 * refused as newer. Wrong bytes are LOG_CORRUPT with segment and offset; a scan instead says where it stopped.
 */
import { crc32 } from 'node:zlib'
import { CrawlError } from '../base/errors.ts'
import type { File } from '../env/disk.ts'
import { recordChecksum } from './checksum.ts'
import type { LogFiles } from './files.ts'
import { AT, FORMAT_VERSION, ITEM_BYTES, RECORD_BYTES_MAX } from './format.ts'
import { RecordView, recordBytes, viewOf } from './record.ts'
import { newerVersion } from './segment.ts'

/** Read at once where the caller does not know a record's length: most are shorter, so one read does. */
const FIRST_READ_BYTES = 4096
/** Read at once by a scan; holds any record. */
const SCAN_BYTES = RECORD_BYTES_MAX + 1024 * 1024

/** What a reader must know of a segment and its log. */
export interface ReadContext {
  readonly salt: number
  /** Kinds above this are of a newer version. */
  readonly kindMax: number
  readonly segment: number
}

/** Whether the record in buffer[start, end) has the checksum it states. The `segment` record's salt is 0. */
export function isIntact(buffer: Buffer, view: DataView, start: number, end: number, salt: number): boolean {
  return recordChecksum(buffer, view, start, end, salt) === view.getUint32(start + AT.checksum, true)
}

function refuseNewer(buffer: Buffer, start: number, position: number, context: ReadContext): void {
  const version = buffer[start + AT.version]
  const kind = buffer[start + AT.kind]
  if (version === FORMAT_VERSION && kind <= context.kindMax) return
  throw newerVersion({ segment: context.segment, offset: position, version, kind })
}

/**
 * Reads one record whose position is known.
 *
 * @param lengthHint  bytes of the record, or a little more, where the caller knows; 0 = unknown
 * @returns a view of memory of its own, so it stays valid
 * Errors: LOG_CORRUPT, LOG_NEWER, DISK_FAILED. Cost: one read; two where the hint was too short.
 */
export function readRecord(file: File, position: number, context: ReadContext, lengthHint = 0): RecordView {
  let buffer = Buffer.allocUnsafe(Math.min(lengthHint > 0 ? lengthHint : FIRST_READ_BYTES, RECORD_BYTES_MAX))
  let read = file.read(buffer, position)
  let view = viewOf(buffer)
  const length = recordBytes(view, 0, read)
  if (length > read) {
    const larger = Buffer.allocUnsafe(length)
    buffer.copy(larger, 0, 0, read)
    read += file.read(larger.subarray(read), position + read)
    buffer = larger
    view = viewOf(buffer)
  }
  const seed = position === 0 ? 0 : context.salt
  if (length === 0 || length > read || !isIntact(buffer, view, 0, length, seed)) throw corrupt(file, position, context)
  refuseNewer(buffer, 0, position, context)
  return new RecordView(buffer).set(buffer, view, 0, position)
}

function corrupt(file: File, position: number, context: ReadContext): CrawlError {
  const { segment } = context
  const message = `Segment ${segment}: damaged record at offset ${position}.`
  return new CrawlError('LOG_CORRUPT', message, { path: file.path, segment, offset: position })
}

/**
 * Reads `target.length` bytes of a record, unchecked: for a group of a large one.
 *
 * Errors: LOG_CORRUPT where the file ends before. Cost: one read.
 */
export function readPart(file: File, position: number, target: Uint8Array, segment: number): void {
  const read = file.read(target, position)
  if (read === target.length) return
  const message = `Segment ${segment}: the file ends within a record, at offset ${position + read}.`
  throw new CrawlError('LOG_CORRUPT', message, { path: file.path, segment, offset: position + read })
}

export interface ScanEnd {
  /** After the last whole record: the size, or the offset of the first bad one. */
  readonly end: number
  readonly records: number
}

/**
 * Visits the records of a VAL in order, from `start` to the first bad one or `sizeBytes`.
 *
 * The view given to `visit` is the same object each time and valid only within the call.
 * Errors: LOG_NEWER, DISK_FAILED. Cost: sequential reads of 5 MiB, 0.1–0.2 µs a small record.
 */
export function scanSegment(
  file: File,
  start: number,
  sizeBytes: number,
  context: ReadContext,
  visit: (record: RecordView) => void,
): ScanEnd {
  const buffer = Buffer.allocUnsafeSlow(Math.min(SCAN_BYTES, Math.max(0, sizeBytes - start)))
  const view = viewOf(buffer)
  const record = new RecordView(buffer)
  let base = start // position in the file of the buffer's first byte
  let filled = 0
  let at = 0
  let records = 0
  for (;;) {
    const length = recordBytes(view, at, filled)
    if (length === 0 || at + length > filled) {
      if (base + filled >= sizeBytes || (length === 0 && filled - at >= 4)) break
      buffer.copyWithin(0, at, filled)
      base += at
      filled -= at
      at = 0
      const wanted = Math.min(buffer.length, sizeBytes - base) - filled
      const read = file.read(buffer.subarray(filled, filled + wanted), base + filled)
      if (read === 0) break
      filled += read
      continue
    }
    const position = base + at
    if (!isIntact(buffer, view, at, at + length, position === 0 ? 0 : context.salt)) break
    refuseNewer(buffer, at, position, context)
    visit(record.set(buffer, view, at, position))
    records++
    at += length
  }
  return { end: base + at, records }
}

/** A whole KEY file as words, six an item; undefined where it is missing, or not what `facts` say. */
export function readKey(files: LogFiles, number: number): Uint32Array<ArrayBuffer> | undefined {
  const facts = files.segment(number).key
  const words = readKeyUnchecked(files, number)
  if (facts === undefined || words === undefined || words.byteLength !== facts.bytes) return undefined
  return crc32(new Uint8Array(words.buffer)) === facts.checksum ? words : undefined
}

/** The whole items of a KEY file, whatever they are worth; undefined where it is missing. */
export function readKeyUnchecked(files: LogFiles, number: number): Uint32Array<ArrayBuffer> | undefined {
  let file: File
  try {
    file = files.key(number)
  } catch (error) {
    if (error instanceof CrawlError && error.code === 'DISK_MISSING') return undefined
    throw error
  }
  const bytes = new Uint8Array(Math.floor(file.sizeBytes() / ITEM_BYTES) * ITEM_BYTES)
  const read = file.read(bytes, 0)
  return new Uint32Array(bytes.buffer, 0, Math.floor(read / ITEM_BYTES) * (ITEM_BYTES / 4))
}
