/**
 * The encoding of a page, as WHATWG has a browser find it (HTML 13.2.3.2): byte order mark, header, declaration in the
 * first 1,024 bytes, a guess.
 *
 * Invariant: the result is a name of the Encoding Standard in lower case (`replacement` included).
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { encodingOf } from './labels.ts'
import { mimeTypeOf } from './mime.ts'
import { prescan } from './prescan.ts'

/** Where an encoding is from, the surest first. What a page declares beyond the prescan overrules the last two. */
export type CharsetSource = 'bom' | 'header' | 'prescan' | 'guess'

export type Charset = { readonly encoding: string; readonly source: CharsetSource }

/**
 * Finds the encoding of a page.
 *
 * @param bytes        the whole body, content encodings removed
 * @param contentType  the Content-Type header as received
 * Cost: the prescan's 1,024 bytes; for a page that declares nothing one pass to see whether it is UTF-8.
 */
export function detectCharset(bytes: Uint8Array, contentType?: string): Charset {
  const marked = markedEncoding(bytes)
  if (marked !== undefined) return { encoding: marked, source: 'bom' }
  const label = contentType === undefined ? undefined : mimeTypeOf(contentType)?.charset
  const labelled = label === undefined ? undefined : encodingOf(label)
  if (labelled !== undefined) return { encoding: labelled, source: 'header' }
  const declared = prescan(bytes)
  if (declared !== undefined) return { encoding: declared, source: 'prescan' }
  // The standard leaves the guess to us: bytes that are valid UTF-8 by chance are rare, and windows-1252 is its default.
  return { encoding: isProbablyUtf8(bytes) ? 'utf-8' : 'windows-1252', source: 'guess' }
}

/** Valid UTF-8, or cut within a character; but one odd byte at the end of ASCII is the last letter of a Latin text. */
function isProbablyUtf8(bytes: Uint8Array): boolean {
  const whole = withoutCutCharacter(bytes)
  return isUtf8(whole) && (whole.length === bytes.length || !isAscii(whole))
}

function markedEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : undefined
}

/** A body cut at its size limit may end within a character: at most three bytes, the first of them a lead byte. */
function withoutCutCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]
    if (byte >= 0xc2 && byte < 0xf5) {
      const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
      return back < length ? bytes.subarray(0, bytes.length - back) : bytes
    }
    if (byte < 0x80) return bytes
  }
  return bytes
}
