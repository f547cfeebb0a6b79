/**
 * One record of VAL in memory: where it is, what its head says, and its body as a view.
 *
 * A view costs no copy and is valid until its owner says otherwise (the next record of a scan, the next append of a
 * writer); whoever keeps bytes copies them.
 */
import { ByteReader } from '../base/bytes.ts'
import { AT, LENGTH_FIELD_BYTES, RECORD_LENGTH_MAX, RECORD_LENGTH_MIN } from './format.ts'

const U32 = 2 ** 32

export interface RecordHead {
  readonly kind: number
  readonly flags: number
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** Of the record's first byte, in its segment's VAL. */
  readonly position: number
  /** Bytes of the whole record, length field included. */
  readonly length: number
}

export class RecordView implements RecordHead {
  kind = 0
  flags = 0
  timeMs = 0
  position = 0
  length = 0
  /** Place of the record's first byte in `buffer`. */
  start = 0
  buffer: Buffer
  private bodyReader: ByteReader | undefined

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  /** Points at the record that begins at `start` of `buffer`; its length has been checked. */
  set(buffer: Buffer, view: DataView, start: number, position: number): this {
    this.buffer = buffer
    this.start = start
    this.position = position
    this.length = view.getUint32(start, true) + LENGTH_FIELD_BYTES
    this.kind = buffer[start + AT.kind]
    this.flags = view.getUint16(start + AT.flags, true)
    this.timeMs = view.getUint32(start + AT.timeMs, true) + view.getUint32(start + AT.timeMs + 4, true) * U32
    return this
  }

  /** The body: a view. */
  get body(): Buffer {
    return this.buffer.subarray(this.start + AT.body, this.start + this.length)
  }

  get bodyBytes(): number {
    return this.length - AT.body
  }

  /** The whole record: a view. */
  get bytes(): Buffer {
    return this.buffer.subarray(this.start, this.start + this.length)
  }

  /** A reader at the start of the body. The same object each time, so only one is in use at once. */
  reader(): ByteReader {
    this.bodyReader ??= new ByteReader(this.buffer)
    this.bodyReader.reset(this.buffer, this.start + AT.body, this.start + this.length)
    return this.bodyReader
  }
}

/** Bytes of the record that begins at `start`, or 0 where its length field is out of bounds or cut (needs 4 bytes). */
export function recordBytes(view: DataView, start: number, end: number): number {
  if (end - start < LENGTH_FIELD_BYTES) return 0
  const length = view.getUint32(start, true)
  return length >= RECORD_LENGTH_MIN && length <= RECORD_LENGTH_MAX ? length + LENGTH_FIELD_BYTES : 0
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
