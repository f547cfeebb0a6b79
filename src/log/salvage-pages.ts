/**
 * A damaged segment of a log of pages, written anew: what is left of it, every value at the ordinal it had, since events
 * refer to pages by segment and ordinal. In the places of values that are gone stand empty ones that no event refers to.
 *
 * The new files are written aside and take the place of the old ones by two renames, as in rewrite.ts: a death leaves the
 * old segment or the new one.
 */
import { crc32 } from 'node:zlib'
import { ByteWriter } from '../base/bytes.ts'
import type { Disk, File } from '../env/disk.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { recordChecksum } from './checksum.ts'
import { LogFiles } from './files.ts'
import {
  ASIDE_SUFFIX,
  AT,
  FORMAT_VERSION,
  ITEM_AT,
  ITEM_WORDS,
  KIND,
  keyName,
  LENGTH_FIELD_BYTES,
  SEGMENT_BYTES_MAX,
  SEGMENT_RECORD_BYTES,
  valName,
} from './format.ts'
import type { LeftSegment, LogOwner } from './left-segments.ts'
import { PAGES_LOG } from './pages.ts'
import { readKeyUnchecked } from './reader.ts'
import { KeyBuilder } from './rebuild.ts'
import { RecordView } from './record.ts'
import { adoptRewritten } from './rewrite.ts'
import { salvage } from './salvage.ts'
import { encodeSegment, type SegmentHeader } from './segment.ts'

/** Bytes of a value record without a value. */
const EMPTY_RECORD_BYTES = AT.body + 16
/** Written at once. */
const BATCH_BYTES = 1024 * 1024
/** Matches that settle where a run of records stands. */
const VOTES_MAX = 1000

/** What events say of pages: words segment, ordinal and key, six each, in any order. */
export type ExpectedPages = Uint32Array

/** How a segment joins the one before it. */
export interface Joint {
  /** Of the segment before, as it is now; zeros where there is none. */
  readonly valBytes: number
  readonly keyBytes: number
  readonly keyChecksum: number
  /** Number of the first record behind it. */
  readonly sequence: number
}

export interface MendOptions {
  readonly owner: LogOwner
  readonly generation: number
  /** For a segment whose salt nobody tells any more. */
  readonly salt: number
  /** Time of a segment whose own nobody tells. */
  readonly timeMs: number
  readonly isLast: boolean
  /** Of the owner's, for records without a value. */
  readonly voidFlags: number
  readonly expected: ExpectedPages
}

/** Records that are left of a segment, in order: positions, lengths, and where a run begins behind a gap. */
interface Left {
  readonly positions: number[]
  readonly lengths: number[]
  /** Index of the first record of each run. */
  readonly runs: number[]
}

/**
 * Writes a segment anew and puts it in the place of the old one.
 *
 * @returns how the next segment joins it. Errors: LOG_NEWER, DISK_FULL, DISK_FAILED; the segment is as it was then.
 * Cost: two passes over the segment, one write, two syncs. Memory: about 40 bytes a record of it.
 */
export function mendPages(
  disk: Disk,
  directory: string,
  segment: LeftSegment,
  before: Joint,
  options: MendOptions,
): Joint {
  const left = leftOf(disk, directory, segment)
  const files = new LogFiles(disk, directory, PAGES_LOG.role)
  try {
    const ordinals = ordinalsOf(files, segment, left, options.expected)
    const joint = write(files, segment, left, ordinals, before, options)
    files.close()
    adoptRewritten(disk, directory, segment.number)
    return joint
  } finally {
    files.close()
  }
}

function leftOf(disk: Disk, directory: string, segment: LeftSegment): Left {
  const left: Left = { positions: [], lengths: [], runs: [] }
  let isAfterGap = true
  salvage(disk, directory, [segment], PAGES_LOG, {
    record: ({ kind, position, length }) => {
      if (kind === KIND.segment) return
      if (isAfterGap) left.runs.push(left.positions.length)
      isAfterGap = false
      left.positions.push(position)
      left.lengths.push(length)
    },
    lost: () => {
      isAfterGap = true
    },
  })
  return left
}

