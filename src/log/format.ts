/**
 * The one table of the disk format, read by writer, reader, tests and FORMAT.md.
 *
 * Little-endian. On disk since v1: change only with a new version and a new golden file. See FORMAT.md.
 */

/** Version byte of every record. A reader refuses any other, where the checksum is right. */
export const FORMAT_VERSION = 1

/** Bytes of VAL in a segment, at most: the log rolls before a record that would pass it. */
export const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** Numbers of segments run from 1 to this one. */
export const SEGMENT_NUMBER_MAX = 65_535
/** Bytes of a record, its length field included, at most. */
export const RECORD_BYTES_MAX = 4 * 1024 * 1024
/** Times on disk are below this (milliseconds since 1970): it keeps a search for records from trying every byte. */
export const TIME_MS_MAX = 2 ** 48 - 1

/** A record in VAL. `length` counts the bytes after itself. */
export const AT = { length: 0, version: 4, kind: 5, flags: 6, timeMs: 8, checksum: 16, body: 20 } as const
export const LENGTH_FIELD_BYTES = 4
export const RECORD_LENGTH_MIN = AT.body - LENGTH_FIELD_BYTES
export const RECORD_LENGTH_MAX = RECORD_BYTES_MAX - LENGTH_FIELD_BYTES
/** Bytes of a body, at most. */
export const BODY_BYTES_MAX = RECORD_BYTES_MAX - AT.body

/** The `segment` record, offsets from the record's start. Its checksum is seeded with 0, since the salt is in it. */
export const SEGMENT_AT = {
  crawlId: 20,
  shard: 36,
  number: 40,
  generation: 44,
  firstSequence: 48,
  salt: 56,
  role: 60,
  beforeValBytes: 64,
  beforeKeyBytes: 68,
  beforeKeyChecksum: 72,
  ownValBytes: 76,
  ownKeyBytes: 80,
  ownKeyChecksum: 84,
  ownSequenceAfter: 88,
  end: 96,
} as const
export const SEGMENT_RECORD_BYTES = SEGMENT_AT.end
export const CRAWL_ID_BYTES = 16

/** The `mark` record, offsets from the record's start. The owner's bytes follow. */
export const MARK_AT = {
  salt: 20,
  segment: 24,
  position: 28,
  pagesSegment: 32,
  pagesPosition: 36,
  digest: 40,
  sequence: 56,
  owner: 64,
} as const
export const DIGEST_BYTES = 16

/** Kinds of record (and, with `synced`, of item) the log itself knows. The other numbers are its owner's. */
export const KIND = { value: 0, segment: 1, mark: 4, deleted: 25, synced: 31 } as const

/** What a log is used for; in its `segment` records. */
export const ROLE = { store: 0, events: 1, pages: 2 } as const
export type Role = (typeof ROLE)[keyof typeof ROLE]

/**
 * A KEY item: four words of key, then the offset: the low word is the position in VAL (its bits 32–47, always zero
 * since a segment is shorter, are the low half of the high word), kind in bits 48–55, argument in bits 56–63.
 * A deletion in a store has an offset of all ones.
 */
export const ITEM_BYTES = 24
export const ITEM_WORDS = 6
export const ITEM_AT = { k0: 0, k1: 1, k2: 2, k3: 3, position: 4, kindAndArg: 5 } as const

export function packKindAndArg(kind: number, arg: number): number {
  return ((kind << 16) | (arg << 24)) >>> 0
}

export function itemKind(kindAndArg: number): number {
  return (kindAndArg >>> 16) & 255
}

const NUMBER_DIGITS = 6
const SEGMENT_NAME = /^(\d{6})\.(val|key)$/

export function valName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.val`
}

export function keyName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.key`
}

/** Suffix of a file that is being written aside; ignored by readers and removed by the next writer. */
export const ASIDE_SUFFIX = '.tmp'

/** Number and half of a segment's file name; undefined for other files. */
export function parseSegmentName(name: string): { readonly number: number; readonly half: 'val' | 'key' } | undefined {
  const match = SEGMENT_NAME.exec(name)
  if (match === null) return undefined
  const number = Number(match[1])
  if (number < 1 || number > SEGMENT_NUMBER_MAX) return undefined
  return { number, half: match[2] === 'val' ? 'val' : 'key' }
}

/** A place between two records of a log: all of the segments before, and `position` bytes of this one's VAL. */
export interface Position {
  readonly segment: number
  readonly position: number
}

/** The place before the first record; also "nothing" (a mark without pages). */
export const NOWHERE: Position = { segment: 0, position: 0 }

/** Negative where a lies before b. */
export function comparePositions(a: Position, b: Position): number {
  return a.segment - b.segment || a.position - b.position
}
