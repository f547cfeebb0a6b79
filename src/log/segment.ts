/**
 * The `segment` record, the first of every segment: who the segment belongs to, where it stands, what lies before it.
 *
 * It is the only record with a checksum seeded with 0, since it holds the salt that seeds all the others.
 */
import { ByteReader, ByteWriter } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import { recordChecksum } from './checksum.ts'
import {
  AT,
  CRAWL_ID_BYTES,
  FORMAT_VERSION,
  KIND,
  LENGTH_FIELD_BYTES,
  SEGMENT_AT,
  SEGMENT_RECORD_BYTES,
} from './format.ts'
import { recordBytes, viewOf } from './record.ts'

export interface SegmentHeader {
  readonly timeMs: number
  /** 16 bytes. */
  readonly crawlId: Uint8Array
  readonly shard: number
  readonly number: number
  readonly generation: number
  /** Sequence number of the segment record itself. */
  readonly firstSequence: number
  readonly salt: number
  /** See ROLE. */
  readonly role: number
  /** VAL and KEY bytes and KEY's CRC-32 of the segment before; all 0 in the first. */
  readonly beforeValBytes: number
  readonly beforeKeyBytes: number
  readonly beforeKeyChecksum: number
  /** The same of this segment, and the sequence number after its last record: only where it was rewritten, else 0. */
  readonly ownValBytes: number
  readonly ownKeyBytes: number
  readonly ownKeyChecksum: number
  readonly ownSequenceAfter: number
}

/** The whole record, 96 bytes, checksum included. */
export function encodeSegment(header: SegmentHeader): Buffer {
  const writer = new ByteWriter(SEGMENT_RECORD_BYTES)
  writer.u32(SEGMENT_RECORD_BYTES - LENGTH_FIELD_BYTES)
  writer.u8(FORMAT_VERSION)
  writer.u8(KIND.segment)
  writer.u16(0)
  writer.u64(header.timeMs)
  writer.u32(0)
  writer.rawBytes(header.crawlId)
  writer.u32(header.shard)
  writer.u32(header.number)
  writer.u32(header.generation)
  writer.u64(header.firstSequence)
  writer.u32(header.salt)
  writer.u32(header.role)
  writer.u32(header.beforeValBytes)
  writer.u32(header.beforeKeyBytes)
  writer.u32(header.beforeKeyChecksum)
  writer.u32(header.ownValBytes)
  writer.u32(header.ownKeyBytes)
  writer.u32(header.ownKeyChecksum)
  writer.u64(header.ownSequenceAfter)
  const bytes = writer.written()
  writer.setU32(AT.checksum, recordChecksum(bytes, viewOf(bytes), 0, SEGMENT_RECORD_BYTES, 0))
  return bytes
}

/**
 * Reads the record at the start of `bytes` (the first 96 of a VAL, fewer where the file is shorter).
 *
 * @returns undefined where it is cut or damaged. Errors: LOG_NEWER where it is whole but of another version.
 */
export function decodeSegment(bytes: Uint8Array): SegmentHeader | undefined {
  const view = viewOf(bytes)
  const length = recordBytes(view, 0, bytes.length)
  if (length === 0 || length > bytes.length || length < SEGMENT_RECORD_BYTES) return undefined
  if (recordChecksum(bytes, view, 0, length, 0) !== view.getUint32(AT.checksum, true)) return undefined
  if (bytes[AT.version] !== FORMAT_VERSION) throw newerVersion({ version: bytes[AT.version] })
  if (bytes[AT.kind] !== KIND.segment || length !== SEGMENT_RECORD_BYTES) return undefined
  return readFields(new ByteReader(bytes, AT.timeMs))
}

function readFields(reader: ByteReader): SegmentHeader {
  const timeMs = reader.u64()
  reader.at = SEGMENT_AT.crawlId
  return {
    timeMs,
    crawlId: new Uint8Array(reader.rawBytes(CRAWL_ID_BYTES)),
    shard: reader.u32(),
    number: reader.u32(),
    generation: reader.u32(),
    firstSequence: reader.u64(),
    salt: reader.u32(),
    role: reader.u32(),
    beforeValBytes: reader.u32(),
    beforeKeyBytes: reader.u32(),
    beforeKeyChecksum: reader.u32(),
    ownValBytes: reader.u32(),
    ownKeyBytes: reader.u32(),
    ownKeyChecksum: reader.u32(),
    ownSequenceAfter: reader.u64(),
  }
}

/** Whether the segment was rewritten whole, so that its own lengths are stated in it. */
export function isRewritten(header: SegmentHeader): boolean {
  return header.ownValBytes !== 0
}

export function newerVersion(facts: Readonly<Record<string, string | number>>): CrawlError {
  return new CrawlError('LOG_NEWER', 'The log was written by a newer version.', facts)
}
