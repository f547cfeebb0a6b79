/**
 * The horizon of a log: the place up to which a compaction has left the state alone. No earlier instant can be asked for.
 */
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

/** The first mark of a compacted log is the compaction's own, and its last record. */
function endOfCompacted(log: OpenedLog): Horizon | undefined {
  for (const { number } of log.segments) {
    const words = log.key(number)
    for (let at = 0; at < words.length; at += ITEM_WORDS) {
      if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.mark) continue
      const record = log.read(number, words[at + ITEM_AT.position])
      const mark = decodeMark(record)
      if (mark === undefined) continue
      const position = { segment: number, position: record.position + record.length }
      return { position, sequence: mark.sequence, timeMs: record.timeMs }
    }
  }
  return undefined
}
