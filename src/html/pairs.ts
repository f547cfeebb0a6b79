/**
 * Character tables of the two-byte encodings, made on first use from the runtime's decoders and put right where those
 * differ from the Encoding Standard.
 *
 * Invariant: an entry is the code point the standard's index gives for the pair, or 0 where it gives none. Two pointers
 * of Big5 that stand for two code points each are the decoder's business.
 *
 * What the runtime (ICU) has wrong, found by comparing all pairs with @exodus/bytes 1.16.0, which has the indexes: EUC-KR lacks Unified Hangul and two
 * signs; Big5 lacks the Hong Kong set, and both answer private-use characters where the standard has an error.
 */
import { BIG5_ROWS } from './big5-rows.ts'

/** Code point of a pair at `((lead & 0x7f) << 8) | trail`; 128 KiB each. */
export type PairTable = Uint32Array

export type PairEncoding = 'big5' | 'euc-kr' | 'shift_jis' | 'euc-jp' | 'gbk'

const tables = new Map<string, PairTable>()

/** The table of an encoding. Cost: about 20 ms at the first call, then nothing. */
export function pairTable(encoding: PairEncoding): PairTable {
  let table = tables.get(encoding)
  if (table === undefined) {
    table = fromRuntime(encoding, Uint8Array.of())
    if (encoding === 'big5') addBig5Rows(table)
    if (encoding === 'euc-kr') addUnifiedHangul(table)
    tables.set(encoding, table)
  }
  return table
}

let supplement: PairTable | undefined

/** JIS X 0212: the pairs that stand behind 0x8F in EUC-JP. */
export function jis0212Table(): PairTable {
  if (supplement === undefined) {
    supplement = fromRuntime('euc-jp', Uint8Array.of(0x8f))
    // The runtime has IBM's extensions in row 0x73, the standard has nothing there.
    supplement.fill(0, (0x73 << 8) | 0xa1, (0x73 << 8) | 0xff)
  }
  return supplement
}

function fromRuntime(encoding: string, prefix: Uint8Array): PairTable {
  const table = new Uint32Array(0x80 << 8)
  const decoder = new TextDecoder(encoding)
  const hasPrivateUse = encoding === 'shift_jis' || encoding === 'gbk'
  const bytes = new Uint8Array(prefix.length + 2)
  bytes.set(prefix)
  // In EUC-JP 0x8E and 0x8F are shifts, not leads.
  for (let lead = encoding === 'euc-jp' ? 0xa1 : 0x81; lead < 0xff; lead++) {
    for (let trail = 0x40; trail < 0xff; trail++) {
      bytes[prefix.length] = lead
      bytes[prefix.length + 1] = trail
      table[((lead & 0x7f) << 8) | trail] = singleCodePoint(decoder.decode(bytes), hasPrivateUse)
    }
  }
  return table
}

/** 0 unless the text is one real character. Only Shift_JIS and GBK have private-use characters by the standard. */
function singleCodePoint(text: string, hasPrivateUse: boolean): number {
  const codePoint = text.codePointAt(0) ?? 0
  if (codePoint === 0xfffd || codePoint < 0x80 || text.length !== (codePoint > 0xffff ? 2 : 1)) return 0
  return !hasPrivateUse && codePoint >= 0xe000 && codePoint <= 0xf8ff ? 0 : codePoint
}

function addBig5Rows(table: PairTable): void {
  for (const [lead, row] of BIG5_ROWS) {
    let place = 0
    for (const character of row) {
      const trail = place < 63 ? 0x40 + place : 0xa1 + place - 63
      if (character !== ' ') table[((lead & 0x7f) << 8) | trail] = character.codePointAt(0) ?? 0
      place++
    }
  }
}

/**
 * Unified Hangul is no table but a rule: the 8,822 modern syllables that KS X 1001 leaves out, in Unicode order, fill
 * the places that KS X 1001 leaves free, in order.
 */
function addUnifiedHangul(table: PairTable): void {
  const known = new Set(table)
  let syllable = 0xac00
  for (let lead = 0x81; lead <= 0xc6; lead++) {
    for (let trail = 0x41; trail <= 0xfe; trail++) {
      const isLetter = (trail > 0x5a && trail < 0x61) || (trail > 0x7a && trail < 0x81)
      if (isLetter || (lead > 0xa0 && trail > 0xa0)) continue
      while (known.has(syllable)) syllable++
      if (syllable > 0xd7a3) break
      table[((lead & 0x7f) << 8) | trail] = syllable++
    }
  }
  table[(0x22 << 8) | 0xe6] = 0x20ac // the euro sign and
  table[(0x22 << 8) | 0xe7] = 0xae // the registered sign came with the revision of 1998
}
