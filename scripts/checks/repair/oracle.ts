/**
 * What a repair must say, from the undamaged files, the bytes that were changed, and a reader of the format of its own
 * (log-facts.ts): which records are gone, which pages, which facts.
 */

import { ByteReader } from '../../../src/base/bytes.ts'
import { keyOf, keyToHex } from '../../../src/base/md5.ts'
import { decodeEvent } from '../../../src/core/decode.ts'
import type { CrawlEvent } from '../../../src/core/event.ts'
import { KIND } from '../../../src/core/kind.ts'
import type { SimulatedDisk } from '../../../test/sim/disk.ts'
import { factsOfLog, type RecordFact, type SegmentFacts } from '../log-facts.ts'
import { ROOT } from './samples.ts'

/** A stretch of lost records. */
export interface LostRun {
  readonly log: 'events' | 'pages'
  readonly segment: number
  readonly offset: number
  readonly records: number
  readonly fromSequence: number
  readonly toSequence: number
  /** The KEY of its segment is undamaged. */
  readonly isIndexed: boolean
}

export interface Truth {
  readonly lost: readonly LostRun[]
  /** URLs of outcomes that are left and whose page is not. */
  readonly pages: readonly string[]
  /** `fact of host`. */
  readonly hostFacts: readonly string[]
  readonly settings: number
  /** Every lost stretch of the events has an undamaged KEY. */
  readonly isIndexed: boolean
  /** Anything of the logs' VAL is gone. */
  readonly isLossy: boolean
}

interface Log {
  readonly name: 'events' | 'pages'
  readonly path: string
  readonly segments: readonly SegmentFacts[]
}

interface Fate {
  readonly record: RecordFact
  readonly isLeft: boolean
  readonly event: CrawlEvent | undefined
}

/** The log directory that counts in a sample. */
export function eventsPath(disk: SimulatedDisk): string {
  const name = disk
    .list(ROOT)
    .filter((entry) => entry.startsWith('log'))
    .at(-1)
  return `${ROOT}/${name}`
}

export function truthOf(undamaged: SimulatedDisk, damaged: SimulatedDisk): Truth {
  const path = eventsPath(undamaged)
  const events: Log = { name: 'events', path, segments: factsOfLog(undamaged, path, true) }
  const pages: Log = { name: 'pages', path: `${ROOT}/pages`, segments: factsOfLog(undamaged, `${ROOT}/pages`, false) }
  const eventFates = fatesOf(events, undamaged, damaged)
  const pageFates = fatesOf(pages, undamaged, damaged)
  const lost = [...runsOf(events, eventFates, undamaged, damaged), ...runsOf(pages, pageFates, undamaged, damaged)]
  return {
    lost,
    pages: lostPages(eventFates, pageFates, undamaged),
    ...lostFacts(eventFates),
    isIndexed: lost.every((run) => run.log === 'pages' || run.isIndexed),
    isLossy: lost.length > 0,
  }
}

function fatesOf(log: Log, undamaged: SimulatedDisk, damaged: SimulatedDisk): Fate[][] {
  return log.segments.map((segment) => {
    const before = Buffer.from(undamaged.peek(segment.valPath) ?? [])
    const after = Buffer.from(damaged.peek(segment.valPath) ?? [])
    const isIntact = ({ start, end }: RecordFact): boolean =>
      end <= after.length && before.subarray(start, end).equals(after.subarray(start, end))
    const isStated = before.subarray(56, 60).equals(after.subarray(56, 60))
    const canRead = hasSalt(segment, isIntact, isStated)
    return segment.records.map((record) => ({
      record,
      isLeft: isIntact(record) && canRead,
      event: log.name === 'events' ? eventIn(before, record) : undefined,
    }))
  })
}

/** Without its own record a segment's salt is what that still states, or comes from a mark, or from two records in a row. */
function hasSalt({ records }: SegmentFacts, isIntact: (record: RecordFact) => boolean, isStated: boolean): boolean {
  if (isIntact(records[0]) || (isStated && records.some(isIntact))) return true
  return records.some(
    (record, i) =>
      i > 0 && isIntact(record) && (record.mark !== undefined || (i + 1 < records.length && isIntact(records[i + 1]))),
  )
}

