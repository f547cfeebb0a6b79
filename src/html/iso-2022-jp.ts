/**
 * ISO-2022-JP by the Encoding Standard (section 12.2): the one encoding of the web whose ASCII bytes need not be ASCII.
 *
 * Invariant: two escapes with no character between them are an error, so that no text can hide between escapes.
 */
import { pairTable } from './pairs.ts'

type CharacterSet = 'ascii' | 'roman' | 'katakana' | 'jis0208'

const ESC = 0x1b
const ERROR = 0xfffd

/** The two bytes behind ESC that choose a set. */
const SET_BY_ESCAPE: ReadonlyMap<number, CharacterSet> = new Map([
  [0x2842, 'ascii'],
  [0x284a, 'roman'],
  [0x2849, 'katakana'],
  [0x2440, 'jis0208'],
  [0x2442, 'jis0208'],
])

/** Decodes ISO-2022-JP; malformed parts become U+FFFD. Cost: linear. */
export function decodeIso2022Jp(bytes: Uint8Array): string {
  const codePoints: number[] = []
  let set: CharacterSet = 'ascii'
  let isBehindEscape = false
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] === ESC) {
      const chosen = at + 2 < bytes.length ? SET_BY_ESCAPE.get((bytes[at + 1] << 8) | bytes[at + 2]) : undefined
      if (chosen === undefined || isBehindEscape) codePoints.push(ERROR)
      isBehindEscape = chosen !== undefined
      set = chosen ?? set
      at += chosen === undefined ? 1 : 3
      continue
    }
    isBehindEscape = false
    if (set !== 'jis0208' || bytes[at] < 0x21 || bytes[at] > 0x7e) {
      codePoints.push(singleCodePoint(bytes[at++], set))
    } else {
      codePoints.push(pairCodePoint(bytes, at))
      // An escape in the place of a trail byte is still an escape; any other byte there is used up.
      at += bytes[at + 1] === ESC ? 1 : 2
    }
  }
  return textOf(codePoints)
}

function singleCodePoint(byte: number, set: CharacterSet): number {
  if (set === 'katakana') return byte >= 0x21 && byte <= 0x5f ? 0xff61 - 0x21 + byte : ERROR
  if (set === 'jis0208' || byte > 0x7f || byte === 0x0e || byte === 0x0f) return ERROR
  if (set === 'roman' && byte === 0x5c) return 0xa5
  if (set === 'roman' && byte === 0x7e) return 0x203e
  return byte
}

/** The rows of JIS X 0208 are those of EUC-JP without the high bits. */
function pairCodePoint(bytes: Uint8Array, at: number): number {
  const trail = at + 1 < bytes.length ? bytes[at + 1] : 0
  if (trail < 0x21 || trail > 0x7e) return ERROR
  return pairTable('euc-jp')[(bytes[at] << 8) | trail | 0x80] || ERROR
}

function textOf(codePoints: readonly number[]): string {
  return Buffer.from(Uint16Array.from(codePoints).buffer).toString('utf16le')
}

const ESCAPES = { ascii: '%1B(B', roman: '%1B(J', jis0208: '%1B$B' } as const

type WrittenSet = keyof typeof ESCAPES

/**
 * Encodes the query of a link; ASCII in it is left alone but for the escapes that lead back to it.
 *
 * @param query  well-formed text
 * @param write  writes bytes, given as one big-endian number, or a reference where there are none
 */
export function encodeIso2022Jp(
  query: string,
  write: (bytes: number | undefined, codePoint: number) => string,
): string {
  let text = ''
  let set: WrittenSet = 'ascii'
  for (const character of query) {
    const codePoint = fullWidthOf(character)
    const bytes = codePoint < 0x80 ? codePoint : (ROMAN.get(codePoint) ?? pairsByCodePoint().get(codePoint))
    const wanted = wantedSet(codePoint, bytes, set)
    if (wanted !== set) text += ESCAPES[wanted]
    set = wanted
    text += codePoint < 0x80 ? character : write(bytes, codePoint)
  }
  return set === 'ascii' ? text : text + ESCAPES.ascii
}

/** What JIS X 0201's Roman set has in the places of backslash and tilde. */
const ROMAN: ReadonlyMap<number, number> = new Map([
  [0xa5, 0x5c],
  [0x203e, 0x7e],
])

function wantedSet(codePoint: number, bytes: number | undefined, set: WrittenSet): WrittenSet {
  if (ROMAN.has(codePoint)) return 'roman'
  if (bytes !== undefined && bytes > 0xff) return 'jis0208'
  // The Roman set serves for ASCII too, but for the two that it has not.
  return set === 'roman' && codePoint !== 0x5c && codePoint !== 0x7e ? 'roman' : 'ascii'
}

/** Half-width katakana have no place in the encoding; the minus sign is written as its full-width twin. */
function fullWidthOf(character: string): number {
  const codePoint = character.codePointAt(0) ?? 0
  if (codePoint === 0x2212) return 0xff0d
  if (codePoint < 0xff61 || codePoint > 0xff9f) return codePoint
  if (codePoint >= 0xff9e) return codePoint - 0xff9e + 0x309b
  return character.normalize('NFKC').charCodeAt(0)
}

let pairByCodePoint: Map<number, number> | undefined

function pairsByCodePoint(): Map<number, number> {
  if (pairByCodePoint === undefined) {
    pairByCodePoint = new Map()
    for (const [at, codePoint] of pairTable('euc-jp').entries()) {
      const isJis = at >> 8 >= 0x21 && (at & 0xff) >= 0xa1
      if (isJis && codePoint !== 0 && !pairByCodePoint.has(codePoint)) pairByCodePoint.set(codePoint, at & 0x7f7f)
    }
  }
  return pairByCodePoint
}
