/**
 * Keys: md5 of a URL or of a host, as the 16-character latin1 string that `crypto.hash` gives fastest.
 *
 * Tables and KEY items take a key as four little-endian words, so that nothing is allocated per entry.
 * MD5 names things here; it protects nothing (a digest of contents is SHA-256).
 */
import { hash } from 'node:crypto'
import { md5Block } from './md5-block.ts'

/** md5 as 16 latin1 characters, one per byte. */
export type Key = string & { readonly __brand: 'Key' }

export const KEY_BYTES = 16

/** The key of records about the process itself. */
export const ZERO_KEY = '\0'.repeat(KEY_BYTES) as Key

/**
 * md5 of a string's UTF-8 bytes (a canonical URL is ASCII). Node calls latin1 `binary` here.
 *
 * Cost: 0.3–0.5 µs for 75 characters; `createHash` would be six times that, hex output a quarter more.
 */
export function keyOf(text: string): Key {
  return hash('md5', text, 'binary') as Key
}

/** Longer texts go to the native hash, which is quicker a byte. */
const SHORT_CHARACTERS_MAX = 512
const BLOCK_BYTES = 64
/** Three bytes a character at most, and the padding: the bit 1, zeros, and the length in bits as 8 bytes. */
const short = new Int32Array((3 * SHORT_CHARACTERS_MAX) / 4 + (2 * BLOCK_BYTES) / 4)
const shortBytes = Buffer.from(short.buffer)
const state = new Int32Array(4)

/**
 * The four words of `keyOf(text)`, in memory that the next call writes over: read them at once. They may be negative;
 * tables take them so.
 *
 * Cost: 0.3 µs for 75 characters, a third of `keyOf` with `word`; nothing is allocated.
 */
export function keyWordsOf(text: string): Readonly<Int32Array> {
  if (text.length > SHORT_CHARACTERS_MAX) {
    const key = keyOf(text)
    for (let i = 0; i < 4; i++) state[i] = word(key, i)
    return state
  }
  const length = shortBytes.write(text, 0, 'utf8')
  const blocks = Math.floor((length + 8) / BLOCK_BYTES) + 1
  const words = (blocks * BLOCK_BYTES) / 4
  // Bytes of the last, unfinished word stay; everything behind them is padding.
  shortBytes[length] = 0x80
  shortBytes[length + 1] = 0
  shortBytes[length + 2] = 0
  shortBytes[length + 3] = 0
  for (let i = (length >> 2) + 1; i < words; i++) short[i] = 0
  short[words - 2] = length * 8
  state[0] = 0x67452301
  state[1] = 0xefcdab89
  state[2] = 0x98badcfe
  state[3] = 0x10325476
  for (let at = 0; at < words; at += BLOCK_BYTES / 4) md5Block(short, at, state)
  return state
}

/** Word `index` (0–3) of a key: its bytes 4·index to 4·index + 3 as a little-endian unsigned number. */
export function word(key: Key, index: number): number {
  const at = index << 2
  return (
    (key.charCodeAt(at) |
      (key.charCodeAt(at + 1) << 8) |
      (key.charCodeAt(at + 2) << 16) |
      (key.charCodeAt(at + 3) << 24)) >>>
    0
  )
}

/** The key made of four words: the inverse of `word`. */
export function keyFromWords(k0: number, k1: number, k2: number, k3: number): Key {
  return String.fromCharCode(
    k0 & 255,
    (k0 >>> 8) & 255,
    (k0 >>> 16) & 255,
    k0 >>> 24,
    k1 & 255,
    (k1 >>> 8) & 255,
    (k1 >>> 16) & 255,
    k1 >>> 24,
    k2 & 255,
    (k2 >>> 8) & 255,
    (k2 >>> 16) & 255,
    k2 >>> 24,
    k3 & 255,
    (k3 >>> 8) & 255,
    (k3 >>> 16) & 255,
    k3 >>> 24,
  ) as Key
}

/** 32 hexadecimal digits, for people. */
export function keyToHex(key: Key): string {
  return Buffer.from(key, 'latin1').toString('hex')
}

/** The key of 32 hexadecimal digits; undefined where the text is none. */
export function keyFromHex(hex: string): Key | undefined {
  return /^[0-9a-fA-F]{32}$/.test(hex) ? (Buffer.from(hex, 'hex').toString('latin1') as Key) : undefined
}