/** The ordinal of each run's first record: as KEY has it, else as events refer to its records, else the next one. */
function ordinalsOf(files: LogFiles, segment: LeftSegment, left: Left, expected: ExpectedPages): number[] {
  const keys = keysOf(files, segment, left)
  const byKey = ordinalsByItem(readKeyUnchecked(files, segment.number) ?? new Uint32Array(0), left, keys)
  const byEvents = ordinalsByEvent(expected, segment.number)
  const ordinals: number[] = []
  let next = 0
  let end = SEGMENT_RECORD_BYTES
  for (const [i, first] of left.runs.entries()) {
    const behind = left.runs[i + 1] ?? left.positions.length
    const found = startOf(first, behind, byKey) ?? startOf(first, behind, (index) => byEvents(keys, index))
    const missing = (found ?? next) - next
    const room = segment.valBytes < 0 ? SEGMENT_BYTES_MAX : left.positions[first] - end
    // More values than had room there cannot be missing: what says so is damaged itself.
    const start = missing >= 0 && missing * EMPTY_RECORD_BYTES <= room ? next + missing : next
    ordinals.push(start)
    next = start + behind - first
    end = left.positions[behind - 1] + left.lengths[behind - 1]
  }
  return ordinals
}

/** Keys of the records that are left, four words each. */
function keysOf(files: LogFiles, { number }: LeftSegment, { positions }: Left): Uint32Array {
  const keys = new Uint32Array(positions.length * 4)
  const bytes = new Uint8Array(keys.buffer)
  for (const [i, position] of positions.entries()) {
    files.val(number).read(bytes.subarray(i * 16, i * 16 + 16), position + AT.body)
  }
  return keys
}

type OrdinalOf = (index: number) => number | undefined

/** By the KEY file as it is: an item with key and position of a record is that record's, whatever the rest is worth. */
function ordinalsByItem(words: Uint32Array, { positions }: Left, keys: Uint32Array): OrdinalOf {
  const table = new OrderedTable({ valueWords: 1, partitionBits: 4 })
  for (let at = 0; at < words.length; at += ITEM_WORDS) {
    const position = words[at + ITEM_AT.position]
    // Spread by a multiplication: keys of a table are expected to be as good as random.
    table.setWord(table.insert(Math.imul(position, 0x9e37_79b1) >>> 0, position, 0, 0), 0, at / ITEM_WORDS)
  }
  return (index) => {
    const position = positions[index]
    const handle = table.find(Math.imul(position, 0x9e37_79b1) >>> 0, position, 0, 0)
    if (handle < 0) return undefined
    const ordinal = table.word(handle, 0)
    for (let w = 0; w < 4; w++) if (words[ordinal * ITEM_WORDS + w] !== keys[index * 4 + w]) return undefined
    return ordinal
  }
}

function ordinalsByEvent(
  expected: ExpectedPages,
  segment: number,
): (keys: Uint32Array, i: number) => number | undefined {
  const table = new OrderedTable({ valueWords: 1, partitionBits: 4 })
  for (let at = 0; at < expected.length; at += 6) {
    if (expected[at] !== segment) continue
    const handle = table.insert(expected[at + 2], expected[at + 3], expected[at + 4], expected[at + 5])
    if (table.wasNew) table.setWord(handle, 0, expected[at + 1])
  }
  return (keys, i) => {
    const handle = table.find(keys[i * 4], keys[i * 4 + 1], keys[i * 4 + 2], keys[i * 4 + 3])
    return handle < 0 ? undefined : table.word(handle, 0)
  }
}

/** The ordinal of a run's first record on which most of its records agree. */
function startOf(first: number, behind: number, ordinalOf: OrdinalOf): number | undefined {
  const votes = new Map<number, number>() // at most VOTES_MAX
  let left = VOTES_MAX
  for (let i = first; i < behind && left > 0; i++) {
    const ordinal = ordinalOf(i)
    if (ordinal === undefined) continue
    left--
    const start = ordinal - (i - first)
    votes.set(start, (votes.get(start) ?? 0) + 1)
  }
  const [best] = [...votes].sort((a, b) => b[1] - a[1] || a[0] - b[0])
  return best?.[0]
}

function write(
  files: LogFiles,
  segment: LeftSegment,
  left: Left,
  ordinals: readonly number[],
  before: Joint,
  options: MendOptions,
): Joint {
  const { disk } = files
  const [val, key] = [valName, keyName].map((nameOf) =>
    disk.open(files.path(nameOf(segment.number)) + ASIDE_SUFFIX, 'create'),
  )
  try {
    val.truncate(0)
    key.truncate(0)
    const header = headerOf(segment, before, options)
    const writer = new LeftWriter(val, header, segment.number)
    for (const [i, first] of left.runs.entries()) {
      writer.fillUpTo(ordinals[i], options.voidFlags, header.timeMs)
      const behind = left.runs[i + 1] ?? left.positions.length
      for (let r = first; r < behind; r++) writer.copy(files.val(segment.number), left.positions[r], left.lengths[r])
    }
    return writer.finish(key, segment.sequenceAfter, options.isLast)
  } finally {
    val.close()
    key.close()
  }
}

