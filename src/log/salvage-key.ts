/** What the KEY of a damaged segment tells of records that are gone, and whether it can be believed. */
import { crc32 } from 'node:zlib'
import type { LogFiles } from './files.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, ROLE, type Role } from './format.ts'
import type { LeftSegment } from './left-segments.ts'
import { readKeyUnchecked } from './reader.ts'
import { bytesOfWords } from './rebuild.ts'

/** A stretch of VAL: valid records without a gap, or none. */
export interface Stretch {
  readonly isLost: boolean
  readonly start: number
  end: number
}

/**
 * The KEY of a segment as its file has it, where it can be believed of records that are gone: its checksum is the one
 * stated, or at least it says of all records that are there what they say themselves. (Of a segment of which nothing else
 * is left it is believed if it ascends.)
 */
export function believedKey(
  files: LogFiles,
  segment: LeftSegment,
  stretches: readonly Stretch[],
  expected: Uint32Array<ArrayBuffer>,
): Uint32Array<ArrayBuffer> | undefined {
  const words = readKeyUnchecked(files, segment.number)
  if (words === undefined || words.length === 0) return undefined
  const { key } = segment
  if (key !== undefined) {
    const bytes = bytesOfWords(words)
    return bytes.length === key.bytes && crc32(bytes) === key.checksum ? words : undefined
  }
  return agreesWith(words, stretches, expected, files.role) ? words : undefined
}

/**
 * Whether `words`, but for the items of what is lost, are `expected`, and ascend. What stands behind the end of VAL is
 * no contradiction where the end is lost.
 */
function agreesWith(words: Uint32Array, stretches: readonly Stretch[], expected: Uint32Array, role: Role): boolean {
  const lost = stretches.filter(({ isLost }) => isLost)
  const isOpen = lost.at(-1) === stretches.at(-1)
  let range = 0
  let at = 0
  let before = 0
  for (let i = 0; i < words.length; i += ITEM_WORDS) {
    const position = words[i + ITEM_AT.position]
    if (position < before || (role === ROLE.events && itemKind(words[i + ITEM_AT.kindAndArg]) === 0)) return false
    before = position
    while (range < lost.length && position >= lost[range].end && !(isOpen && range === lost.length - 1)) range++
    if (range < lost.length && position >= lost[range].start) {
      // All that stands before it must have been met.
      if (at < expected.length && expected[at + ITEM_AT.position] < lost[range].start) return false
      continue
    }
    for (let w = 0; w < ITEM_WORDS; w++) if (words[i + w] !== expected[at + w]) return false
    at += ITEM_WORDS
  }
  return true
}

/** The items of a lost stretch; undefined where KEY ends before it does, and might have said more. */
export function itemsOfLost(
  key: Uint32Array<ArrayBuffer> | undefined,
  start: number,
  end: number,
  isOpen: boolean,
  segment: LeftSegment,
): Uint32Array | undefined {
  if (key === undefined) return undefined
  const goesOn = key[key.length - ITEM_WORDS + ITEM_AT.position] >= end
  if (!goesOn && !isOpen && segment.key === undefined) return undefined
  return itemsBetween(key, start, isOpen ? Number.POSITIVE_INFINITY : end)
}

function itemsBetween(words: Uint32Array<ArrayBuffer>, start: number, end: number): Uint32Array {
  let from = 0
  while (from < words.length && words[from + ITEM_AT.position] < start) from += ITEM_WORDS
  let to = from
  while (to < words.length && words[to + ITEM_AT.position] < end) to += ITEM_WORDS
  return words.subarray(from, to)
}

/** Records by their items: every one but the `segment` record has some. Behind the end of the last KEY it is not known. */
export function recordsIn(items: Uint32Array | undefined, isWithFirst: boolean, isOpen: boolean): number | undefined {
  if (items === undefined || (items.length === 0 && isOpen)) return undefined
  let count = isWithFirst ? 1 : 0
  for (let i = 0; i < items.length; i += ITEM_WORDS) {
    if (i === 0 || items[i + ITEM_AT.position] !== items[i - ITEM_WORDS + ITEM_AT.position]) count++
  }
  return count
}

/** Whether a last segment ends between two records, and its KEY goes on: a KEY that agrees with VAL as far as that goes. */
export function isCutShort(
  files: LogFiles,
  { number, statedBytes }: LeftSegment,
  stretches: readonly Stretch[],
  expected: Uint32Array,
): boolean {
  const last = stretches.at(-1)
  if (statedBytes !== undefined || last === undefined || last.isLost) return false
  const words = readKeyUnchecked(files, number)
  if (words === undefined || words.length === 0) return false
  if (words[words.length - ITEM_WORDS + ITEM_AT.position] < last.end) return false
  return agreesWith(words, [...stretches, nothingAt(last.end)], expected, files.role)
}

/** That something is missing at a place, and not how much. */
export function nothingAt(position: number): Stretch {
  return { isLost: true, start: position, end: position }
}
