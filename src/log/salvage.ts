/**
 * What is left of a damaged log: every valid record wherever it stands, in order, and the ranges between them where none
 * is. Changes nothing; nothing is refused but what a newer version wrote.
 *
 * Invariant: every byte that VAL has, or is said to have had, lies in a record that was visited or in a lost range.
 */
import { CrawlError } from '../base/errors.ts'
import type { Disk } from '../env/disk.ts'
import { LogFiles } from './files.ts'
import { AT, FORMAT_VERSION } from './format.ts'
import { type LeftSegment, readWhole, type SalvageOptions } from './left-segments.ts'
import { isIntact } from './reader.ts'
import { KeyBuilder } from './rebuild.ts'
import { RecordView, recordBytes } from './record.ts'
import { believedKey, isCutShort, itemsOfLost, nothingAt, recordsIn, type Stretch } from './salvage-key.ts'
import { type LostBytes, Numbering } from './salvage-numbers.ts'
import { nextRecord, type Rest, restOf } from './search.ts'
import { newerVersion } from './segment.ts'

export interface Visitor {
  /** A valid record. The view is valid within the call. */
  record(record: RecordView, segment: number): void
  /**
   * What is lost before the next record. Numbers and times behind it are filled in later, before `salvageLog` returns.
   * @param items  its KEY items, six words each; undefined where KEY tells nothing of it that could be believed
   */
  lost(range: LostBytes, items: Uint32Array | undefined): void
  /** Called after each segment. */
  progress?(segmentsDone: number, segments: number): void
}

/**
 * Visits all that is left of these segments of a log (`leftSegments`), and all that is not.
 *
 * @returns the greatest sequence number that is known
 * Errors: LOG_NEWER, DISK_DENIED, DISK_FAILED. Cost: two passes over each segment in memory; a search at every byte of
 * what is damaged. Memory: one segment and its KEY.
 */
export function salvage(
  disk: Disk,
  directory: string,
  segments: readonly LeftSegment[],
  options: Omit<SalvageOptions, 'owner'>,
  visitor: Visitor,
): number {
  const files = new LogFiles(disk, directory, options.role)
  const numbering = new Numbering()
  try {
    for (const [i, segment] of segments.entries()) {
      salvageSegment(files, segment, options, numbering, visitor)
      files.forget(segment.number)
      visitor.progress?.(i + 1, segments.length)
    }
    return numbering.greatest
  } finally {
    files.close()
  }
}

function salvageSegment(
  files: LogFiles,
  segment: LeftSegment,
  options: Omit<SalvageOptions, 'owner'>,
  numbering: Numbering,
  visitor: Visitor,
): void {
  const { number } = segment
  if (segment.header !== undefined) numbering.beginSegment(segment.header.firstSequence)
  const rest = segment.valBytes < 0 ? restOf(Buffer.alloc(0)) : readWhole(files, number, segment.valBytes)
  const builder = new KeyBuilder(options.role, number, segment.salt ?? 0, options.itemsOf)
  const stretches = stretchesOf(rest, segment, options.kindMax, builder)
  if (isCutShort(files, segment, stretches, builder.words())) stretches.push(nothingAt(rest.bytes.length))
  const hasLost = stretches.some(({ isLost }) => isLost)
  const key = hasLost ? believedKey(files, segment, stretches, builder.words()) : undefined
  const record = new RecordView(rest.bytes)
  for (const { isLost, start, end } of stretches) {
    if (isLost) {
      const isOpen = end === stretches.at(-1)?.end && segment.statedBytes === undefined
      const items = itemsOfLost(key, start, end, isOpen, segment)
      const range = { segment: number, offset: start, bytes: end - start, ...NOTHING_KNOWN }
      visitor.lost(numbering.lose(range, recordsIn(items, start === 0, isOpen)), items)
    } else visitStretch(rest, start, end, number, record, numbering, visitor)
  }
  numbering.endSegment(segment.sequenceAfter)
}

const NOTHING_KNOWN = { records: undefined, fromSequence: 0, toSequence: 0, fromMs: 0, toMs: 0 } as const

function visitStretch(
  rest: Rest,
  start: number,
  end: number,
  segment: number,
  record: RecordView,
  numbering: Numbering,
  visitor: Visitor,
): void {
  for (let at = start; at < end; at += record.length) {
    record.set(rest.bytes, rest.view, at, at)
    numbering.count(record)
    visitor.record(record, segment)
  }
}

/** Splits VAL; what should be there and is not is lost as well. A record that makes no sense counts as damaged. */
function stretchesOf(rest: Rest, segment: LeftSegment, kindMax: number, builder: KeyBuilder): Stretch[] {
  const { bytes } = rest
  const stretches: Stretch[] = []
  const add = (isLost: boolean, start: number, end: number): void => {
    const last = stretches.at(-1)
    if (last?.isLost === isLost) last.end = end
    else stretches.push({ isLost, start, end })
  }
  const record = new RecordView(bytes)
  for (let at = 0; at < bytes.length; ) {
    const end = validEnd(rest, at, segment)
    if (end > 0) {
      refuseNewer(bytes, at, segment.number, kindMax)
      add(!makesSense(builder, record.set(bytes, rest.view, at, at)), at, end)
      at = end
      continue
    }
    const next = nextValid(rest, at + 1, segment)
    add(true, at, next < 0 ? bytes.length : next)
    at = next < 0 ? bytes.length : next
  }
  const stated = Math.max(segment.statedBytes ?? 0, segment.valBytes)
  if (stated > bytes.length) add(true, bytes.length, stated)
  if (segment.valBytes < 0 && stretches.length === 0) stretches.push(nothingAt(0))
  return stretches
}

/**
 * Bytes put through a checksum behind one piece of damage: some ten seconds. A stored page may hold any number of bytes
 * that look like the head of a record; whoever made such a one loses what stands behind it in this segment.
 */
const SEARCH_BYTES_MAX = 16 * 1024 * 1024 * 1024

/** Where the next valid record is; −1 where there is none. */
function nextValid(rest: Rest, from: number, segment: LeftSegment): number {
  if (segment.salt === undefined) return -1
  const budget = { bytes: SEARCH_BYTES_MAX }
  const next = nextRecord(rest, from, segment.salt, budget)
  // A search that gives up names a place that is not proved.
  return next >= 0 && validEnd(rest, next, segment) === 0 ? -1 : next
}

/** Behind the valid record at `at`; 0 where there is none. The `segment` record was checked when it was read. */
function validEnd(rest: Rest, at: number, { header, salt }: LeftSegment): number {
  const length = recordBytes(rest.view, at, rest.bytes.length)
  if (length === 0 || at + length > rest.bytes.length) return 0
  if (at === 0) return header === undefined ? 0 : length
  return salt !== undefined && isIntact(rest.bytes, rest.view, at, at + length, salt) ? at + length : 0
}

function refuseNewer(bytes: Buffer, at: number, segment: number, kindMax: number): void {
  const version = bytes[at + AT.version]
  const kind = bytes[at + AT.kind]
  if (version !== FORMAT_VERSION || kind > kindMax) throw newerVersion({ segment, offset: at, version, kind })
}

function makesSense(builder: KeyBuilder, record: RecordView): boolean {
  const before = builder.items.end
  try {
    builder.add(record)
    return true
  } catch (error) {
    if (!(error instanceof CrawlError && error.code === 'LOG_CORRUPT')) throw error
    builder.items.end = before
    return false
  }
}
