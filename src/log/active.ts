/**
 * The last segment of a log being written: its two open files, and how far each is written whole.
 *
 * Invariant: `segment.valBytes` and `keyBytes` end with the last batch that was written whole, in VAL and in KEY.
 */
import { crc32 } from 'node:zlib'
import { CrawlError } from '../base/errors.ts'
import type { File } from '../env/disk.ts'
import type { LogFiles, Segment } from './files.ts'
import { keyName, type Position, SEGMENT_NUMBER_MAX, SEGMENT_RECORD_BYTES, valName } from './format.ts'
import { encodeSegment, type SegmentHeader } from './segment.ts'

export class ActiveSegment {
  readonly segment: Segment
  keyBytes: number
  /** CRC-32 of KEY so far, kept running, so that nothing is read back when the segment is sealed. */
  private keyChecksum: number
  private readonly val: File
  private readonly key: File
  private isSyncing = false
  private isClosed = false

  constructor(segment: Segment, val: File, key: File, keyBytes: number, keyChecksum: number) {
    this.segment = segment
    this.val = val
    this.key = key
    this.keyBytes = keyBytes
    this.keyChecksum = keyChecksum
  }

  /** Up to where the operating system has it. */
  get written(): Position {
    return { segment: this.segment.number, position: this.segment.valBytes }
  }

  /** Appends a batch to VAL, then its items to KEY. After an error call `cutBack`. */
  write(records: Uint8Array, items: Uint8Array): void {
    this.val.write(records, this.segment.valBytes)
    this.key.write(items, this.keyBytes)
    this.keyChecksum = crc32(items, this.keyChecksum)
    this.keyBytes += items.length
    this.segment.valBytes += records.length
  }

  /** Cuts both files to the end of the last whole batch. */
  cutBack(): void {
    this.val.truncate(this.segment.valBytes)
    this.key.truncate(this.keyBytes)
  }

  sync(done: (error?: Error) => void): void {
    this.isSyncing = true
    this.val.sync((error) => {
      this.isSyncing = false
      if (this.isClosed) this.val.close()
      done(error)
    })
  }

  syncNow(): void {
    this.val.syncNow()
  }

  /** The segment becomes a sealed one. Its KEY is synced beside, to save rebuilding it after a loss of power. */
  seal(done: (error?: Error) => void): void {
    this.segment.key = { bytes: this.keyBytes, checksum: this.keyChecksum }
    this.closeVal()
    this.key.sync((error) => {
      this.key.close()
      done(error)
    })
  }

  close(): void {
    this.closeVal()
    this.key.close()
  }

  /** A sync that is running keeps VAL open until it returns. */
  private closeVal(): void {
    this.isClosed = true
    if (!this.isSyncing) this.val.close()
  }

  /** The `segment` record of the one that follows this. Errors: LOG_FULL. */
  successorHeader(sequence: number, timeMs: number, salt: number): SegmentHeader {
    const { header, valBytes, number } = this.segment
    if (number === SEGMENT_NUMBER_MAX) {
      throw new CrawlError('LOG_FULL', `The log has ${SEGMENT_NUMBER_MAX} segments, as many as there can be.`)
    }
    return {
      ...header,
      timeMs,
      number: number + 1,
      firstSequence: sequence,
      salt,
      beforeValBytes: valBytes,
      beforeKeyBytes: this.keyBytes,
      beforeKeyChecksum: this.keyChecksum,
      ownValBytes: 0,
      ownKeyBytes: 0,
      ownKeyChecksum: 0,
      ownSequenceAfter: 0,
    }
  }
}

/**
 * Makes the files of a segment, with its `segment` record, and their names durable; adds it to `files`.
 *
 * On failure the log ends with the segment before: what is left of the new one is cut at the next opening.
 */
export function createSegment(files: LogFiles, header: SegmentHeader): ActiveSegment {
  const { disk } = files
  const key = disk.open(files.path(keyName(header.number)), 'create')
  let val: File | undefined
  try {
    key.truncate(0)
    val = disk.open(files.path(valName(header.number)), 'create')
    val.truncate(0)
    val.write(encodeSegment(header), 0)
    disk.syncDirectory(files.directory)
  } catch (error) {
    key.close()
    val?.close()
    throw error
  }
  const segment: Segment = { number: header.number, header, valBytes: SEGMENT_RECORD_BYTES, key: undefined }
  files.segments.push(segment)
  return new ActiveSegment(segment, val, key, 0, 0)
}
