/**
 * Tags as the WHATWG tokenizer reads them (HTML 13.2.5.6 to 13.2.5.40), without building anything.
 *
 * Invariant: every function returns where to go on, always beyond where it began; a position beyond the page's length
 * means that the page's end cut the tag, which then is no tag. No loop asks for the end: the page's tail ends it.
 */
import {
  APOSTROPHE,
  ATTRIBUTE_NAME_BYTE,
  EQUALS,
  GREATER,
  HASH,
  LINK_CLASS,
  QUOTE,
  SEPARATOR,
  SEPARATOR_CLASS,
  SLASH,
} from './bytes.ts'
import { ATTRIBUTES, hashStep, idOf } from './names.ts'

/** The attributes of one tag that have a name in the table; reused from tag to tag. */
export type Tag = {
  /** Bit n is set when attribute n is present; of two with a name the first counts. */
  present: number
  isSelfClosing: boolean
  /** Positions of the values, by attribute id. */
  readonly start: Int32Array
  readonly end: Int32Array
  /** Position of the first `#` in the value, else its end. */
  readonly hash: Int32Array
  /** Classes of the bytes up to there, joined (`IN_LINK`). */
  readonly classes: Int32Array
}

const ATTRIBUTES_MAX = 32

export function emptyTag(): Tag {
  const numbers = (): Int32Array => new Int32Array(ATTRIBUTES_MAX)
  return { present: 0, isSelfClosing: false, start: numbers(), end: numbers(), hash: numbers(), classes: numbers() }
}

/** Reads a tag's attributes; `at` is behind its name. */
export function readTag(bytes: Uint8Array, at: number, tag: Tag): number {
  tag.present = 0
  for (;;) {
    const gapAt = at
    at = skipGap(bytes, at)
    if (bytes[at] === GREATER) {
      // A slash at the end of an unquoted value is part of the value.
      tag.isSelfClosing = at > gapAt && bytes[at - 1] === SLASH
      return at + 1
    }
    const nameAt = at
    // An equals sign at the start of a name belongs to it.
    let hash = bytes[at] === EQUALS ? EQUALS : 0
    if (hash !== 0) at++
    for (let lower = ATTRIBUTE_NAME_BYTE[bytes[at]]; lower !== 0; lower = ATTRIBUTE_NAME_BYTE[bytes[at]]) {
      hash = hashStep(hash, lower)
      at++
    }
    const id = idOf(ATTRIBUTES, bytes, nameAt, at, hash)
    const isWanted = id !== 0 && (tag.present & (1 << id)) === 0
    at = skipBlanks(bytes, at)
    if (bytes[at] === EQUALS) at = isWanted ? readValue(bytes, at + 1, tag, id) : skipValue(bytes, at + 1)
    else if (isWanted) setValue(tag, id, at, at, at, 0)
  }
}

/** Skips a tag nobody asks for, of either kind; `at` is behind its name. */
export function skipTag(bytes: Uint8Array, at: number): number {
  for (;;) {
    at = skipGap(bytes, at)
    if (bytes[at] === GREATER) return at + 1
    at++
    while (ATTRIBUTE_NAME_BYTE[bytes[at]] !== 0) at++
    at = skipBlanks(bytes, at)
    if (bytes[at] === EQUALS) at = skipValue(bytes, at + 1)
  }
}

function skipBlanks(bytes: Uint8Array, at: number): number {
  while (SEPARATOR_CLASS[bytes[at]] === SEPARATOR.blank) at++
  return at
}

/** What stands between attributes: blanks and slashes. */
function skipGap(bytes: Uint8Array, at: number): number {
  let kind = SEPARATOR_CLASS[bytes[at]]
  while (kind === SEPARATOR.blank || kind === SEPARATOR.slash) kind = SEPARATOR_CLASS[bytes[++at]]
  return at
}

function setValue(tag: Tag, id: number, start: number, hash: number, end: number, classes: number): void {
  tag.present |= 1 << id
  tag.start[id] = start
  tag.hash[id] = hash
  tag.end[id] = end
  tag.classes[id] = classes
}

/** Reads the value behind an equals sign. */
function readValue(bytes: Uint8Array, at: number, tag: Tag, id: number): number {
  at = skipBlanks(bytes, at)
  const quote = bytes[at]
  if (quote !== QUOTE && quote !== APOSTROPHE) return readUnquoted(bytes, at, tag, id)
  const start = ++at
  let classes = 0
  for (let byte = bytes[at]; byte !== quote && byte !== HASH; byte = bytes[++at]) classes |= LINK_CLASS[byte]
  const end = bytes[at] === HASH ? endOfQuoted(bytes, at, quote) : at
  setValue(tag, id, start, at, end, classes)
  return end + 1
}

function readUnquoted(bytes: Uint8Array, at: number, tag: Tag, id: number): number {
  const end = endOfUnquoted(bytes, at)
  let hash = at
  let classes = 0
  for (; hash < end && bytes[hash] !== HASH; hash++) classes |= LINK_CLASS[bytes[hash]]
  setValue(tag, id, at, hash, end, classes)
  return end
}

function skipValue(bytes: Uint8Array, at: number): number {
  at = skipBlanks(bytes, at)
  const quote = bytes[at]
  if (quote === QUOTE || quote === APOSTROPHE) return endOfQuoted(bytes, at + 1, quote) + 1
  return endOfUnquoted(bytes, at)
}

function endOfQuoted(bytes: Uint8Array, at: number, quote: number): number {
  while (bytes[at] !== quote) at++
  return at
}

function endOfUnquoted(bytes: Uint8Array, at: number): number {
  let kind = SEPARATOR_CLASS[bytes[at]]
  while (kind !== SEPARATOR.blank && kind !== SEPARATOR.greater) kind = SEPARATOR_CLASS[bytes[++at]]
  return at
}
