/**
 * A body made ready for the scanner: bytes in which every byte below 0x80 that markup is made of is that character.
 *
 * Invariant: `text` is `bytes` read as Latin-1, so positions in both are the same. A slice of `text` keeps all of it
 * alive; what outlives the scan comes from `flatText` or `valueText`, which copy.
 */
import { decodeHTMLAttribute } from 'entities/decode'
import { decodeText } from './decode.ts'

/** `latin1Slice` is what `toString('latin1')` calls when it has found out what it is asked; here that is half the cost. */
type PageBytes = Buffer & { latin1Slice(start: number, end: number): string }

export type Page = {
  readonly bytes: PageBytes
  readonly text: string
  /** The encoding of `bytes`. */
  readonly encoding: string
}

/** Encodings in which an ASCII byte may be half of another character, even `<`; they are decoded as a whole. */
const NOT_ASCII: ReadonlySet<string> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp', 'replacement'])

/** Cost: one copy; a second one for the rare encodings that do not contain ASCII. */
export function pageOf(body: Uint8Array, encoding: string): Page {
  const isAscii = !NOT_ASCII.has(encoding)
  const bytes = (
    isAscii ? Buffer.from(body.buffer, body.byteOffset, body.length) : Buffer.from(decodeText(body, encoding))
  ) as PageBytes
  return { bytes, text: bytes.latin1Slice(0, bytes.length), encoding: isAscii ? encoding : 'utf-8' }
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
