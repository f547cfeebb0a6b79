/**
 * Classes of bytes, as tables: the scanner asks one question of every byte of a page, so each answer is one load.
 *
 * Invariant: bytes ≥ 0x80 are ordinary in tag and attribute names, and special in values.
 */

const TAB = 0x09
const SPACE = 0x20
export const EXCLAMATION = 0x21
export const QUOTE = 0x22
export const HASH = 0x23
export const APOSTROPHE = 0x27
export const DASH = 0x2d
export const SLASH = 0x2f
export const LESS = 0x3c
export const EQUALS = 0x3d
export const GREATER = 0x3e
export const QUESTION = 0x3f

function table(classOf: (byte: number) => number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => classOf(byte))
}

/** What a byte separates between `<` and `>`, outside values. */
export const SEPARATOR = { none: 0, blank: 1, slash: 2, greater: 3 } as const

export const SEPARATOR_CLASS = table((byte) => {
  if (byte === TAB || byte === 0x0a || byte === 0x0c || byte === 0x0d || byte === SPACE) return SEPARATOR.blank
  if (byte === SLASH) return SEPARATOR.slash
  return byte === GREATER ? SEPARATOR.greater : SEPARATOR.none
})

/** ASCII in lower case. */
export const LOWER = table((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte))

/** A byte of a tag's name in lower case; 0 for a byte that ends the name (NUL is given as 0xFF: it ends nothing). */
export const TAG_NAME_BYTE = table((byte) => (SEPARATOR_CLASS[byte] === SEPARATOR.none ? LOWER[byte] || 0xff : 0))

/** The same for an attribute's name, which an equals sign ends too. */
export const ATTRIBUTE_NAME_BYTE = table((byte) => (byte === EQUALS ? 0 : TAG_NAME_BYTE[byte]))

/** 1 for an ASCII letter: only it opens a tag behind `<`. */
export const IS_LETTER = table((byte) => (LOWER[byte] >= 0x61 && LOWER[byte] <= 0x7a ? 1 : 0))

/**
 * What the bytes of a link say about the work it needs, as bits to be joined.
 * `special`: not sure to stand in a URL as it is.
 * `dot`, `colon`: harmless in most places.
 */
export const IN_LINK = { special: 1, dot: 2, colon: 4 } as const

const HARMLESS = /[A-Za-z0-9\-_~!$()*+,;=@/?]/

export const LINK_CLASS = table((byte) => {
  const character = String.fromCharCode(byte)
  if (character === '.') return IN_LINK.dot
  if (character === ':') return IN_LINK.colon
  return HARMLESS.test(character) ? 0 : IN_LINK.special
})
