/**
 * What stands where in an undamaged log, read by a few lines of their own from FORMAT.md, not by src/log: what a check
 * that damages the log expects must not come from the code it checks.
 */
import { ByteReader } from '../../src/base/bytes.ts'
import { decodeEvent } from '../../src/core/decode.ts'
import type { PageRef } from '../../src/core/event.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'

export interface Place {
  readonly segment: number
  readonly position: number
}

export interface RecordFact {
  readonly segment: number
  readonly start: number
  readonly end: number
  readonly kind: number
  readonly sequence: number
  /** Number of its item among the values of its segment, from 0. */
  readonly ordinal: number
  /** Of a mark. */
  readonly mark: { readonly synced: Place; readonly pagesSynced: Place; readonly digest: string } | undefined
  /** The page that an event refers to. */
  readonly page: PageRef | undefined
}

export interface SegmentFacts {
  readonly number: number
  readonly valPath: string
  readonly keyPath: string
  readonly valBytes: number
  /** What a rewritten segment says of its own VAL; 0 where it was not rewritten. */
  readonly ownBytes: number
  readonly records: readonly RecordFact[]
}

const SEGMENT_KIND = 1
const MARK_KIND = 4

/** The segments of a log in order, with all their records. */
export function factsOfLog(disk: SimulatedDisk, directory: string, isEvents: boolean): SegmentFacts[] {
  const numbers = disk.list(directory).filter((name) => name.endsWith('.val'))
  return numbers.map((name) => {
    const bytes = Buffer.from(disk.peek(`${directory}/${name}`) ?? [])
    return {
      number: Number(name.slice(0, 6)),
      valPath: `${directory}/${name}`,
      keyPath: `${directory}/${name.slice(0, 6)}.key`,
      valBytes: bytes.length,
      ownBytes: bytes.readUInt32LE(76),
      records: recordsIn(bytes, Number(name.slice(0, 6)), isEvents),
    }
  })
}

function recordsIn(bytes: Buffer, segment: number, isEvents: boolean): RecordFact[] {
  const records: RecordFact[] = []
  const first = Number(bytes.readBigUInt64LE(48))
  for (let start = 0; start < bytes.length; ) {
    const end = start + 4 + bytes.readUInt32LE(start)
    const kind = bytes[start + 5]
    const event = isEvents && kind !== SEGMENT_KIND && kind !== MARK_KIND ? eventIn(bytes, start, end, kind) : undefined
    records.push({
      segment,
      start,
      end,
      kind,
      sequence: first + records.length,
      ordinal: records.length - 1,
      mark: kind === MARK_KIND ? markIn(bytes, start) : undefined,
      page: event !== undefined && 'stored' in event ? event.stored?.page : undefined,
    })
    start = end
  }
  return records
}

function eventIn(bytes: Buffer, start: number, end: number, kind: number) {
  return decodeEvent(new ByteReader(bytes.subarray(start, end), 20), kind)
}

function markIn(bytes: Buffer, start: number): RecordFact['mark'] {
  const place = (at: number): Place => ({ segment: bytes.readUInt32LE(at), position: bytes.readUInt32LE(at + 4) })
  const digest = bytes.toString('hex', start + 40, start + 56)
  return { synced: place(start + 24), pagesSynced: place(start + 32), digest }
}

export function isBefore(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.position < b.position)
}

/** The record that holds a byte. */
export function recordAt(segment: SegmentFacts, at: number): RecordFact {
  const record = segment.records.findLast(({ start }) => start <= at)
  if (record === undefined || at >= record.end) throw new Error(`no record holds byte ${at}`)
  return record
}
