/**
 * The log of pages: values by segment and ordinal (the place of their KEY item in the segment).
 *
 * A value longer than a record can be goes into several records in a row, each with an item of its own; all but the
 * last carry the flag CONTINUED. An ordinal stays when its segment is rewritten, a position does not.
 */
import { CrawlError } from '../base/errors.ts'
import { KEY_BYTES, type Key, keyFromWords, word } from '../base/md5.ts'
import { BODY_BYTES_MAX, ITEM_WORDS, KIND, type Position, ROLE } from './format.ts'
import { hasKey, itemsOfKeyed, KEYED_KIND_MAX, keyedValue } from './keyed.ts'
import type { RecordView } from './record.ts'
import type { LogWriter } from './writer.ts'

/** The value goes on in the next record. The owner's flags are the other fifteen. On disk since v1. */
export const CONTINUED = 0x8000
const PART_BYTES_MAX = BODY_BYTES_MAX - KEY_BYTES

/** How to open a log of pages: for `openLog`. */
export const PAGES_LOG = { role: ROLE.pages, kindMax: KEYED_KIND_MAX, itemsOf: itemsOfKeyed } as const

export interface PageAddress {
  readonly segment: number
  readonly ordinal: number
}

/** Where pages are read from: an OpenedLog, or the LogWriter of a running crawl. */
export interface PageSource {
  read(segment: number, position: number, lengthHint?: number): RecordView
  readItems(segment: number, ordinal: number, count: number): Uint32Array
  repairKey(segment: number): void
  valBytes(segment: number): number
  has(segment: number): boolean
}

export interface PagePart {
  /** The owner's flags of this part's record. */
  readonly flags: number
  readonly bytes: Buffer
}

export interface StoredPage {
  readonly key: Key
  readonly timeMs: number
  /** In order; one, but for values above 4 MiB. Memory of the caller's own. */
  readonly parts: readonly PagePart[]
}

/**
 * Appends a value given in pieces (head, body), which are copied into the batch.
 *
 * @param flags  fifteen bits of the owner's, the same on every part
 * Errors: as `LogWriter.end`. Cost: one copy of the bytes and their CRC (1 GB/s and more).
 */
export function appendPage(
  writer: LogWriter,
  key: Key,
  flags: number,
  timeMs: number,
  pieces: readonly Uint8Array[],
): PageAddress {
  let left = pieces.reduce((sum, piece) => sum + piece.length, 0)
  let piece = 0
  let offset = 0
  let address: PageAddress | undefined
  do {
    let room = Math.min(left, PART_BYTES_MAX)
    left -= room
    const bytes = writer.begin(KIND.value, left > 0 ? flags | CONTINUED : flags, timeMs)
    bytes.words4(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
    while (room > 0) {
      const part = pieces[piece].subarray(offset, offset + room)
      bytes.rawBytes(part)
      room -= part.length
      offset += part.length
      if (offset === pieces[piece].length) {
        piece++
        offset = 0
      }
    }
    writer.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), KIND.value, 0)
    const { segment } = writer.end()
    address ??= { segment, ordinal: writer.itemCount - 1 }
  } while (left > 0)
  return address
}

/**
 * Reads a value by its address.
 *
 * @returns undefined where the log ends before it does (a page lost with the end of the log)
 * Errors: LOG_CORRUPT, LOG_NEWER. Cost: one read of 48 bytes of KEY and one of the record, each part.
 */
export function readPage(source: PageSource, address: PageAddress): StoredPage | undefined {
  const parts: PagePart[] = []
  let { segment, ordinal } = address
  let key: Key | undefined
  let timeMs = 0
  for (;;) {
    const found = readPart(source, segment, ordinal)
    if (found === undefined) {
      if (!source.has(segment + 1)) return undefined
      if (parts.length === 0) throw wrong(segment, ordinal)
      segment++
      ordinal = 0
      continue
    }
    if (key === undefined) {
      key = found.key
      timeMs = found.record.timeMs
    } else if (key !== found.key) throw wrong(segment, ordinal)
    const { flags } = found.record
    parts.push({ flags: flags & ~CONTINUED, bytes: keyedValue(found.record.body) })
    if ((flags & CONTINUED) === 0) return { key, timeMs, parts }
    ordinal++
  }
}

/** Where a value ends in VAL; undefined where the log does not hold it whole. For cutting both logs to match. */
export function endOfPage(source: PageSource, address: PageAddress): Position | undefined {
  let { segment, ordinal } = address
  for (;;) {
    const found = readPart(source, segment, ordinal)
    if (found === undefined) {
      if (!source.has(segment + 1)) return undefined
      segment++
      ordinal = 0
      continue
    }
    const { record } = found
    if ((record.flags & CONTINUED) === 0) return { segment, position: record.position + record.length }
    ordinal++
  }
}

/** The record of an ordinal. An item that does not fit its record means a damaged KEY, which is made anew, once. */
function readPart(source: PageSource, segment: number, ordinal: number): { key: Key; record: RecordView } | undefined {
  try {
    const found = tryPart(source, segment, ordinal)
    if (found !== undefined || !source.has(segment + 1) || !source.has(segment)) return found
  } catch (error) {
    if (!(error instanceof CrawlError && error.code === 'LOG_CORRUPT') || !source.has(segment + 1)) throw error
  }
  source.repairKey(segment)
  return tryPart(source, segment, ordinal)
}

function tryPart(source: PageSource, segment: number, ordinal: number): { key: Key; record: RecordView } | undefined {
  if (!source.has(segment)) return undefined
  const items = source.readItems(segment, ordinal, 2)
  if (items.length === 0) return undefined
  const position = items[4]
  const end = items.length > ITEM_WORDS ? items[ITEM_WORDS + 4] : source.valBytes(segment)
  const record = source.read(segment, position, Math.max(0, end - position))
  if (record.kind !== KIND.value || !hasKey(record.body, items[0], items[1], items[2], items[3]))
    throw wrong(segment, ordinal)
  return { key: keyFromWords(items[0], items[1], items[2], items[3]), record }
}

function wrong(segment: number, ordinal: number): CrawlError {
  const message = `Segment ${segment}: item ${ordinal} and the record it names do not fit each other.`
  return new CrawlError('LOG_CORRUPT', message, { segment, ordinal })
}
