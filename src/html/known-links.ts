/**
 * The spellings of links that a page has had so far, by their bytes: a menu that stands on every page costs one look-up
 * a link, and no string.
 *
 * Invariant: an entry is a range of the page at hand; two entries differ in their bytes. A spelling that finds no room
 * within a few slots (many with one hash, or more than the table may hold) is not entered, only looked up in vain.
 */

/** Entries; a page with more spellings resolves the later ones each time. */
const ENTRIES_MAX = 16_384
const SLOTS_MIN = 1024

/** Slots tried. Keeps a page made of collisions linear. */
const PROBES_MAX = 16

export type KnownLinks = {
  /** Entry + 1 by slot, 0 for a free one. Length: a power of two, at least twice the entries. */
  slots: Int32Array
  count: number
  readonly start: Int32Array
  readonly end: Int32Array
  readonly hash: Int32Array
  /** The link's index in the caller's list. */
  readonly index: Int32Array
}

export function noKnownLinks(): KnownLinks {
  const numbers = (): Int32Array => new Int32Array(ENTRIES_MAX)
  return {
    slots: new Int32Array(SLOTS_MIN),
    count: 0,
    start: numbers(),
    end: numbers(),
    hash: numbers(),
    index: numbers(),
  }
}

/** Makes the table ready for another page. Cost: that of the page before, at most. */
export function forgetLinks(known: KnownLinks): void {
  if (known.slots.length > SLOTS_MIN) known.slots = new Int32Array(SLOTS_MIN)
  else known.slots.fill(0)
  known.count = 0
}

export function hashOfRange(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start
  let at = start
  for (; at + 1 < end; at += 2) hash = (Math.imul(hash, 0x5bd1e995) + (bytes[at] | (bytes[at + 1] << 8))) | 0
  if (at < end) hash = (Math.imul(hash, 0x5bd1e995) + bytes[at]) | 0
  return hash ^ (hash >>> 15)
}

/** The entry with these bytes, or -1. */
export function findLink(known: KnownLinks, bytes: Uint8Array, start: number, end: number, hash: number): number {
  const { slots } = known
  const mask = slots.length - 1
  for (let probe = 0; probe < PROBES_MAX; probe++) {
    const entry = slots[(hash + probe) & mask] - 1
    if (entry < 0) return -1
    if (known.hash[entry] === hash && isSame(bytes, known.start[entry], known.end[entry], start, end)) return entry
  }
  return -1
}

function isSame(bytes: Uint8Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false
  for (let at = start, other = otherStart; at < end; at++, other++) if (bytes[at] !== bytes[other]) return false
  return true
}

export function enterLink(known: KnownLinks, start: number, end: number, hash: number, index: number): void {
  if (known.count === ENTRIES_MAX) return
  if (2 * known.count >= known.slots.length) grow(known)
  if (!place(known.slots, known.count, hash)) return
  const entry = known.count++
  known.start[entry] = start
  known.end[entry] = end
  known.hash[entry] = hash
  known.index[entry] = index
}

function place(slots: Int32Array, entry: number, hash: number): boolean {
  const mask = slots.length - 1
  for (let probe = 0; probe < PROBES_MAX; probe++) {
    const slot = (hash + probe) & mask
    if (slots[slot] !== 0) continue
    slots[slot] = entry + 1
    return true
  }
  return false
}

function grow(known: KnownLinks): void {
  const slots = new Int32Array(4 * known.slots.length)
  for (let entry = 0; entry < known.count; entry++) place(slots, entry, known.hash[entry])
  known.slots = slots
}
