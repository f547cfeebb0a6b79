/**
 * The horizon of a log: the place up to which a compaction has left the state alone, or a repair has written anew what was
 * left. No earlier instant can be asked for.
 */
import { KIND as EVENT } from '../core/kind.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, KIND, type Position } from '../log/format.ts'
import { decodeMark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'

export interface Horizon {
  /** After the last compacted record. */
  readonly position: Position
  /** Of the last record that was compacted. */
  readonly sequence: number
  /** Time of that record, milliseconds since 1970. */
  readonly timeMs: number
  /** Up to where the pages are durable that what is before it refers to. */
  readonly pagesSynced: Position
  /** A repair wrote what is before it: all that was left, with the times it had. */
  readonly isRepair: boolean
}

const found = new WeakMap<OpenedLog, Horizon | undefined>()

/**
 * @returns undefined where the log reaches back to its first record
 * Errors: LOG_CORRUPT. Cost: once for each log a look through the KEY of its compacted segments.
 */
export function horizonOf(log: OpenedLog): Horizon | undefined {
  if (!found.has(log)) found.set(log, log.generation === 0 ? undefined : endOfCompacted(log))
  return found.get(log)
}

/** The first mark of such a log is the compaction's or the repair's own, and the last record of what that wrote. */
function endOfCompacted(log: OpenedLog): Horizon | undefined {
  for (const { number } of log.segments) {
    const words = log.key(number)
    for (let at = 0; at < words.length; at += ITEM_WORDS) {
      if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.mark) continue
      const record = log.read(number, words[at + ITEM_AT.position])
      const mark = decodeMark(record)
      if (mark === undefined) continue
      const position = { segment: number, position: record.position + record.length }
      return {
        position,
        sequence: mark.sequence,
        timeMs: record.timeMs,
        pagesSynced: mark.pagesSynced,
        isRepair: isRepaired(log, number + 1),
      }
    }
  }
  return undefined
}

/** Whether a segment begins with a `repaired` record. */
function isRepaired(log: OpenedLog, number: number): boolean {
  if (!log.has(number)) return false
  const words = log.key(number)
  return words.length > 0 && itemKind(words[ITEM_AT.kindAndArg]) === EVENT.repaired
}