/** The header it has, else one that fits the segments around. */
function headerOf(segment: LeftSegment, before: Joint, options: MendOptions): SegmentHeader {
  if (segment.header !== undefined) return segment.header
  const { owner, generation, timeMs, salt } = options
  return {
    timeMs,
    crawlId: owner.crawlId,
    shard: owner.shard,
    number: segment.number,
    generation,
    firstSequence: before.sequence,
    salt: segment.salt ?? salt,
    role: PAGES_LOG.role,
    beforeValBytes: before.valBytes,
    beforeKeyBytes: before.keyBytes,
    beforeKeyChecksum: before.keyChecksum,
    ownValBytes: 0,
    ownKeyBytes: 0,
    ownKeyChecksum: 0,
    ownSequenceAfter: 0,
  }
}

class LeftWriter {
  readonly #val: File
  readonly #header: SegmentHeader
  readonly #builder: KeyBuilder
  readonly #batch = new ByteWriter(BATCH_BYTES)
  readonly #record: RecordView
  #valBytes = SEGMENT_RECORD_BYTES
  #batchPosition = SEGMENT_RECORD_BYTES
  #records = 1

  constructor(val: File, header: SegmentHeader, number: number) {
    this.#val = val
    this.#header = header
    this.#builder = new KeyBuilder(PAGES_LOG.role, number, header.salt, PAGES_LOG.itemsOf)
    this.#record = new RecordView(this.#batch.buffer)
  }

  /** Empty values in the places of those that are gone. */
  fillUpTo(ordinal: number, flags: number, timeMs: number): void {
    const batch = this.#batch
    while (this.#ordinal < ordinal) {
      const start = batch.at
      batch.u32(EMPTY_RECORD_BYTES - LENGTH_FIELD_BYTES)
      batch.u8(FORMAT_VERSION)
      batch.u8(KIND.value)
      batch.u16(flags)
      batch.u64(timeMs)
      batch.u32(0)
      batch.words4(0, 0, 0, 0)
      batch.setU32(start + AT.checksum, recordChecksum(batch.buffer, batch.view, start, batch.at, this.#header.salt))
      this.#add(start)
    }
  }

  /** Values so far: the ordinal of the next one. */
  get #ordinal(): number {
    return this.#builder.items.end / ITEM_WORDS
  }

  copy(from: File, position: number, length: number): void {
    const batch = this.#batch
    const start = batch.at
    batch.reserve(length)
    from.read(batch.buffer.subarray(start, start + length), position)
    batch.at += length
    this.#add(start)
  }

  #add(start: number): void {
    const batch = this.#batch
    this.#builder.add(this.#record.set(batch.buffer, batch.view, start, this.#valBytes))
    this.#valBytes += batch.at - start
    this.#records++
    if (batch.at >= BATCH_BYTES) this.#flush()
  }

  #flush(): void {
    this.#val.write(this.#batch.written(), this.#batchPosition)
    this.#batchPosition += this.#batch.at
    this.#batch.reset()
  }

  /** KEY, then the `segment` record, which states both unless it is the last; then both are durable. */
  finish(key: File, sequenceAfter: number, isLast: boolean): Joint {
    this.#flush()
    const items = this.#builder.items.bytes()
    key.write(items, 0)
    const keyChecksum = crc32(items)
    const sequence = sequenceAfter > 0 ? sequenceAfter : this.#header.firstSequence + this.#records
    const own = isLast
      ? { ownValBytes: 0, ownKeyBytes: 0, ownKeyChecksum: 0, ownSequenceAfter: 0 }
      : {
          ownValBytes: this.#valBytes,
          ownKeyBytes: items.length,
          ownKeyChecksum: keyChecksum,
          ownSequenceAfter: sequence,
        }
    this.#val.write(encodeSegment({ ...this.#header, ...own }), 0)
    this.#val.syncNow()
    key.syncNow()
    return { valBytes: this.#valBytes, keyBytes: items.length, keyChecksum, sequence }
  }
}