function eventIn(bytes: Buffer, { start, end, kind }: RecordFact): CrawlEvent | undefined {
  return decodeEvent(new ByteReader(bytes.subarray(start, end), 20), kind, bytes.readUInt16LE(start + 6))
}

function runsOf(log: Log, fates: readonly Fate[][], undamaged: SimulatedDisk, damaged: SimulatedDisk): LostRun[] {
  return log.segments.flatMap((segment, i) => {
    const runs: RecordFact[][] = []
    let isOpen = false
    for (const { record, isLeft } of fates[i]) {
      if (!isLeft && !isOpen) runs.push([])
      if (!isLeft) runs.at(-1)?.push(record)
      isOpen = !isLeft
    }
    const keyAfter = damaged.peek(segment.keyPath)
    const isIndexed =
      keyAfter !== undefined && Buffer.compare(keyAfter, undamaged.peek(segment.keyPath) ?? Buffer.alloc(0)) === 0
    return runs.map((run) => ({
      log: log.name,
      segment: segment.number,
      offset: run[0].start,
      records: run.length,
      fromSequence: run[0].sequence,
      toSequence: run[run.length - 1].sequence,
      isIndexed,
    }))
  })
}

function lostPages(events: readonly Fate[][], pages: readonly Fate[][], undamaged: SimulatedDisk): string[] {
  const isPageLeft = (segment: number, ordinal: number): boolean => {
    const fate = pages[segment - 1]?.find(({ record }) => record.kind === 0 && record.ordinal === ordinal)
    if (fate === undefined || !fate.isLeft) return false
    const holder = elsewhereOf(undamaged, fate.record)
    return holder === undefined || isPageLeft(holder.segment, holder.ordinal)
  }
  const urls: string[] = []
  for (const { event, isLeft } of events.flat()) {
    if (!isLeft || event === undefined || !('stored' in event) || event.stored === undefined) continue
    const { segment, ordinal } = event.stored.page
    if (!isPageLeft(segment, ordinal)) urls.push(event.attempt.link.url)
  }
  return urls.sort()
}

/** The page that holds the body of this one, read by lines of their own. */
function elsewhereOf(
  disk: SimulatedDisk,
  { segment, start, end }: RecordFact,
): { segment: number; ordinal: number } | undefined {
  const path = `${ROOT}/pages/${String(segment).padStart(6, '0')}.val`
  const input = new ByteReader(Buffer.from(disk.peek(path) ?? []).subarray(start + 36, end))
  if (input.remaining === 0 || (input.u8() & 2) === 0) return undefined
  input.skip(2 + 32)
  for (let left = input.varint(); left > 0; left--) {
    input.latin1()
    input.latin1()
  }
  input.varint()
  return { segment: input.u16(), ordinal: input.u32() }
}

const FACTS = new Map<number, string>([
  [KIND.resolved, 'resolved'],
  [KIND.badhost, 'badhost'],
  [KIND.robots, 'robots'],
  [KIND.delay, 'delay'],
])

/** Facts of lost records that no later record says anew. */
function lostFacts(fates: readonly Fate[][]): Pick<Truth, 'hostFacts' | 'settings'> {
  const facts = new Set<string>()
  let settings = 0
  for (const { event, isLeft } of fates.flat()) {
    if (event === undefined) continue
    if (event.kind === KIND.open || event.kind === KIND.control) settings = isLeft ? 0 : settings + 1
    const fact = FACTS.get(event.kind)
    if (fact === undefined || !('host' in event)) continue
    if (isLeft) facts.delete(`${fact} of ${event.host}`)
    else facts.add(`${fact} of ${event.host}`)
  }
  return { hostFacts: [...facts].sort(), settings }
}

export function hexOf(url: string): string {
  return keyToHex(keyOf(url))
}
