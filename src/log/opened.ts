/**
 * A log that was opened: its records and KEY items for reading, where it ends, and the way to go on writing.
 *
 * Invariant: `end` lies between two records; what is behind it on disk does not count, and is cut by `startWriter`.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import type { File } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { ActiveSegment, createSegment } from './active.ts'
import { ownFile } from './copying.ts'
import type { LogFiles, Segment } from './files.ts'
import type { Finding } from './finding.ts'
import {
  ITEM_BYTES,
  ITEM_WORDS,
  itemKind,
  KIND,
  keyName,
  NOWHERE,
  type Position,
  ROLE,
  SEGMENT_BYTES_MAX,
  SEGMENT_RECORD_BYTES,
  valName,
} from './format.ts'
import { contradictsVal } from './lagging-key.ts'
import { decodeMark, type Mark } from './mark.ts'
import type { OpenOptions } from './options.ts'
import { readKeyUnchecked, readPart, readRecord, type ScanEnd, scanSegment } from './reader.ts'
import { bytesOfWords, KeyBuilder, soundKey } from './rebuild.ts'
import type { RecordView } from './record.ts'
import { encodeSegment, isRewritten, type SegmentHeader } from './segment.ts'
import { TailKey } from './tail-key.ts'
import type { Verdict } from './verdict.ts'
import { LogWriter, type RecordAddress } from './writer.ts'

/** KEY bytes whose checksums an opening for writing looks at, newest first: all of a small log, some 50 ms of a large one. */
const KEY_BYTES_MENDED_MAX = 64 * 1024 * 1024

export interface FoundMark {
  readonly mark: Mark
  readonly timeMs: number
  readonly address: RecordAddress
}

/** The last segment, scanned. */
export interface Tail {
  /** After the last whole record. */
  readonly end: number
  /** Of the record that comes next. */
  readonly sequence: number
  readonly lastTimeMs: number
  readonly key: TailKey
  readonly lastMark: FoundMark | undefined
}

/** Who a new log belongs to. */
export interface LogIdentity {
  /** 16 bytes. */
  readonly crawlId: Uint8Array
  readonly shard: number
  readonly generation: number
}

export interface StartOptions {
  readonly random: Random
  /** Time of the first `segment` record, where the log is empty. */
  readonly timeMs: number
  /** Needed where the log is empty. */
  readonly identity?: LogIdentity | undefined
  /** Sequence number of the first record, where the log is empty; default 1. */
  readonly firstSequence?: number | undefined
  /** VAL bytes of a segment; default SEGMENT_BYTES_MAX. */
  readonly segmentBytesMax?: number | undefined
  /** Bytes kept aside for the last record on a full disk; default 0. */
  readonly reserveBytes?: number | undefined
}

interface OpenedState {
  readonly files: LogFiles
  readonly options: OpenOptions
  readonly tail: Tail | undefined
  readonly verdicts: readonly Verdict[]
  readonly findings: readonly Finding[]
  readonly leftovers: readonly string[]
  /** Numbers of segments that are to be removed: torn ones at the end. */
  readonly cuts: readonly number[]
}

/** Scans the last segment up to its first bad record, or to `endBytes`. */
export function scanTail(files: LogFiles, segment: Segment, endBytes: number, options: OpenOptions): Tail {
  const { number, header } = segment
  const key = new TailKey(new KeyBuilder(files.role, number, header.salt, options.itemsOf), options.mode === 'read')
  const context = { segment: number, salt: header.salt, kindMax: options.kindMax }
  let sequence = header.firstSequence
  let lastTimeMs = header.timeMs
  let lastMark: FoundMark | undefined
  const { end } = scanSegment(files.val(number), 0, endBytes, context, (record) => {
    key.see(record)
    lastTimeMs = record.timeMs
    if (record.kind === KIND.mark) lastMark = foundMark(record, number, sequence) ?? lastMark
    sequence++
  })
  return { end, sequence, lastTimeMs, key, lastMark }
}

function foundMark(record: RecordView, segment: number, sequence: number): FoundMark | undefined {
  const mark = decodeMark(record)
  return mark && { mark, timeMs: record.timeMs, address: { segment, position: record.position, sequence } }
}

