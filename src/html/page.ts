/**
 * A body made ready for the scanner: bytes in which every byte below 0x80 that markup is made of is that character, and
 * behind them a tail that ends whatever is open, so that no loop has to ask for the end of the page.
 *
 * Invariant: the tail holds `<`, both quotes and `>`, in an order in which each construct finds its end; a position
 * beyond `length` therefore means that the page ended first. `bytes` are lent until the next page is made; what
 * outlives that comes from `flatText`, `decodedText` or `valueText`, which copy.
 */
import { decodeHTMLAttribute } from 'entities/decode'
import { decodeText } from './decode.ts'

/** `latin1Slice` is what `toString('latin1')` calls when it has found out what it is asked; here that is half the cost. */
type PageBytes = Buffer & { latin1Slice(start: number, end: number): string }

export type Page = {
  /** The page, the tail, and nothing of meaning behind it. */
  readonly bytes: PageBytes
  readonly length: number
  /** The encoding of `bytes`. */
  readonly encoding: string
}

/**
 * `<` ends text; `>` ends names, unquoted values, tags and bogus comments; a quote ends a value, and then `>` the tag.
 * No blank and no slash: an end tag's name that the page cuts has not ended.
 */
const TAIL = Buffer.from('<>"\'>')

/** Encodings in which an ASCII byte may be half of another character, even `<`; they are decoded as a whole. */
const NOT_ASCII: ReadonlySet<string> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp', 'replacement'])

/** Bytes of the room that all but the largest pages share: it stays in the processor's cache. */
const ROOM_BYTES = 512 * 1024

const room = Buffer.allocUnsafeSlow(ROOM_BYTES)

/** Cost: one copy; for the rare encodings that do not contain ASCII also a decoding. */
export function pageOf(body: Uint8Array, encoding: string): Page {
  const isAscii = !NOT_ASCII.has(encoding)
  const source = isAscii ? body : Buffer.from(decodeText(body, encoding))
  const bytes = source.length + TAIL.length <= ROOM_BYTES ? room : Buffer.allocUnsafe(source.length + TAIL.length)
  bytes.set(source)
  bytes.set(TAIL, source.length)
  return { bytes: bytes as PageBytes, length: source.length, encoding: isAscii ? encoding : 'utf-8' }
}

/** ASCII of the page as a string of its own. */
export function flatText(page: Page, start: number, end: number): string {
  return page.bytes.latin1Slice(start, end)
}

/** Text of the page, decoded, as the tokenizer gives it: NUL is U+FFFD. A string of its own. */
export function decodedText(page: Page, start: number, end: number): string {
  let text = flatText(page, start, end)
  if (!/^[\x01-\x7f]*$/.test(text)) text = decodeText(page.bytes.subarray(start, end), page.encoding)
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Value of an attribute, character references decoded. A string of its own. */
export function valueText(page: Page, start: number, end: number): string {
  const text = decodedText(page, start, end)
  return text.includes('&') ? decodeHTMLAttribute(text) : text
}
