/**
 * Cuts: the place in a log that an instant or a sequence number means. A cut falls between two records; everything before
 * it is the past that was asked for.
 */
import { CrawlError } from '../base/errors.ts'
import { KIND } from '../core/kind.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { type Horizon, horizonOf } from './horizon.ts'

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

/** The cut behind record `sequence`. Errors: UNTIL_UNREACHABLE where the log does not reach so far forward or back. */
export function cutAtSequence(log: OpenedLog, sequence: number): Cut {
  if (sequence >= log.sequence) {
    throw unreachable(`The log ends with record ${log.sequence - 1}.`, log)
  }
  const horizon = horizonOf(log)
  if (horizon !== undefined && sequence < horizon.sequence) throw compacted(log, horizon)
  if (horizon?.sequence === sequence) return horizon
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number, header } = log.segments[i]
    if (header.firstSequence > sequence) continue
    let timeMs = 0
    let end = 0
    let at = header.firstSequence
    log.scan(number, (record) => {
      if (at++ > sequence) return
      timeMs = record.timeMs
      end = record.position + record.length
    })
    return { position: { segment: number, position: end }, sequence, timeMs }
  }
  throw unreachable(`The log begins with record ${log.segments[0]?.header.firstSequence ?? 1}.`, log)
}

/** The cut behind the last record with a time up to `timeMs`. Errors: UNTIL_UNREACHABLE before the first record. */
export function cutAtTime(log: OpenedLog, timeMs: number): Cut {
  const horizon = horizonOf(log)
  if (horizon !== undefined && timeMs < horizon.timeMs) throw compacted(log, horizon)
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number, header } = log.segments[i]
    if (horizon !== undefined && number <= horizon.position.segment) return horizon
    if (header.timeMs > timeMs) continue
    const mark = lastMarkUntil(log, number, timeMs)
    let cut: Cut | undefined
    let sequence = mark?.sequence ?? header.firstSequence
    log.scan(
      number,
      (record) => {
        if (record.timeMs <= timeMs) {
          cut = {
            position: { segment: number, position: record.position + record.length },
            sequence,
            timeMs: record.timeMs,
          }
        }
        sequence++
      },
      mark?.position ?? 0,
    )
    if (cut !== undefined) return cut
  }
  throw unreachable('The crawl began later.', log)
}

/** The last mark of a segment with a time up to `timeMs`: KEY has both its time and its sequence number. */
function lastMarkUntil(
  log: OpenedLog,
  number: number,
  timeMs: number,
): { position: number; sequence: number } | undefined {
  const words = log.key(number)
  for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
    if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.mark) continue
    if (words[at] + words[at + 1] * 2 ** 32 > timeMs) continue
    return { position: words[at + ITEM_AT.position], sequence: words[at + 2] + words[at + 3] * 2 ** 32 }
  }
  return undefined
}

function compacted(log: OpenedLog, { timeMs, sequence, isRepair }: Horizon): CrawlError {
  const past = `What happened before ${new Date(timeMs).toISOString()} (record ${sequence})`
  const why = isRepair ? `${past} is known only as far as a repair found it.` : `${past} was compacted away.`
  return unreachable(why, log)
}

function unreachable(why: string, log: OpenedLog): CrawlError {
  const first = log.segments[0]?.header
  const horizon = horizonOf(log)
  const earliest = new Date(horizon?.timeMs ?? first?.timeMs ?? 0).toISOString()
  const earliestSequence = horizon?.sequence ?? first?.firstSequence ?? 1
  const facts = { earliest, earliestSequence, latestSequence: log.sequence - 1 }
  const hint = `Name an instant from ${earliest} (record ${facts.earliestSequence}) to record ${facts.latestSequence}.`
  return new CrawlError('UNTIL_UNREACHABLE', why, facts, hint)
}
