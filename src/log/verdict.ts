/**
 * The verdict on the end of a log: what its last segment holds whole, and what is to be thought of the rest.
 *
 * Three witnesses say what had been synced: the marks in VAL, the `synced` items of the old KEY, and the caller
 * (`promised`: the last mark of the events log for its pages, a checkpoint). Bytes no witness speaks for were never
 * promised and may be cut; promised bytes may be missing at the very end, but not damaged with valid ones behind.
 */
import type { LogFiles } from './files.ts'
import type { Finding } from './finding.ts'
import { comparePositions, ITEM_WORDS, NOWHERE, type Position, ROLE, valName } from './format.ts'
import { type SyncedItem, saltOfItem, syncedItem } from './mark.ts'
import { readKeyUnchecked } from './reader.ts'
import { countRecords, deduceSalt, marksIn, nextRecord, type Rest, restOf } from './search.ts'

/** The end of a VAL from the first bad byte on. */
export interface BadTail {
  readonly segment: number
  /** Offset of the first bad record; the size where there is none. */
  readonly offset: number
  readonly sizeBytes: number
  /** Undefined where the `segment` record itself is bad. */
  readonly salt: number | undefined
  /** Of the record at `offset`; 0 where unknown. */
  readonly sequence: number
}

/** What was synced at the least, and the sequence number of the mark that says so (0 = unknown). */
export interface Witness {
  readonly synced: Position
  readonly sequence: number
}

export const NO_WITNESS: Witness = { synced: NOWHERE, sequence: 0 }

export type Verdict = Finding & { readonly records: number }

export function laterWitness(a: Witness, b: Witness): Witness {
  return comparePositions(a.synced, b.synced) >= 0 ? a : b
}

/** Judges a tail. Undefined where nothing is wrong. Cost: nothing where the log ends well; else a search of the rest. */
export function judgeTail(files: LogFiles, tail: BadTail, promised: Witness): Verdict | undefined {
  const { segment, offset, sizeBytes } = tail
  const rest = restOf(readRest(files, tail))
  const salt = tail.salt ?? deduceSalt(rest) ?? saltOfKey(files, segment)
  const promise = salt === undefined ? promised : laterWitness(promised, witnessOfKey(files, segment, salt))
  const isPromised = comparePositions(promise.synced, { segment, position: offset }) > 0
  if (offset === sizeBytes && tail.salt !== undefined && !isPromised) return undefined
  const next = salt === undefined ? -1 : nextRecord(rest, 1, salt)
  if ((isPromised && next >= 0) || (salt !== undefined && isMarked(rest, salt, segment, offset, files.role))) {
    const bytes = next >= 0 ? next : rest.bytes.length
    const message = `Segment ${segment}: damaged record at offset ${offset}, ${bytes} bytes; valid records follow.`
    return { what: 'corrupt', segment, offset, bytes, message, records: 0 }
  }
  if (isPromised) return syncedLost(tail, promise)
  const records = salt === undefined ? 0 : countRecords(rest, 1, salt)
  const message = `Segment ${segment}: torn at offset ${offset}; ${rest.bytes.length} bytes and ${records} whole records, never synced, are cut.`
  return { what: 'torn', segment, offset, bytes: rest.bytes.length, message, records }
}

function syncedLost(tail: BadTail, promise: Witness): Verdict {
  const { segment, offset, sizeBytes, sequence } = tail
  const records = promise.sequence > 0 && sequence > 0 ? Math.max(0, promise.sequence - sequence) : 0
  const count = records > 0 ? `about ${records} records` : 'records'
  const message = `Segment ${segment}: ends at offset ${offset}; ${count} that had been synced are lost.`
  return { what: 'syncedLost', segment, offset, bytes: sizeBytes - offset, message, records }
}

function readRest(files: LogFiles, tail: BadTail): Buffer {
  const bytes = Buffer.alloc(tail.sizeBytes - tail.offset)
  if (bytes.length === 0 || !files.disk.exists(files.path(valName(tail.segment)))) return bytes
  const read = files.val(tail.segment).read(bytes, tail.offset)
  return bytes.subarray(0, read)
}

/** Whether a mark behind the damage says that it had been synced beyond it. */
function isMarked(rest: Rest, salt: number, segment: number, offset: number, role: number): boolean {
  if (role === ROLE.pages) return false
  return marksIn(rest, salt).some((mark) => comparePositions(mark.synced, { segment, position: offset }) > 0)
}

/** The salt of a segment of whose VAL nothing is left: the one on which most `synced` items of its KEY agree, two at least. */
export function saltOfKey(files: LogFiles, number: number): number | undefined {
  const words = readKeyUnchecked(files, number) ?? new Uint32Array(0)
  const counts = new Map<number, number>()
  for (let at = 0; at < words.length; at += ITEM_WORDS) {
    const salt = saltOfItem(words, at)
    if (salt !== undefined) counts.set(salt, (counts.get(salt) ?? 0) + 1)
  }
  const [best] = [...counts].sort((a, b) => b[1] - a[1])
  return best !== undefined && best[1] > 1 ? best[0] : undefined
}

/** What the KEY file on disk (unsynced, unordered, perhaps damaged) says was synced: only items with their own CRC. */
function witnessOfKey(files: LogFiles, number: number, salt: number): Witness {
  if (files.role !== ROLE.events) return NO_WITNESS
  let latest: SyncedItem | undefined
  const words = readKeyUnchecked(files, number) ?? new Uint32Array(0)
  for (let at = 0; at < words.length; at += ITEM_WORDS) {
    const item = syncedItem(words, at, salt)
    if (item !== undefined && comparePositions(item.synced, latest?.synced ?? NOWHERE) >= 0) latest = item
  }
  return latest ?? NO_WITNESS
}
