/**
 * The `mark` record: what a sync that has returned made durable, and what the owner knew then.
 *
 * Rule: the sync that mark k reports began after mark k−1 was written. In a log of events a mark has two KEY items,
 * one to search by time, one that repeats the synced positions so that a cut VAL is noticed.
 */
import { crc32 } from 'node:zlib'
import type { ByteWriter } from '../base/bytes.ts'
import { seedOf } from './checksum.ts'
import { DIGEST_BYTES, ITEM_WORDS, itemKind, KIND, MARK_AT, type Position } from './format.ts'
import type { EmitItem } from './items.ts'
import type { RecordView } from './record.ts'

const U32 = 2 ** 32

export interface Mark {
  /** Up to where the log that holds the mark was synced. */
  readonly synced: Position
  /** Up to where its pages were synced; segment 0 where there are none. */
  readonly pagesSynced: Position
  /** 16 bytes, opaque here: the owner's digest of the state before the mark. */
  readonly digest: Uint8Array
  /** Sequence number of the mark: records of the log so far, itself included. */
  readonly sequence: number
  /** What the owner added. */
  readonly ownerBytes: Uint8Array
}

/** Writes the body of a mark. */
export function encodeMark(writer: ByteWriter, mark: Mark, salt: number): void {
  writer.u32(salt)
  writer.u32(mark.synced.segment)
  writer.u32(mark.synced.position)
  writer.u32(mark.pagesSynced.segment)
  writer.u32(mark.pagesSynced.position)
  writer.rawBytes(mark.digest)
  writer.u64(mark.sequence)
  writer.rawBytes(mark.ownerBytes)
}

/** Reads a mark whose checksum was right; the bytes in it are copies. Undefined where it is shorter than a mark. */
export function decodeMark(record: RecordView): Mark | undefined {
  if (record.length < MARK_AT.owner) return undefined
  const reader = record.reader()
  reader.skip(4)
  return {
    synced: { segment: reader.u32(), position: reader.u32() },
    pagesSynced: { segment: reader.u32(), position: reader.u32() },
    digest: new Uint8Array(reader.rawBytes(DIGEST_BYTES)),
    sequence: reader.u64(),
    ownerBytes: new Uint8Array(reader.rawBytes(reader.remaining)),
  }
}

/** The two KEY items of a mark in a log of events. */
export function itemsOfMark(mark: Mark, timeMs: number, salt: number, emit: EmitItem): void {
  const { synced, pagesSynced, sequence } = mark
  emit(timeMs % U32, Math.floor(timeMs / U32), sequence % U32, Math.floor(sequence / U32), KIND.mark, 0)
  const segments = (synced.segment | (pagesSynced.segment << 16)) >>> 0
  const checksum = syncedChecksum(synced.position, segments, pagesSynced.position, salt)
  emit(synced.position, segments, pagesSynced.position, checksum, KIND.synced, 0)
}

function syncedChecksum(position: number, segments: number, pagesPosition: number, salt: number): number {
  const words = new Uint32Array([position, segments, pagesPosition])
  return crc32(new Uint8Array(words.buffer), salt)
}

/** The one salt under which the `synced` item at word `at` is valid; undefined where the item is of another kind. */
export function saltOfItem(words: Uint32Array, at: number): number | undefined {
  if (itemKind(words[at + 5]) !== KIND.synced) return undefined
  const bytes = new Uint8Array(words.slice(at, at + 3).buffer)
  return seedOf(bytes, words[at + 3])
}

/** What a valid `synced` item says, and the sequence number in the mark item before it. */
export interface SyncedItem {
  readonly synced: Position
  readonly pagesSynced: Position
  /** Of the mark, where the item before is one; else 0. */
  readonly sequence: number
}

/** The item at word `at` as a `synced` one; undefined where it is of another kind or fails its checksum. */
export function syncedItem(words: Uint32Array, at: number, salt: number): SyncedItem | undefined {
  if (itemKind(words[at + 5]) !== KIND.synced) return undefined
  const segments = words[at + 1]
  if (words[at + 3] !== syncedChecksum(words[at], segments, words[at + 2], salt)) return undefined
  const before = at - ITEM_WORDS
  const hasMark = before >= 0 && itemKind(words[before + 5]) === KIND.mark && words[before + 4] === words[at + 4]
  return {
    synced: { segment: segments & 0xffff, position: words[at] },
    pagesSynced: { segment: segments >>> 16, position: words[at + 2] },
    sequence: hasMark ? words[before + 2] + words[before + 3] * U32 : 0,
  }
}
