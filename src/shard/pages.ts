/**
 * The pages of a shard: answers as they came over the wire, in a second log beside the events', found by segment and
 * ordinal, so that a page may move within its segment when that is compressed.
 *
 * Value: flags u8, status u16, SHA-256 of the body as received (32), headers (varint count, name and value each), varint
 * body bytes; then the body, or by flag the place (segment u16, ordinal u32) of the page that holds the same body. A
 * part whose record has the flag PART_ZSTD is compressed as a whole. On disk since v1.
 */
import { ByteReader, ByteWriter, MalformedValue } from '../base/bytes.ts'
import type { Key } from '../base/md5.ts'
import type { PageRef } from '../core/event.ts'
import type { DecodeContent } from '../env/content.ts'
import * as log from '../log/pages.ts'
import type { LogWriter } from '../log/writer.ts'

export const PAGE_FLAG = {
  truncated: 1,
  /** The body stands at another page. */
  elsewhere: 2,
} as const

/** Flag of a record: what follows the key is compressed with zstd. */
export const PART_ZSTD = 1
/** Flag of a record: nothing follows the key, since no event refers to the page any more (void-pages.ts). */
export const PART_VOID = 2

export interface Page {
  readonly key: Key
  readonly flags: number
  readonly status: number
  /** 32 latin1 characters. */
  readonly sha256: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** As received. Empty where it is elsewhere: see `bodyOf`. */
  readonly body: Uint8Array
  /** Length of the body, wherever it is. */
  readonly bodyBytes: number
  /** Where the same body is stored already. */
  readonly elsewhere: PageRef | undefined
}

const head = new ByteWriter()

/** Appends a page. Durable when the pages log is synced. Cost: one copy of the body. */
export function appendPage(pages: LogWriter, page: Omit<Page, 'bodyBytes'>, timeMs: number): PageRef {
  const { elsewhere, body } = page
  head.reset()
  head.u8(page.flags | (elsewhere === undefined ? 0 : PAGE_FLAG.elsewhere))
  head.u16(page.status)
  head.rawLatin1(page.sha256)
  head.varint(page.headers.length)
  for (const [name, value] of page.headers) {
    head.latin1(name)
    head.latin1(value)
  }
  head.varint(body.length)
  if (elsewhere !== undefined) {
    head.u16(elsewhere.segment)
    head.u32(elsewhere.ordinal)
  }
  return log.appendPage(pages, page.key, 0, timeMs, elsewhere === undefined ? [head.written(), body] : [head.written()])
}

/**
 * The page at a place, undefined where the log ends before it.
 * Cost: two reads. Errors: LOG_CORRUPT; MalformedValue where the bytes are whole but make no sense.
 */
export function readPage(pages: log.PageSource, ref: PageRef, decode: DecodeContent): Page | undefined {
  const stored = log.readPage(pages, ref)
  if (stored === undefined) return undefined
  const parts = stored.parts.map((part) => (part.flags & PART_ZSTD ? inflate(part.bytes, decode) : part.bytes))
  const input = new ByteReader(parts.length === 1 ? parts[0] : Buffer.concat(parts))
  const flags = input.u8()
  const status = input.u16()
  const sha256 = input.rawLatin1(32)
  const headers: Array<readonly [string, string]> = []
  for (let left = input.varint(); left > 0; left--) headers.push([input.latin1(), input.latin1()])
  const bodyBytes = input.varint()
  const isElsewhere = (flags & PAGE_FLAG.elsewhere) !== 0
  const elsewhere = isElsewhere ? { segment: input.u16(), ordinal: input.u32() } : undefined
  const body = input.rawBytes(input.remaining)
  if (!isElsewhere && body.length !== bodyBytes) throw new MalformedValue('a body of another length', input.at)
  return { key: stored.key, flags, status, sha256, headers, body, bodyBytes, elsewhere }
}

/** What was compressed when its segment was sealed: at most a record's worth, so the limit is the format's. */
const PART_BYTES_MAX = 8 * 1024 * 1024

function inflate(bytes: Uint8Array, decode: DecodeContent): Uint8Array {
  const {
    bytes: inflated,
    truncated,
    trouble,
  } = decode(bytes, 'zstd', {
    decodedBytesMax: PART_BYTES_MAX,
    ratioMax: Number.POSITIVE_INFINITY,
  })
  if (truncated || trouble !== undefined) throw new MalformedValue('a compressed page that cannot be read', 0)
  return inflated
}

/** The body as received, wherever it is. Cost: two reads more where it is elsewhere. */
export function bodyOf(pages: log.PageSource, page: Page, decode: DecodeContent): Uint8Array {
  if (page.elsewhere === undefined) return page.body
  const holder = readPage(pages, page.elsewhere, decode)
  if (holder === undefined || holder.elsewhere !== undefined) throw new MalformedValue('a page without its body', 0)
  return holder.body
}
