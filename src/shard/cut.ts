/**
 * Cuts: the place in a log that an instant or a sequence number means. A cut falls between two records; everything before
 * it is the past that was asked for.
 *
 * Found in three steps, each by what the step before leaves: the segment, by the `segment` records; the marks around the
 * cut, by their KEY items; the record, by a scan of VAL between these two marks.
 */
import { CrawlError } from '../base/errors.ts'
import type { Segment } from '../log/files.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import type { RecordView } from '../log/record.ts'
import { type Horizon, horizonOf } from './horizon.ts'
import { type FoundMarkItem, marksAround } from './marks.ts'

export interface Cut {
  /** Before the first record that is not part of it. */
  readonly position: Position
  /** Sequence number of its last record. */
  readonly sequence: number
  /** Time of its last record. */
  readonly timeMs: number
}

export function cutAtEnd(log: OpenedLog): Cut {
  return { position: log.end, sequence: log.sequence - 1, timeMs: log.lastTimeMs }
}

/**
 * The cut behind record `sequence`. Errors: UNTIL_UNREACHABLE where the log does not reach so far forward or back.
 * Cost: one KEY file, and the records between two marks.
 */
export function cutAtSequence(log: OpenedLog, sequence: number): Cut {
  if (sequence >= log.sequence) throw unreachable(`The log ends with record ${log.sequence - 1}.`, log)
  const horizon = horizonOf(log)
  if (horizon !== undefined && sequence < horizon.sequence) throw compacted(log, horizon)
  if (horizon?.sequence === sequence) return horizon
  const cut = cutBehind(log, sequence)
  if (cut !== undefined) return cut
  throw unreachable(`The log begins with record ${log.segments[0]?.header.firstSequence ?? 1}.`, log)
}

/**
 * The cut behind the record of a number, counted from the first of its segment, also among those that a compaction wrote;
 * undefined before the first. Cost: as `cutAtSequence`.
 */
export function cutBehind(log: OpenedLog, sequence: number): Cut | undefined {
  const segment = lastSegment(log, ({ header }) => header.firstSequence <= sequence)
  if (segment === undefined) return undefined
  const isWithin = (mark: FoundMarkItem): boolean => mark.sequence <= sequence
  return lastRecord(log, segment, isWithin, (_, number) => number <= sequence)
}

/**
 * The cut behind the last record with a time up to `timeMs`. Errors: UNTIL_UNREACHABLE before the first record.
 * Cost: one KEY file, and the records between two marks.
 */
export function cutAtTime(log: OpenedLog, timeMs: number): Cut {
  const horizon = horizonOf(log)
  if (horizon !== undefined && timeMs < horizon.timeMs) throw compacted(log, horizon)
  const segment = lastSegment(log, ({ header }) => header.timeMs <= timeMs)
  if (segment === undefined) throw unreachable('The crawl began later.', log)
  if (horizon !== undefined && segment.number <= horizon.position.segment) return horizon
  const isWithin = (mark: FoundMarkItem): boolean => mark.timeMs <= timeMs
  return lastRecord(log, segment, isWithin, (record) => record.timeMs <= timeMs)
}

/** The cut before a place between two records. Cost: one KEY file, and the records since the last mark. */
export function cutBefore(log: OpenedLog, end: Position): Cut {
  const segment = lastSegment(log, ({ number }) => number <= end.segment)
  if (segment === undefined) throw unreachable('The log is empty.', log)
  const isWithin = (mark: FoundMarkItem): boolean => mark.position < end.position
  return lastRecord(log, segment, isWithin, (record) => record.position < end.position)
}

/** The last segment that `isIncluded`, which holds for all up to some place and for none behind it. */
function lastSegment(log: OpenedLog, isIncluded: (segment: Segment) => boolean): Segment | undefined {
  let low = 0
  let high = log.segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isIncluded(log.segments[middle])) low = middle + 1
    else high = middle
  }
  return log.segments[low - 1]
}

/** The cut behind the last record of a segment that is part of it; its first record always is. */
function lastRecord(
  log: OpenedLog,
  { number, header }: Segment,
  isMarkWithin: (mark: FoundMarkItem) => boolean,
  isWithin: (record: RecordView, sequence: number) => boolean,
): Cut {
  const { before, after } = marksAround(log, number, isMarkWithin)
  let cut: Cut = { position: { segment: number, position: 0 }, sequence: header.firstSequence - 1, timeMs: 0 }
  let sequence = before?.sequence ?? header.firstSequence
  log.scan(
    number,
    (record) => {
      if (isWithin(record, sequence)) {
        const position = { segment: number, position: record.position + record.length }
        cut = { position, sequence, timeMs: record.timeMs }
      }
      sequence++
    },
    before?.position ?? 0,
    after?.position,
  )
  return cut
}

function compacted(log: OpenedLog, { timeMs, sequence, isRepair }: Horizon): CrawlError {
  const past = `What happened before ${new Date(timeMs).toISOString()} (record ${sequence})`
  const why = isRepair ? `${past} is known only as far as a repair found it.` : `${past} was compacted away.`
  return unreachable(why, log)
}

/** An instant that this log does not hold: names the earliest one it does. */
export function unreachable(why: string, log: OpenedLog): CrawlError {
  const first = log.segments[0]?.header
  const horizon = horizonOf(log)
  const earliest = new Date(horizon?.timeMs ?? first?.timeMs ?? 0).toISOString()
  const earliestSequence = horizon?.sequence ?? first?.firstSequence ?? 1
  const facts = { earliest, earliestSequence, latestSequence: log.sequence - 1 }
  const hint = `Name an instant from ${earliest} (record ${facts.earliestSequence}) to record ${facts.latestSequence}.`
  return new CrawlError('UNTIL_UNREACHABLE', why, facts, hint)
}
