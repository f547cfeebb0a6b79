/**
 * The files of a log: names, segments known, and a bounded number of them open for reading.
 *
 * A segment here has a valid `segment` record. What lies in it is the business of reader and recover.
 */
import assert from 'node:assert'
import type { Disk, File } from '../env/disk.ts'
import { keyName, parseSegmentName, type Role, valName } from './format.ts'
import type { SegmentHeader } from './segment.ts'

/** Files of sealed segments kept open for reading; the least recently used is closed first. */
const OPEN_FILES_MAX = 256

export interface Segment {
  readonly number: number
  header: SegmentHeader
  /** Bytes of VAL that count: stated, or up to the last whole record in the last segment. */
  valBytes: number
  /** What KEY must be: stated by the successor or the segment itself; undefined in the last segment. */
  key: KeyFacts | undefined
}

export interface KeyFacts {
  readonly bytes: number
  /** CRC-32 of the whole file. */
  readonly checksum: number
}

export class LogFiles {
  readonly disk: Disk
  readonly role: Role
  /** Known segments in order. */
  readonly segments: Segment[] = []
  private readonly open = new Map<string, File>()
  private current: string
  /** Directories in which segments up to a number still are for this process, oldest first: a compaction took them over. */
  private readonly left: Array<{ readonly until: number; readonly directory: string }> = []

  constructor(disk: Disk, directory: string, role: Role) {
    this.disk = disk
    this.current = directory
    this.role = role
  }

  /** Where segments are written. */
  get directory(): string {
    return this.current
  }

  path(name: string): string {
    const number = parseSegmentName(name)?.number
    const left = number === undefined ? undefined : this.left.find(({ until }) => number <= until)
    return `${left?.directory ?? this.current}/${name}`
  }

  /**
   * The log goes on in another directory, where the segments behind `until` are linked; those up to it are read from where
   * they were, as whoever knows places in them still does.
   */
  moveTo(directory: string, until: number): void {
    this.left.push({ until, directory: this.current })
    this.current = directory
  }

  get last(): Segment | undefined {
    return this.segments[this.segments.length - 1]
  }

  /** The segment of this number. A number the log does not have is a programmer's error. */
  segment(number: number): Segment {
    const segment = this.find(number)
    assert(segment, `no segment ${number} in ${this.directory}`)
    return segment
  }

  find(number: number): Segment | undefined {
    if (this.segments.length === 0) return undefined
    const found = this.segments[number - this.segments[0].number]
    // With a segment missing (only `verify` goes on then) the numbers are not contiguous.
    return found?.number === number ? found : this.segments.find((segment) => segment.number === number)
  }

  val(number: number): File {
    return this.reading(valName(number))
  }

  key(number: number): File {
    return this.reading(keyName(number))
  }

  /** Closes what is open of a segment, because its files were replaced, cut or removed. */
  forget(number: number): void {
    for (const name of [valName(number), keyName(number)]) {
      this.open.get(name)?.close()
      this.open.delete(name)
    }
  }

  close(): void {
    for (const file of this.open.values()) file.close()
    this.open.clear()
  }

  private reading(name: string): File {
    let file = this.open.get(name)
    if (file === undefined) {
      file = this.disk.open(this.path(name), 'read')
      this.makeRoom()
    } else {
      this.open.delete(name) // and set again below: a Map iterates in order of insertion, so the oldest comes first
    }
    this.open.set(name, file)
    return file
  }

  private makeRoom(): void {
    if (this.open.size < OPEN_FILES_MAX) return
    for (const [name, file] of this.open) {
      file.close()
      this.open.delete(name)
      return
    }
  }
}
