/**
 * Tags as the WHATWG tokenizer reads them (HTML 13.2.5.6 to 13.2.5.40), without building anything.
 *
 * Invariant: every function returns where to go on, always beyond where it began.
 */
import {
  APOSTROPHE,
  ATTRIBUTE_NAME_BYTE,
  EQUALS,
  GREATER,
  HASH,
  IN_LINK,
  LINK_CLASS,
  QUOTE,
  SEPARATOR,
  SEPARATOR_CLASS,
  SLASH,
} from './bytes.ts'
import { ATTRIBUTES, hashStep, idOf } from './names.ts'
import type { Page } from './page.ts'

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

/** Reads a tag's attributes; `at` is behind its name. -1 for a tag that the page's end cuts: it is no tag. */
export function readTag(page: Page, at: number, tag: Tag): number {
  const { bytes } = page
  const length = bytes.length
  tag.present = 0
  for (;;) {
    const gapAt = at
    at = skipGap(bytes, at)
    if (at >= length) return -1
    if (bytes[at] === GREATER) {
      // A slash at the end of an unquoted value is part of the value.
      tag.isSelfClosing = at > gapAt && bytes[at - 1] === SLASH
      return at + 1
    }
    const nameAt = at
    // An equals sign at the start of a name belongs to it.
    let hash = bytes[at] === EQUALS ? EQUALS : 0
    if (hash !== 0) at++
    for (let lower = 0; at < length; at++) {
      lower = ATTRIBUTE_NAME_BYTE[bytes[at]]
      if (lower === 0) break
      hash = hashStep(hash, lower)
    }
    const id = idOf(ATTRIBUTES, bytes, nameAt, at, hash)
    at = skipBlanks(bytes, at)
    if (at < length && bytes[at] === EQUALS)
      at = isFirst(tag, id) ? readValue(page, at + 1, tag, id) : skipValue(page, at + 1)
    else if (isFirst(tag, id)) setValue(tag, id, at, at, at, 0)
  }
}

/** Skips a tag nobody asks for, of either kind; `at` is behind its name. */
export function skipTag(page: Page, at: number): number {
  const { bytes } = page
  const length = bytes.length
  for (;;) {
    at = skipGap(bytes, at)
    if (at >= length) return length
    if (bytes[at] === GREATER) return at + 1
    at++
    while (at < length && ATTRIBUTE_NAME_BYTE[bytes[at]] !== 0) at++
    at = skipBlanks(bytes, at)
    if (at < length && bytes[at] === EQUALS) at = skipValue(page, at + 1)
  }
}

function skipBlanks(bytes: Uint8Array, at: number): number {
  const length = bytes.length
  while (at < length && SEPARATOR_CLASS[bytes[at]] === SEPARATOR.blank) at++
  return at
}

/** What stands between attributes: blanks and slashes. */
function skipGap(bytes: Uint8Array, at: number): number {
  const length = bytes.length
  for (; at < length; at++) {
    const kind = SEPARATOR_CLASS[bytes[at]]
    if (kind !== SEPARATOR.blank && kind !== SEPARATOR.slash) break
  }
  return at
}

function isFirst(tag: Tag, id: number): boolean {
  return id !== 0 && (tag.present & (1 << id)) === 0
}

function setValue(tag: Tag, id: number, start: number, hash: number, end: number, classes: number): void {
  tag.present |= 1 << id
  tag.start[id] = start
  tag.hash[id] = hash
  tag.end[id] = end
  tag.classes[id] = classes
}

/** Reads the value behind an equals sign. */
function readValue(page: Page, at: number, tag: Tag, id: number): number {
  const { bytes } = page
  const length = bytes.length
  at = skipBlanks(bytes, at)
  const quote = at < length ? bytes[at] : 0
  if (quote !== QUOTE && quote !== APOSTROPHE) return readUnquoted(bytes, at, tag, id)
  const start = ++at
  let classes = 0
  for (; at < length; at++) {
    const kind = LINK_CLASS[bytes[at]]
    if (kind >= IN_LINK.stop && (bytes[at] === quote || bytes[at] === HASH)) break
    classes |= kind
  }
  const end = at < length && bytes[at] === HASH ? endOfQuoted(page, at, quote) : at
  setValue(tag, id, start, at, end, classes)
  return end + 1
}

function readUnquoted(bytes: Uint8Array, at: number, tag: Tag, id: number): number {
  const start = at
  let hash = -1
  let classes = 0
  at = endOfUnquoted(bytes, at)
  for (let each = start; each < at && hash < 0; each++) {
    if (bytes[each] === HASH) hash = each
    else classes |= LINK_CLASS[bytes[each]]
  }
  setValue(tag, id, start, hash < 0 ? at : hash, at, classes)
  return at
}

function skipValue(page: Page, at: number): number {
  const { bytes } = page
  at = skipBlanks(bytes, at)
  const quote = at < bytes.length ? bytes[at] : 0
  if (quote === QUOTE || quote === APOSTROPHE) return endOfQuoted(page, at + 1, quote) + 1
  return endOfUnquoted(bytes, at)
}

function endOfQuoted(page: Page, at: number, quote: number): number {
  const end = page.text.indexOf(quote === QUOTE ? '"' : "'", at)
  return end < 0 ? page.bytes.length : end
}

function endOfUnquoted(bytes: Uint8Array, at: number): number {
  const length = bytes.length
  for (; at < length; at++) {
    const kind = SEPARATOR_CLASS[bytes[at]]
    if (kind === SEPARATOR.blank || kind === SEPARATOR.greater) break
  }
  return at
}
