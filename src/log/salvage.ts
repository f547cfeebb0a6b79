/**
 * What is left of a damaged log: every valid record wherever it stands, in order, and the ranges between them where none
 * is. Changes nothing; nothing is refused but what a newer version wrote.
 *
 * Invariant: every byte that VAL has, or is said to have had, lies in a record that was visited or in a lost range.
 */
import { crc32 } from 'node:zlib'
import { CrawlError } from '../base/errors.ts'
import type { Disk } from '../env/disk.ts'
import { type KeyFacts, LogFiles } from './files.ts'
import {
  FORMAT_VERSION,
  ITEM_AT,
  ITEM_WORDS,
  itemKind,
  KIND,
  parseSegmentName,
  ROLE,
  type Role,
  SEGMENT_BYTES_MAX,
} from './format.ts'
import { readHeader, statedKey } from './list.ts'
import { decodeMark } from './mark.ts'
import type { OpenOptions } from './options.ts'
import { isIntact, readKeyUnchecked } from './reader.ts'
import { bytesOfWords, KeyBuilder } from './rebuild.ts'
import { RecordView, recordBytes } from './record.ts'
import { deduceSalt, nextRecord, type Rest, restOf } from './search.ts'
import { isRewritten, newerVersion, type SegmentHeader } from './segment.ts'
import { saltOfKey } from './verdict.ts'

/** Bytes of a log in which no valid record stands. */
export interface LostBytes {
  readonly segment: number
  /** In VAL. */
  readonly offset: number
  /** 0 where it is not known how much is missing. */
  readonly bytes: number
  /** Records that stood there; undefined where that is not known. */
  records: number | undefined
  /** Number of the first and of the last of them; 0 where it is not known. */
  fromSequence: number
  toSequence: number
  /** Time of the last record before and of the first behind; 0 where there is none. */
  fromMs: number
  toMs: number
}

/** A segment, or the place of one that is missing. */
export interface LeftSegment {
  readonly number: number
  /** Undefined where the `segment` record is damaged, or that of another segment or crawl. */
  readonly header: SegmentHeader | undefined
  /** Undefined where nothing tells it: then no record can be read. */
  readonly salt: number | undefined
  /** Bytes of VAL there are; −1 where the file is missing. */
  readonly valBytes: number
  /** Bytes VAL should have; undefined where nothing tells. */
  readonly statedBytes: number | undefined
  /** What KEY should be; undefined where nothing tells. */
  readonly key: KeyFacts | undefined
  /** Number of the record behind its last one; 0 where that is not known. */
  readonly sequenceAfter: number
}

/** Who the segments must belong to. */
export interface LogOwner {
  /** 16 bytes. */
  readonly crawlId: Uint8Array
  readonly shard: number
}

export interface SalvageOptions extends Pick<OpenOptions, 'role' | 'kindMax' | 'itemsOf'> {
  readonly owner: LogOwner
}

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

/** Segments of a directory, missing ones among them, in order. Errors: LOG_NEWER. Cost: a read of 96 bytes each. */
export function leftSegments(disk: Disk, directory: string, options: SalvageOptions): LeftSegment[] {
  const headers = new Map<number, FoundHeader>() // at most 65,535
  for (const name of disk.list(directory)) {
    const parsed = parseSegmentName(name)
    if (parsed === undefined) continue
    if (parsed.half === 'key') {
      if (!headers.has(parsed.number) && isFilled(disk, `${directory}/${name}`)) headers.set(parsed.number, MISSING)
      continue
    }
    const { header, valBytes } = readHeader(disk, `${directory}/${name}`, parsed.number)
    const isOurs = header !== undefined && belongs(header, parsed.number, options)
    headers.set(parsed.number, {
      header: isOurs ? header : undefined,
      valBytes,
      isForeign: header !== undefined && !isOurs,
    })
  }
  const last = Math.max(0, ...headers.keys())
  const files = new LogFiles(disk, directory, options.role)
  const left: LeftSegment[] = []
  for (let number = firstOf(headers); number <= last; number++) {
    const { header, valBytes, isForeign } = headers.get(number) ?? MISSING
    const next = headers.get(number + 1)?.header
    left.push({
      number,
      header,
      valBytes,
      // What stands behind the whole record of another segment is that segment's.
      salt: header?.salt ?? (valBytes < 0 || isForeign ? undefined : findSalt(files, number, valBytes)),
      ...statedOf(header, next),
    })
  }
  files.close()
  return left
}

