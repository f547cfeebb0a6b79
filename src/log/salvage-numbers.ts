/** Numbers and times of what is lost of a log. */
import { KIND } from './format.ts'
import { decodeMark } from './mark.ts'
import type { RecordView } from './record.ts'

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

/**
 * Numbers and times of what is lost, from what stands around it: a segment's first number, marks, which tell their own,
 * and the records between.
 */
export class Numbering {
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
