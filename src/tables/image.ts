/**
 * The image of an OrderedTable: all its entries, ascending, so that equal tables have equal images. Little-endian.
 *
 *   image      header, then one piece for each partition from 0 on
 *   header     u32 magic, u32 version, u32 partition bits, u32 value words
 *   piece      u32 partition, u32 entry count, u32 CRC-32 of the entries, u32 CRC-32 of the three before, entries
 *   entry      u32 k0, k1, k2, k3, then the value words
 *
 * An image only spares replay. One that is damaged, or of a shape this version does not use, is not repaired or
 * converted: the reader says so and the caller replays.
 */
import { crc32 } from 'node:zlib'
import { allocate, release } from './slots.ts'

const MAGIC = 0x694c_504f // "OPLi"
const VERSION = 1
const HEADER_WORDS = 4

/** Words before a piece's entries. */
export const PARTITION_HEADER_WORDS = 4
const AT = { partition: 0, count: 1, entriesChecksum: 2, headChecksum: 3 } as const

/** Takes bytes before it returns; they are gone afterwards. */
export type WriteImage = (bytes: Uint8Array) => void

/** Fills the target from the next bytes; returns how many there were, fewer than the target's length only at the end. */
export type ReadImage = (target: Uint8Array) => number

export function headerOf(partitionBits: number, valueWords: number): Uint8Array {
  return bytesOf(Uint32Array.of(MAGIC, VERSION, partitionBits, valueWords))
}

/** Reads a header; whether it is the one of such a table. */
export function acceptsHeader(partitionBits: number, valueWords: number, read: ReadImage): boolean {
  const found = new Uint8Array(HEADER_WORDS * 4)
  return read(found) === found.length && Buffer.compare(found, headerOf(partitionBits, valueWords)) === 0
}

/** Writes the head of a piece whose entries are in place; returns its bytes. */
export function sealPartition(piece: Uint32Array, partition: number, entryCount: number): Uint8Array {
  piece[AT.partition] = partition
  piece[AT.count] = entryCount
  piece[AT.entriesChecksum] = crc32(bytesOf(piece.subarray(PARTITION_HEADER_WORDS)))
  piece[AT.headChecksum] = crc32(bytesOf(piece.subarray(0, AT.headChecksum)))
  return bytesOf(piece)
}

/**
 * Reads a piece and checks it.
 *
 * @returns its entries, word 0 without the top bits (as in a slot), for the caller to release; undefined if it is damaged
 */
export function acceptsPartition(
  partition: number,
  shift: number,
  stride: number,
  read: ReadImage,
): Uint32Array<ArrayBuffer> | undefined {
  const head = new Uint32Array(PARTITION_HEADER_WORDS)
  if (read(bytesOf(head)) !== head.byteLength || head[AT.partition] !== partition) return undefined
  // Checked by itself, so that a damaged count does not ask for all the memory there is.
  if (crc32(bytesOf(head.subarray(0, AT.headChecksum))) !== head[AT.headChecksum]) return undefined
  // Most partitions of a small table are empty: an array of their own each costs more than all the rest.
  if (head[AT.count] === 0) return head[AT.entriesChecksum] === 0 ? new Uint32Array(0) : undefined
  const entries = allocate(head[AT.count] * stride)
  const whole = read(bytesOf(entries)) === entries.byteLength && crc32(bytesOf(entries)) === head[AT.entriesChecksum]
  if (whole && stripAscending(entries, stride, partition, shift)) return entries
  release(entries)
  return undefined
}

/** Strips the top bits of word 0; false if those are not the partition's or the entries do not ascend. */
function stripAscending(entries: Uint32Array, stride: number, partition: number, shift: number): boolean {
  const lowMask = 2 ** shift - 1
  for (let at = 0; at < entries.length; at += stride) {
    if (entries[at] >>> shift !== partition) return false
    entries[at] &= lowMask
    if (at > 0 && !isAscending(entries, at - stride, at)) return false
  }
  return true
}

function isAscending(entries: Uint32Array, first: number, second: number): boolean {
  for (let i = 0; i < 4; i++) {
    if (entries[first + i] !== entries[second + i]) return entries[first + i] < entries[second + i]
  }
  return false
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}
