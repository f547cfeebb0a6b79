/**
 * Looking for valid records behind damage, where no length can be trusted.
 *
 * Only the verdict of an opening needs it: whether something valid follows, and whether a mark there says that the
 * damaged bytes had been synced. A page may contain anything, so the effort is bounded.
 */
import { saltOf } from './checksum.ts'
import { AT, FORMAT_VERSION, KIND, MARK_AT, SEGMENT_AT } from './format.ts'
import { decodeMark, type Mark } from './mark.ts'
import { isIntact } from './reader.ts'
import { RecordView, recordBytes, viewOf } from './record.ts'

/** Bytes put through a checksum in one search; beyond, the bytes are taken for a record (which refuses, not cuts). */
const SEARCH_BYTES_MAX = 1024 * 1024 * 1024

/** The bytes from the damage to the end of VAL. */
export interface Rest {
  readonly bytes: Buffer
  readonly view: DataView
}

export function restOf(bytes: Buffer): Rest {
  return { bytes, view: viewOf(bytes) }
}

/** Bytes of what may be a record at `at`, by version, length and time; 0 where it cannot be one. */
function plausibleBytes(rest: Rest, at: number): number {
  const { bytes, view } = rest
  if (at + AT.body > bytes.length || bytes[at + AT.version] !== FORMAT_VERSION) return 0
  const length = recordBytes(view, at, bytes.length)
  if (length === 0 || at + length > bytes.length) return 0
  return view.getUint16(at + AT.timeMs + 6, true) === 0 ? length : 0
}

/** The next place, from `from` on, that may be a record; −1 where there is none. */
function nextPlausible(rest: Rest, from: number): number {
  let at = from
  for (;;) {
    const version = rest.bytes.indexOf(FORMAT_VERSION, at + AT.version)
    if (version < 0) return -1
    at = version - AT.version
    if (plausibleBytes(rest, at) > 0) return at
    at++
  }
}

/** Effort left to a search. */
interface Budget {
  bytes: number
}

/** Offset of the first valid record at or behind `from`; −1 where there is none. */
export function nextRecord(
  rest: Rest,
  from: number,
  salt: number,
  budget: Budget = { bytes: SEARCH_BYTES_MAX },
): number {
  for (let at = nextPlausible(rest, from); at >= 0; at = nextPlausible(rest, at + 1)) {
    const length = plausibleBytes(rest, at)
    if (isIntact(rest.bytes, rest.view, at, at + length, salt)) return at
    budget.bytes -= length
    if (budget.bytes < 0) return at
  }
  return -1
}

/** Whole records behind `from`, as far as they can be found again within one search's effort. */
export function countRecords(rest: Rest, from: number, salt: number): number {
  const budget = { bytes: SEARCH_BYTES_MAX }
  let records = 0
  for (let at = nextRecord(rest, from, salt, budget); at >= 0; at = nextRecord(rest, at, salt, budget)) {
    if (budget.bytes < 0) break
    at += plausibleBytes(rest, at)
    records++
  }
  return records
}

/** All valid marks in `rest`. A mark holds its segment's salt, so nothing but a mark looks like one. */
export function marksIn(rest: Rest, salt: number): Mark[] {
  const marks: Mark[] = []
  const pattern = Buffer.alloc(4)
  pattern.writeUInt32LE(salt)
  const record = new RecordView(rest.bytes)
  for (let found = rest.bytes.indexOf(pattern); found >= 0; found = rest.bytes.indexOf(pattern, found + 1)) {
    const at = found - MARK_AT.salt
    if (at < 0 || rest.bytes[at + AT.kind] !== KIND.mark) continue
    const length = plausibleBytes(rest, at)
    if (length === 0 || !isIntact(rest.bytes, rest.view, at, at + length, salt)) continue
    const mark = decodeMark(record.set(rest.bytes, rest.view, at, at))
    if (mark !== undefined) marks.push(mark)
  }
  return marks
}

/**
 * The salt of a segment whose own record is damaged (`rest` = its whole VAL).
 *
 * It is the one that record still states, if anything is valid under it; else one that two records in a row agree on,
 * or that a mark names and fulfils. Undefined where nothing speaks for any.
 */
export function deduceSalt(rest: Rest): number | undefined {
  if (rest.bytes.length >= SEGMENT_AT.end) {
    const stated = rest.view.getUint32(SEGMENT_AT.salt, true)
    if (nextRecord(rest, 0, stated) >= 0) return stated
  }
  let budgetBytes = SEARCH_BYTES_MAX
  for (let at = nextPlausible(rest, 0); at >= 0 && budgetBytes > 0; at = nextPlausible(rest, at + 1)) {
    const length = plausibleBytes(rest, at)
    const salt = saltOf(rest.bytes, rest.view, at, at + length)
    if (rest.bytes[at + AT.kind] === KIND.mark && rest.view.getUint32(at + MARK_AT.salt, true) === salt) return salt
    const nextBytes = plausibleBytes(rest, at + length)
    if (nextBytes > 0 && isIntact(rest.bytes, rest.view, at + length, at + length + nextBytes, salt)) return salt
    budgetBytes -= length + nextBytes
  }
  return undefined
}