interface FoundHeader {
  readonly header: SegmentHeader | undefined
  readonly valBytes: number
  readonly isForeign: boolean
}

const MISSING: FoundHeader = { header: undefined, valBytes: -1, isForeign: false }

/** A log begins with segment 1, or where a compaction let it begin: what says to be the first is. */
function firstOf(headers: ReadonlyMap<number, { readonly header: SegmentHeader | undefined }>): number {
  let first = 1
  for (const [number, { header }] of headers) {
    if (header?.beforeValBytes === 0) return number
    if (header !== undefined && header.generation > 0) first = Math.min(...headers.keys())
  }
  return first
}

function isFilled(disk: Disk, path: string): boolean {
  const file = disk.open(path, 'read')
  try {
    return file.sizeBytes() > 0
  } finally {
    file.close()
  }
}

function belongs(header: SegmentHeader, number: number, { role, owner }: SalvageOptions): boolean {
  const isOfCrawl = Buffer.compare(header.crawlId, owner.crawlId) === 0 && header.shard === owner.shard
  return isOfCrawl && header.number === number && header.role === role
}

function statedOf(
  header: SegmentHeader | undefined,
  next: SegmentHeader | undefined,
): Pick<LeftSegment, 'statedBytes' | 'key' | 'sequenceAfter'> {
  if (header !== undefined && isRewritten(header)) {
    const { ownValBytes, ownSequenceAfter } = header
    return { statedBytes: ownValBytes, key: statedKey(header, header), sequenceAfter: ownSequenceAfter }
  }
  if (next === undefined || next.beforeValBytes === 0)
    return { statedBytes: undefined, key: undefined, sequenceAfter: 0 }
  // Without its own record a segment may have been rewritten since its successor was: then the lengths do not fit.
  const key = header === undefined ? undefined : statedKey(header, next)
  return {
    statedBytes: header === undefined ? undefined : next.beforeValBytes,
    key,
    sequenceAfter: next.firstSequence,
  }
}

function findSalt(files: LogFiles, number: number, valBytes: number): number | undefined {
  return deduceSalt(readWhole(files, number, valBytes)) ?? saltOfKey(files, number)
}

function readWhole(files: LogFiles, number: number, valBytes: number): Rest {
  const bytes = Buffer.alloc(Math.min(valBytes, SEGMENT_BYTES_MAX))
  return restOf(bytes.subarray(0, files.val(number).read(bytes, 0)))
}

/** A stretch of VAL: valid records without a gap, or none. */
interface Stretch {
  readonly isLost: boolean
  readonly start: number
  end: number
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
    const next =
      segment.salt === undefined ? -1 : nextRecord(rest, at + 1, segment.salt, { bytes: Number.POSITIVE_INFINITY })
    add(true, at, next < 0 ? bytes.length : next)
    at = next < 0 ? bytes.length : next
  }
  const stated = Math.max(segment.statedBytes ?? 0, segment.valBytes)
  if (stated > bytes.length) add(true, bytes.length, stated)
  if (segment.valBytes < 0 && stretches.length === 0) stretches.push(nothingAt(0))
  return stretches
}

/** That something is missing at a place, and not how much. */
function nothingAt(position: number): Stretch {
  return { isLost: true, start: position, end: position }
}

