/**
 * Writes the query of a link in the encoding of its page, as browsers do: `?q=П` on a windows-1251 page is `?q=%CF`.
 *
 * Source: WHATWG URL "percent-encode after encoding" with the encoders of the Encoding Standard. What an encoding cannot
 * say becomes a decimal character reference, percent-encoded.
 */
import { encodeIso2022Jp } from './iso-2022-jp.ts'
import { type PairEncoding, pairTable } from './pairs.ts'

/** Bytes of a code point as one number, big-endian; undefined where the encoding has none. */
type Encoder = (codePoint: number) => number | undefined

/** Encodings that write links in UTF-8: UTF-8 itself and those that only decode. */
const UTF8_OUTPUT: ReadonlySet<string> = new Set(['utf-8', 'utf-16le', 'utf-16be', 'replacement'])

const encoders = new Map<string, Encoder>()

/**
 * Replaces the non-ASCII characters in a link's query by escapes in the page's encoding; the rest is left to the URL
 * parser. A link whose scheme is not http or https is not crawlable, so it does not matter here.
 *
 * Cost: linear, and up to 30 ms when an East Asian encoding is met for the first time.
 */
export function encodeQueryOf(href: string, encoding: string): string {
  const queryAt = href.indexOf('?')
  if (queryAt < 0 || UTF8_OUTPUT.has(encoding)) return href
  const hashAt = href.indexOf('#')
  const end = hashAt < 0 ? href.length : hashAt
  if (queryAt > end) return href
  const query = href.slice(queryAt, end)
  if (/^[\0-\x7f]*$/.test(query)) return href
  return href.slice(0, queryAt) + percentEncoded(query.toWellFormed(), encoding) + href.slice(end)
}

function percentEncoded(query: string, encoding: string): string {
  if (encoding === 'iso-2022-jp') return encodeIso2022Jp(query, queryText)
  let encoder = encoders.get(encoding)
  if (encoder === undefined) {
    encoder = encoderFor(encoding)
    encoders.set(encoding, encoder)
  }
  let text = ''
  for (const character of query) {
    const codePoint = character.codePointAt(0) ?? 0
    text += codePoint < 0x80 ? character : queryText(encoder(codePoint), codePoint)
  }
  return text
}

/** Bytes that the query of an http URL does not take raw: the special-query percent-encode set of WHATWG URL. */
function isEscaped(byte: number): boolean {
  return (
    byte <= 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x23 || byte === 0x27 || byte === 0x3c || byte === 0x3e
  )
}

function queryText(bytes: number | undefined, codePoint: number): string {
  if (bytes === undefined) return `%26%23${codePoint}%3B`
  let text = ''
  for (let shift = bytes > 0xffff ? 24 : bytes > 0xff ? 8 : 0; shift >= 0; shift -= 8) {
    const byte = (bytes >>> shift) & 0xff
    const hex = byte.toString(16).toUpperCase().padStart(2, '0')
    text += isEscaped(byte) ? '%' + hex : String.fromCharCode(byte)
  }
  return text
}

function encoderFor(encoding: string): Encoder {
  switch (encoding) {
    case 'big5':
    case 'euc-kr':
    case 'gbk':
      return pairEncoder(encoding)
    case 'gb18030':
      return gb18030Encoder()
    case 'shift_jis':
    case 'euc-jp':
      return japaneseEncoder(encoding)
    default:
      return singleByteEncoder(encoding)
  }
}

function singleByteEncoder(encoding: string): Encoder {
  const bytes = new Map<number, number>()
  const text = new TextDecoder(encoding).decode(Uint8Array.from({ length: 128 }, (_, at) => 0x80 + at))
  for (let at = 0; at < 128; at++) {
    const codePoint = text.charCodeAt(at)
    if (codePoint !== 0xfffd) bytes.set(codePoint, 0x80 + at)
  }
  return (codePoint) => bytes.get(codePoint)
}

/** Leads that only decode: the Hong Kong rows of Big5 and NEC's copy of IBM's extensions in Shift_JIS. */
function isDecodeOnly(encoding: PairEncoding, lead: number): boolean {
  return (encoding === 'big5' && lead < 0xa1) || (encoding === 'shift_jis' && (lead === 0xed || lead === 0xee))
}

/** Of these the standard takes Big5's last pair, of all others the first. */
const BIG5_LAST: ReadonlySet<number> = new Set([0x2550, 0x255e, 0x2561, 0x256a, 0x5341, 0x5345])

function pairEncoder(encoding: PairEncoding): Encoder {
  const pairs = new Map<number, number>()
  pairTable(encoding).forEach((codePoint, at) => {
    const pair = at | 0x8000
    // Shift_JIS reads its users' characters but never writes them.
    const isPrivate = encoding === 'shift_jis' && codePoint >= 0xe000 && codePoint <= 0xf8ff
    if (codePoint === 0 || isPrivate || isDecodeOnly(encoding, pair >> 8)) return
    if (!pairs.has(codePoint) || (encoding === 'big5' && BIG5_LAST.has(codePoint))) pairs.set(codePoint, pair)
  })
  if (encoding === 'gbk') pairs.set(0x20ac, 0x80)
  return (codePoint) => pairs.get(codePoint)
}

function japaneseEncoder(encoding: 'shift_jis' | 'euc-jp'): Encoder {
  const pairOf = pairEncoder(encoding)
  return (codePoint) => {
    if (codePoint === 0x80 && encoding === 'shift_jis') return 0x80
    if (codePoint === 0xa5) return 0x5c
    if (codePoint === 0x203e) return 0x7e
    if (codePoint >= 0xff61 && codePoint <= 0xff9f) {
      return codePoint - 0xff61 + (encoding === 'shift_jis' ? 0xa1 : 0x8ea1)
    }
    return pairOf(codePoint === 0x2212 ? 0xff0d : codePoint)
  }
}

/** Four bytes count in tens and 126s from 0x81308130. */
function fourBytes(pointer: number): number {
  const last = 0x30 + (pointer % 10)
  const third = 0x81 + (Math.floor(pointer / 10) % 126)
  const second = 0x30 + (Math.floor(pointer / 1260) % 10)
  const first = 0x81 + Math.floor(pointer / 12600)
  return ((first << 24) | (second << 16) | (third << 8) | last) >>> 0
}

function gb18030Encoder(): Encoder {
  const pairs = new Map<number, number>()
  const decoder = new TextDecoder('gb18030')
  const add = (bytes: number, codePoint: number | undefined): void => {
    if (codePoint !== undefined && codePoint !== 0xfffd && !pairs.has(codePoint)) pairs.set(codePoint, bytes)
  }
  for (let pair = 0x8140; pair <= 0xfefe; pair++) {
    const text = decoder.decode(Uint8Array.of(pair >> 8, pair & 0xff))
    if (text.length === 1) add(pair, text.charCodeAt(0))
  }
  for (let pointer = 0; pointer < 39_420; pointer++) {
    const bytes = fourBytes(pointer)
    add(bytes, decoder.decode(Uint8Array.of(bytes >>> 24, bytes >>> 16, bytes >>> 8, bytes)).codePointAt(0))
  }
  return (codePoint) => (codePoint > 0xffff ? fourBytes(189_000 + codePoint - 0x1_0000) : pairs.get(codePoint))
}
