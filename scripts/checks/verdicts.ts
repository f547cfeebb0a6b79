/**
 * What must become of a damaged crawl, worked out from the undamaged bytes by DESIGN's table of verdicts alone.
 *
 * Damage is one of two: a file ends earlier (`cut`), or one bit of it is another (`flip`). Both hit one record; what
 * was synced up to where decides the rest.
 */
import { logDirectory } from '../../src/shard/generations.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { factsOfLog, isBefore, type Place, type RecordFact, recordAt, type SegmentFacts } from './log-facts.ts'
import { SHARD } from './sample-crawl.ts'

export interface ShardFacts {
  readonly events: readonly SegmentFacts[]
  readonly pages: readonly SegmentFacts[]
  /** Digest after each record of the events, by sequence number. */
  readonly digests: readonly string[]
}

export type What = 'clean' | 'torn' | 'syncedLost' | 'corrupt'

export interface Expected {
  /** Of the log that was hit, when it is opened. */
  readonly what: What
  /** Of its verification: as `what`, but damage in a sealed VAL is `corrupt` here while an opening may not read it. */
  readonly verified: What | 'key'
  /** The record hit: a finding names its segment and an offset within it. Of KEY: the item's bytes. */
  readonly segment: number
  readonly from: number
  readonly to: number
  /** Where the segment before ends. */
  readonly before: number
  /** What is hit lies in a sealed segment: only who needs it reads it. */
  readonly isSealed: boolean
  /** Last event that counts; 0 = nothing is left. Undefined where opening is refused. */
  readonly lastSequence: number | undefined
}

export type LogName = 'events' | 'pages'

const NOWHERE: Place = { segment: 0, position: 0 }

export function shardFacts(disk: SimulatedDisk, digests: readonly string[]): ShardFacts {
  return {
    events: factsOfLog(disk, logDirectory(SHARD, 0), true),
    pages: factsOfLog(disk, `${SHARD}/pages`, false),
    digests,
  }
}

/** VAL of segment `number` ends at byte `at`, and the segments behind it are gone. */
export function verdictOfCut(facts: ShardFacts, log: LogName, number: number, at: number): Expected {
  const segments = facts[log].filter((segment) => segment.number <= number)
  const segment = segments[segments.length - 1]
  const start = at === segment.valBytes ? at : recordAt(segment, at).start
  // A rewritten segment was synced whole and says so, as long as its first record is there.
  const stated = at < segment.records[0].end ? NOWHERE : { segment: number, position: segment.ownBytes }
  const promised = latest([promisedIn(facts, log, number), stated])
  const isPromised = isBefore({ segment: number, position: start }, promised)
  // Of a `segment` record that is cut nothing is left but its file.
  const isClean = start === at && at > 0
  const what: What = isPromised ? 'syncedLost' : isClean ? 'clean' : 'torn'
  const lastSequence = lastEvent(facts, log, { segment: number, position: start })
  const before = segments[segments.length - 2]?.valBytes ?? 0
  return {
    what,
    verified: what,
    segment: number,
    from: start,
    to: Math.max(at, start + 1),
    before,
    isSealed: false,
    lastSequence,
  }
}

/** One bit of byte `at` of a segment's VAL is flipped. */
export function verdictOfFlip(facts: ShardFacts, log: LogName, number: number, at: number): Expected {
  const segments = facts[log]
  const segment = segments.find((candidate) => candidate.number === number) as SegmentFacts
  const hit = recordAt(segment, at)
  const before = segments.find((candidate) => candidate.number === number - 1)?.valBytes ?? 0
  const isSealed = number < segments[segments.length - 1].number
  const common = { segment: number, from: hit.start, to: hit.end, before, isSealed }
  const end = { segment: number, position: hit.start }
  if (isSealed) {
    // A sealed segment: its first record is read by every opening, the others when they are needed or verified.
    if (hit.start === 0) return { what: 'corrupt', verified: 'corrupt', ...common, lastSequence: undefined }
    return { what: 'clean', verified: 'corrupt', ...common, lastSequence: lastRecord(facts.events).sequence }
  }
  const isPromised = isBefore(end, promisedIn(facts, log, number))
  const isFollowed = hit.end < segment.valBytes
  if (isPromised && isFollowed) return { what: 'corrupt', verified: 'corrupt', ...common, lastSequence: undefined }
  const what = isPromised ? 'syncedLost' : 'torn'
  return { what, verified: what, ...common, lastSequence: lastEvent(facts, log, end) }
}

/** One bit of byte `at` of a segment's KEY is flipped: nothing is lost. */
export function verdictOfKeyFlip(facts: ShardFacts, log: LogName, number: number, at: number): Expected {
  const from = Math.floor(at / 24) * 24
  const lastSequence = lastRecord(facts.events).sequence
  const isSealed = number < lastRecord(facts[log]).segment
  return { what: 'clean', verified: 'key', segment: number, from, to: from + 24, before: 0, isSealed, lastSequence }
}

/** Up to where a log had been synced, as far as whoever opens it up to segment `number` can know. */
function promisedIn(facts: ShardFacts, log: LogName, number: number): Place {
  const marks = facts.events.flatMap(({ records }) => records.filter((record) => record.mark !== undefined))
  if (log === 'pages') return marks[marks.length - 1]?.mark?.pagesSynced ?? NOWHERE
  // The marks of a segment stand in its VAL and its KEY; either tells. Those of segments that are gone tell nothing.
  return latest(marks.filter(({ segment }) => segment === number).map(({ mark }) => mark?.synced ?? NOWHERE))
}

function latest(places: readonly Place[]): Place {
  return places.reduce((found, place) => (isBefore(found, place) ? place : found), NOWHERE)
}

/** The last event that counts where a log ends at `end`. Of pages: what refers to a lost one goes, and all behind it. */
function lastEvent(facts: ShardFacts, log: LogName, end: Place): number {
  const records = facts.events.flatMap((segment) => segment.records)
  const isLost = log === 'events' ? startsBehind(end) : refersBehind(facts.pages, end)
  const lost = records.find(isLost)
  return lost === undefined ? records[records.length - 1].sequence : lost.sequence - 1
}

function startsBehind(end: Place): (record: RecordFact) => boolean {
  return ({ segment, start }) => !isBefore({ segment, position: start }, end)
}

function refersBehind(pages: readonly SegmentFacts[], end: Place): (record: RecordFact) => boolean {
  const first = pages.flatMap(({ records }) => records).find(startsBehind(end))
  return ({ page }) => {
    if (page === undefined || first === undefined) return false
    return page.segment > first.segment || (page.segment === first.segment && page.ordinal >= first.ordinal)
  }
}

export function lastRecord(segments: readonly SegmentFacts[]): RecordFact {
  const { records } = segments[segments.length - 1]
  return records[records.length - 1]
}