export class OpenedLog {
  /** What was found at the end, the first in the log first: none, torn or syncedLost. */
  readonly verdicts: readonly Verdict[]
  /** All that was found wrong so far. In mode `verify` also what is corrupt. */
  readonly findings: readonly Finding[]
  private readonly files: LogFiles
  private readonly options: OpenOptions
  private readonly leftovers: readonly string[]
  private readonly cuts: readonly number[]
  private tail: Tail | undefined
  private readonly rebuilt = new Set<number>()
  private readonly repaired = new Map<number, Uint32Array<ArrayBuffer>>()
  private isStarted = false

  constructor(state: OpenedState) {
    this.files = state.files
    this.options = state.options
    this.tail = state.tail
    this.verdicts = state.verdicts
    this.findings = state.findings
    this.leftovers = state.leftovers
    this.cuts = state.cuts
  }

  get isEmpty(): boolean {
    return this.files.segments.length === 0
  }

  /** The segments, the active one last. */
  get segments(): readonly Segment[] {
    return this.files.segments
  }

  /** After the last whole record; NOWHERE in an empty log. */
  get end(): Position {
    const { last } = this.files
    return last === undefined ? NOWHERE : { segment: last.number, position: last.valBytes }
  }

  /** Sequence number of the next record: 1 in an empty log. */
  get sequence(): number {
    return this.tail?.sequence ?? 1
  }

  /** Time of the last record; 0 in an empty log. */
  get lastTimeMs(): number {
    return this.tail?.lastTimeMs ?? 0
  }

  /** Header of the last segment: crawl, shard, generation. */
  get header(): SegmentHeader | undefined {
    return this.files.last?.header
  }

  /** That of the first segment: segments that a compaction left as they were state an earlier one. */
  get generation(): number {
    return this.files.segments[0]?.header.generation ?? 0
  }

  /**
   * The KEY of a segment as words, six an item.
   *
   * A sealed one that is missing, short or fails its CRC is made from VAL (and written, in mode `write`); the last
   * one always was, when the log was opened. Errors: LOG_CORRUPT where VAL is damaged too.
   * Cost: one read of the file and its CRC; a scan of VAL where it is rebuilt.
   */
  key(number: number): Uint32Array<ArrayBuffer> {
    assert(!this.isStarted, 'read through the writer now')
    if (this.tail !== undefined && number === this.files.last?.number) return this.tailWords(this.tail)
    const repaired = this.repaired.get(number)
    if (repaired !== undefined) return repaired
    const { kindMax, itemsOf, mode } = this.options
    return soundKey(this.files, number, kindMax, itemsOf, mode === 'write', () => this.rebuilt.add(number))
  }

  /** Six words each of `count` KEY items from item `ordinal` on, fewer at the end. Unchecked. Cost: one read of them. */
  readItems(number: number, ordinal: number, count: number): Uint32Array {
    const isLast = this.tail !== undefined && number === this.files.last?.number
    const words = isLast && this.tail !== undefined ? this.tailWords(this.tail) : this.repaired.get(number)
    if (words !== undefined) return words.subarray(ordinal * ITEM_WORDS, (ordinal + count) * ITEM_WORDS)
    if (!this.files.disk.exists(this.files.path(keyName(number)))) return new Uint32Array(0)
    const items = new Uint32Array(count * ITEM_WORDS)
    const read = this.files.key(number).read(bytesOfWords(items), ordinal * ITEM_BYTES)
    return items.subarray(0, Math.floor(read / ITEM_BYTES) * ITEM_WORDS)
  }

  /**
   * Segments whose KEY was found missing or damaged so far: sealed ones that had to be made anew; the last one where its
   * file is missing or says something else than VAL, if a reader has come so far. That it lags behind, or ends in zeros, is how a death leaves it.
   * Cost: one read of the last KEY.
   */
  keysInDoubt(): number[] {
    const { last } = this.files
    const { tail } = this
    const isLastSuspect = last !== undefined && tail?.key.isMade === true && this.isOtherThanVal(last.number, tail)
    return isLastSuspect ? [...this.rebuilt, last.number] : [...this.rebuilt]
  }

  private tailWords({ key, end }: Tail): Uint32Array<ArrayBuffer> {
    const { last } = this.files
    assert(last, 'a tail without a segment')
    return key.words(this.files, end, this.contextOf(last.number))
  }