/** Whether a last segment ends between two records, and its KEY goes on: a KEY that agrees with VAL as far as that goes. */
function isCutShort(
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

/** Behind the valid record at `at`; 0 where there is none. The `segment` record was checked when it was read. */
function validEnd(rest: Rest, at: number, { header, salt }: LeftSegment): number {
  const length = recordBytes(rest.view, at, rest.bytes.length)
  if (length === 0 || at + length > rest.bytes.length) return 0
  if (at === 0) return header === undefined ? 0 : length
  return salt !== undefined && isIntact(rest.bytes, rest.view, at, at + length, salt) ? at + length : 0
}

function refuseNewer(bytes: Buffer, at: number, segment: number, kindMax: number): void {
  const version = bytes[at + 4]
  const kind = bytes[at + 5]
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

/**
 * The KEY of a segment as its file has it, where it can be believed of records that are gone: its checksum is the one
 * stated, or at least it says of all records that are there what they say themselves. (Of a segment of which nothing else
 * is left it is believed if it ascends.)
 */
function believedKey(
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
function itemsOfLost(
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
function recordsIn(items: Uint32Array | undefined, isWithFirst: boolean, isOpen: boolean): number | undefined {
  if (items === undefined || (items.length === 0 && isOpen)) return undefined
  let count = isWithFirst ? 1 : 0
  for (let i = 0; i < items.length; i += ITEM_WORDS) {
    if (i === 0 || items[i + ITEM_AT.position] !== items[i - ITEM_WORDS + ITEM_AT.position]) count++
  }
  return count
}

/**
 * Numbers and times of what is lost, from what stands around it: a segment's first number, marks, which tell their own,
 * and the records between.
 */
class Numbering {
  /** The greatest number known so far. */
  greatest = 0
  /** Number of the next record; 0 where it is not known. */
  #next = 0
  #lastMs = 0
  /** Records since the last lost range. */
  #since = 0
  /** Lost ranges whose end is not known yet. */
  #open: LostBytes[] = []

  beginSegment(firstSequence: number): void {
    this.#learn(firstSequence)
  }

  endSegment(sequenceAfter: number): void {
    if (sequenceAfter > 0) this.#learn(sequenceAfter)
  }

  /** @param records  how many they were, by their KEY; undefined where it is not known */
  lose(range: LostBytes, records: number | undefined): LostBytes {
    range.fromMs = this.#lastMs
    range.fromSequence = records === 0 ? 0 : this.#next
    range.records = records
    this.#since = 0
    this.#open.push(range)
    if (this.#next > 0 && records !== undefined) {
      this.#next += records
      this.greatest = Math.max(this.greatest, this.#next - 1)
      if (records > 0) range.toSequence = this.#next - 1
    } else this.#next = 0
    return range
  }

  count(record: RecordView): void {
    if (record.kind === KIND.mark) {
      const mark = decodeMark(record)
      if (mark !== undefined) this.#learn(mark.sequence)
    }
    for (const range of this.#open) if (range.toMs === 0) range.toMs = record.timeMs
    this.#lastMs = record.timeMs
    this.#since++
    if (this.#next > 0) this.greatest = Math.max(this.greatest, this.#next++)
  }

  /** The next record has this number: so the run of records before it began so many earlier, behind the lost range. */
  #learn(sequence: number): void {
    const range = this.#open.at(-1)
    if (range !== undefined && range.toSequence === 0 && range.records !== 0) endAt(range, sequence - this.#since - 1)
    this.greatest = Math.max(this.greatest, sequence - 1)
    this.#open = this.#open.filter(({ toMs }) => toMs === 0)
    this.#next = sequence
  }
}

/** The number of its last record is known now, and with it, mostly, the other facts. */
function endAt(range: LostBytes, sequence: number): void {
  range.toSequence = Math.max(0, sequence)
  if (range.fromSequence === 0 && range.records !== undefined) range.fromSequence = sequence - range.records + 1
  if (range.fromSequence === 0) return
  range.records = Math.max(0, sequence - range.fromSequence + 1)
  if (range.records > 0) return
  range.fromSequence = 0
  range.toSequence = 0
}
