/**
 * The writer's memory of VAL: the batch being assembled, and behind it the last bytes written, for reading back.
 *
 * Two arenas. The current one maps a run of a segment's VAL, byte for byte: first what is written, then the batch. When
 * it is full after a write it becomes the previous one, whose memory serves the next.
 * Invariant: the arena's offset o is position base + o of `segment`; written bytes never change.
 */
import { ByteWriter } from '../base/bytes.ts'
import { RecordView, recordBytes, viewOf } from './record.ts'

/** Half of what is kept of written bytes (RECENT_BYTES = 8 MiB in two arenas), and the size at which they change. */
const ARENA_BYTES = 4 * 1024 * 1024
const FIRST_ARENA_BYTES = 64 * 1024

interface Arena {
  readonly buffer: Buffer
  readonly segment: number
  readonly base: number
  readonly end: number
}

export class RecentBytes {
  /** Writes into the current arena. */
  readonly bytes = new ByteWriter(FIRST_ARENA_BYTES)
  segment = 0
  /** Position in VAL of the arena's first byte. */
  base = 0
  /** Offset in the arena of the first byte not yet written to the file. */
  batchStart = 0
  private previous: Arena | undefined

  /** Position in VAL after the last byte assembled. */
  get position(): number {
    return this.base + this.bytes.at
  }

  get batchBytes(): number {
    return this.bytes.at - this.batchStart
  }

  /** The batch: a view. */
  batch(): Buffer {
    return this.bytes.buffer.subarray(this.batchStart, this.bytes.at)
  }

  /** Everything assembled is in the file now. */
  batchWritten(): void {
    this.batchStart = this.bytes.at
    if (this.bytes.at >= ARENA_BYTES) this.moveTo(this.segment, this.position)
  }

  /** Forgets the batch. */
  dropBatch(): void {
    this.bytes.at = this.batchStart
  }

  /** Goes on at `position` of `segment`; there must be no batch. What was current can still be read for a while. */
  moveTo(segment: number, position: number): void {
    const { bytes } = this
    const current: Arena = { buffer: bytes.buffer, segment: this.segment, base: this.base, end: bytes.at }
    if (current.end > 0) {
      const spare = this.previous?.buffer
      const isFit = spare !== undefined && spare.length >= FIRST_ARENA_BYTES && spare.length <= 2 * ARENA_BYTES
      bytes.swap(isFit ? spare : Buffer.allocUnsafeSlow(FIRST_ARENA_BYTES))
      this.previous = current
    }
    this.segment = segment
    this.base = position
    this.batchStart = 0
  }

  /** Forgets a sealed segment, whose records have other positions now. */
  forget(segment: number): void {
    if (this.previous?.segment === segment) this.previous = undefined
  }

  /** The record at a position if it is still here: a view, valid until the next append. `end` bounds the current arena. */
  find(segment: number, position: number, end: number): RecordView | undefined {
    const { bytes, previous } = this
    if (segment === this.segment && position >= this.base && position - this.base < end) {
      return recordIn(bytes.buffer, position - this.base, end, position)
    }
    if (previous === undefined || segment !== previous.segment) return undefined
    if (position < previous.base || position - previous.base >= previous.end) return undefined
    return recordIn(previous.buffer, position - previous.base, previous.end, position)
  }

  /** Copies a part of a record if it is still here. */
  copyPart(segment: number, position: number, target: Uint8Array, end: number): boolean {
    const { bytes, previous } = this
    const from = position - this.base
    if (segment === this.segment && from >= 0 && from + target.length <= end) {
      target.set(bytes.buffer.subarray(from, from + target.length))
      return true
    }
    if (previous === undefined || segment !== previous.segment) return false
    const fromPrevious = position - previous.base
    if (fromPrevious < 0 || fromPrevious + target.length > previous.end) return false
    target.set(previous.buffer.subarray(fromPrevious, fromPrevious + target.length))
    return true
  }
}

function recordIn(buffer: Buffer, at: number, end: number, position: number): RecordView | undefined {
  const view = viewOf(buffer)
  const length = recordBytes(view, at, end)
  if (length === 0 || at + length > end) return undefined
  return new RecordView(buffer).set(buffer, view, at, position)
}