  private isOtherThanVal(number: number, tail: Tail): boolean {
    const found = readKeyUnchecked(this.files, number)
    const words = this.tailWords(tail)
    if (found === undefined) return words.length > 0
    return contradictsVal(bytesOfWords(found), bytesOfWords(words))
  }

  /** Makes `readItems` right for a segment whose KEY was found wrong. Cost: as `key`; the KEY stays in memory. */
  repairKey(number: number): void {
    this.repaired.set(number, this.key(number))
  }

  /** Bytes of a segment's VAL that count. */
  valBytes(number: number): number {
    return this.files.segment(number).valBytes
  }

  has(number: number): boolean {
    return this.files.find(number) !== undefined
  }

  /** Reads a record into memory of its own. Errors: LOG_CORRUPT, LOG_NEWER. Cost: 1–2 reads; see `readRecord`. */
  read(segment: number, position: number, lengthHint = 0): RecordView {
    return readRecord(this.files.val(segment), position, this.contextOf(segment), lengthHint)
  }

  /** Reads a part of a record, unchecked. Cost: one read. */
  readPart(segment: number, position: number, target: Uint8Array): void {
    readPart(this.files.val(segment), position, target, segment)
  }

  /**
   * Visits the records of a segment in order, from `start` on, up to `end` (both between two records; default: all); a view
   * is valid within the call. See `scanSegment`.
   */
  scan(number: number, visit: (record: RecordView) => void, start = 0, end = this.valBytes(number)): ScanEnd {
    return scanSegment(this.files.val(number), start, end, this.contextOf(number), visit)
  }

  private contextOf(segment: number) {
    return { segment, salt: this.files.segment(segment).header.salt, kindMax: this.options.kindMax }
  }

  /** The last mark of the log, also where it lies in a segment before the last. Cost: KEY files back to it. */
  lastMark(): FoundMark | undefined {
    if (this.tail?.lastMark !== undefined || this.files.role !== ROLE.events) return this.tail?.lastMark
    for (let i = this.files.segments.length - 2; i >= 0; i--) {
      const found = this.lastMarkOf(this.files.segments[i].number)
      if (found !== undefined) return found
    }
    return undefined
  }

