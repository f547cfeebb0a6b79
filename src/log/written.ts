/**
 * A log being written, as far as reading goes: records and items from the batch, from memory, or from the files.
 *
 * The base of LogWriter; what it reads is what an opened log would show, and the unwritten batch besides.
 */
import assert from 'node:assert'
import type { ActiveSegment } from './active.ts'
import type { LogFiles } from './files.ts'
import { ITEM_BYTES, valName } from './format.ts'
import { ItemBuffer } from './items.ts'
import { readHeader } from './list.ts'
import { type ReadContext, readPart, readRecord } from './reader.ts'
import { type ItemsOf, soundKey } from './rebuild.ts'
import { RecentBytes } from './recent.ts'
import type { RecordView } from './record.ts'
import { adoptRewritten } from './rewrite.ts'
import type { SegmentHeader } from './segment.ts'

export interface ReadSettings {
  readonly kindMax: number
  readonly itemsOf: ItemsOf
}

export abstract class WrittenLog {
  /** KEY items of the batch. */
  readonly items: ItemBuffer
  protected readonly files: LogFiles
  protected readonly recent = new RecentBytes()
  protected active: ActiveSegment
  /** Offset in the arena of the record being assembled; −1 = none is. */
  protected recordStart = -1
  private readonly readSettings: ReadSettings

  constructor(files: LogFiles, active: ActiveSegment, settings: ReadSettings) {
    this.files = files
    this.active = active
    this.items = new ItemBuffer(files.role)
    this.readSettings = settings
  }

  get header(): SegmentHeader {
    return this.active.segment.header
  }

  /** That of the first segment: segments that a compaction left as they were state an earlier one. */
  get generation(): number {
    return this.files.segments[0]?.header.generation ?? 0
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
    const isActive = segment === this.active.segment.number
    const writtenItems = isActive ? this.active.keyBytes / ITEM_BYTES : Number.POSITIVE_INFINITY
    const bytes = new Uint8Array(count * ITEM_BYTES)
    let have = 0
    if (ordinal < writtenItems) {
      const wanted = Math.min(count, writtenItems - ordinal) * ITEM_BYTES
      have = this.files.key(segment).read(bytes.subarray(0, wanted), ordinal * ITEM_BYTES)
    }
    if (isActive && have < bytes.length) {
      const from = Math.max(0, ordinal - writtenItems) * ITEM_BYTES
      const batch = this.items.bytes().subarray(from, from + bytes.length - have)
      bytes.set(batch, have)
      have += batch.length
    }
    return new Uint32Array(bytes.buffer, 0, Math.floor(have / ITEM_BYTES) * (ITEM_BYTES / 4))
  }

  /** KEY items of the active segment so far, written or not. */
  get itemCount(): number {
    return (this.active.keyBytes + this.items.end * 4) / ITEM_BYTES
  }

  /** Makes the KEY of a sealed segment anew, where it was found wrong. Cost: a scan of the segment. */
  repairKey(segment: number): void {
    assert(segment !== this.active.segment.number)
    soundKey(this.files, segment, this.readSettings.kindMax, this.readSettings.itemsOf, true)
  }

  /** Bytes of a segment's VAL, the batch included. */
  valBytes(segment: number): number {
    return segment === this.active.segment.number ? this.recent.position : this.files.segment(segment).valBytes
  }

  has(segment: number): boolean {
    return this.files.find(segment) !== undefined
  }

  /** Puts what `rewriteSegment` wrote aside in the place of a sealed segment: two renames, then durable. */
  adopt(segment: number): void {
    assert(segment !== this.active.segment.number)
    const { disk, directory } = this.files
    adoptRewritten(disk, directory, segment)
    this.files.forget(segment)
    this.recent.forget(segment)
    const { header, valBytes } = readHeader(disk, this.files.path(valName(segment)), segment)
    assert(header)
    const known = this.files.segment(segment)
    known.header = header
    known.valBytes = valBytes
    known.key = { bytes: header.ownKeyBytes, checksum: header.ownKeyChecksum }
  }

  private assembledEnd(): number {
    return this.recordStart < 0 ? this.recent.bytes.at : this.recordStart
  }

  private contextOf(segment: number): ReadContext {
    return { segment, salt: this.files.segment(segment).header.salt, kindMax: this.readSettings.kindMax }
  }
}