  private lastMarkOf(number: number): FoundMark | undefined {
    const words = this.key(number)
    for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
      if (itemKind(words[at + 5]) !== KIND.mark) continue
      const record = this.read(number, words[at + 4])
      return foundMark(record, number, words[at + 2] + words[at + 3] * 2 ** 32)
    }
    return undefined
  }

  /**
   * Cuts the log back to a boundary between records, given as a position at or before `end` (mode `write`).
   *
   * Later segments are removed from the last on, so a death on the way leaves a longer log, never a broken one; their
   * names are durably gone before the segment cut into gets shorter. NOWHERE removes all.
   */
  cut(position: Position): void {
    assert(this.options.mode === 'write', 'only a writer cuts')
    this.removeTorn()
    const { files } = this
    while (files.last !== undefined && files.last.number > position.segment) {
      this.removeSegment(files.last.number)
      files.segments.pop()
    }
    files.disk.syncDirectory(files.directory)
    const { last } = files
    if (last === undefined) {
      this.tail = undefined
      return
    }
    assert(position.segment === last.number && position.position <= last.valBytes, 'a cut behind the end')
    this.cutLast(last, position.position)
  }

  private cutLast(last: Segment, position: number): void {
    const tail = scanTail(this.files, last, position, this.options)
    assert(tail.end === position && position >= SEGMENT_RECORD_BYTES, 'a cut within a record')
    const val = this.openLast(last.number, 'val')
    try {
      this.unstateOwn(last, val)
      val.truncate(position)
      val.syncNow()
    } finally {
      val.close()
    }
    last.key = undefined
    last.valBytes = position
    this.tail = tail
  }

  /** A rewritten segment that is the last again grows: what it states of itself would be wrong. */
  private unstateOwn(last: Segment, val: File): void {
    if (!isRewritten(last.header)) return
    const header = { ...last.header, ownValBytes: 0, ownKeyBytes: 0, ownKeyChecksum: 0, ownSequenceAfter: 0 }
    val.write(encodeSegment(header), 0)
    val.syncNow()
    last.header = header
  }

  /**
   * Makes anew the KEY files that are missing, of another length, or among the newest and damaged. Those a death may have
   * left wrong are among them: of segments sealed last, whose sync had not returned, and of the one rewritten last, where
   * only VAL had got its new name. The others are looked at when they are read.
   */
  private mendKeys(): void {
    const sealed = this.files.segments.slice(0, -1)
    const rewritten = sealed.findLast(({ header }) => isRewritten(header))
    const names = new Set(this.files.disk.list(this.files.directory))
    let left = KEY_BYTES_MENDED_MAX
    for (const { number, key } of sealed.toReversed()) {
      left -= key?.bytes ?? 0
      const isThere = names.has(keyName(number)) && this.files.key(number).sizeBytes() === key?.bytes
      if (left > 0 || number === rewritten?.number || !isThere) this.key(number)
    }
  }

  private removeTorn(): void {
    for (const name of this.leftovers) this.files.disk.remove(this.files.path(name))
    for (let i = this.cuts.length - 1; i >= 0; i--) this.removeSegment(this.cuts[i])
  }

  private removeSegment(number: number): void {
    this.files.forget(number)
    this.files.disk.remove(this.files.path(valName(number)))
    this.files.disk.remove(this.files.path(keyName(number)))
  }

  private openLast(number: number, half: 'val' | 'key'): File {
    this.files.forget(number)
    const path = this.files.path(half === 'val' ? valName(number) : keyName(number))
    ownFile(this.files.disk, path)
    return this.files.disk.open(path, 'create')
  }

  /**
   * Goes on writing at `end`: cuts what is behind it, writes the active KEY anew, syncs files and names (mode `write`).
   *
   * In an empty log it makes the first segment, whose `segment` record gets number 1. The opened log can still be read
   * through the writer only. Errors: DISK_FULL, DISK_FAILED, DISK_DENIED.
   */
  startWriter(start: StartOptions): LogWriter {
    assert(this.options.mode === 'write' && !this.isStarted)
    this.mendKeys()
    this.isStarted = true
    const { files } = this
    const settings = {
      random: start.random,
      kindMax: this.options.kindMax,
      itemsOf: this.options.itemsOf,
      segmentBytesMax: start.segmentBytesMax ?? SEGMENT_BYTES_MAX,
      reserveBytes: start.reserveBytes ?? 0,
    }
    this.removeTorn()
    if (files.last === undefined)
      return new LogWriter(files, this.createFirst(start), (start.firstSequence ?? 1) + 1, settings)
    assert(this.tail)
    const { sequence } = this.tail
    return new LogWriter(files, this.reopenLast(files.last, this.tail), sequence, settings)
  }

  /** VAL cut and synced, then KEY written anew and synced, then the names. */
  private reopenLast(last: Segment, tail: Tail): ActiveSegment {
    const val = this.openLast(last.number, 'val')
    this.unstateOwn(last, val)
    if (val.sizeBytes() !== last.valBytes) val.truncate(last.valBytes)
    val.syncNow()
    const items = bytesOfWords(this.tailWords(tail))
    const key = this.openLast(last.number, 'key')
    key.truncate(0)
    key.write(items, 0)
    key.syncNow()
    this.files.disk.syncDirectory(this.files.directory)
    this.tail = undefined // its words are as large as the file
    return new ActiveSegment(last, val, key, items.length, crc32(items))
  }

  private createFirst(start: StartOptions): ActiveSegment {
    const { files } = this
    const { identity } = start
    assert(identity, 'a new log needs an identity')
    files.disk.makeDirectory(files.directory)
    const active = createSegment(files, firstHeader(identity, start, files.role))
    active.syncNow()
    return active
  }

  close(): void {
    this.files.close()
  }
}

function firstHeader(identity: LogIdentity, start: StartOptions, role: number): SegmentHeader {
  return {
    ...identity,
    role,
    timeMs: start.timeMs,
    number: 1,
    firstSequence: start.firstSequence ?? 1,
    salt: start.random.uint32(),
    beforeValBytes: 0,
    beforeKeyBytes: 0,
    beforeKeyChecksum: 0,
    ownValBytes: 0,
    ownKeyBytes: 0,
    ownKeyChecksum: 0,
    ownSequenceAfter: 0,
  }
}
