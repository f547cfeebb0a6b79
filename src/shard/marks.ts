/**
 * Marks found in KEY: each has its time and its sequence number in its item, so a place in the log is found by either
 * without reading VAL.
 *
 * Callers: cut.ts, for instants; replay.ts, for totals.
 */
import { KIND } from '../core/kind.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'

export interface FoundMarkItem extends Position {
  readonly timeMs: number
  /** Of the mark itself. */
  readonly sequence: number
}

/** The last mark of a segment that something holds for, and the one behind it. */
export interface MarksAround {
  readonly before: FoundMarkItem | undefined
  readonly after: FoundMarkItem | undefined
}

/**
 * Searches a segment's KEY for the last mark that `isIncluded`, which must hold for all marks up to some place and for
 * none behind it.
 *
 * Cost: one read of the KEY, then O(log items) looks, each at the items up to the next mark. Errors: LOG_CORRUPT.
 */
export function marksAround(
  log: OpenedLog,
  segment: number,
  isIncluded: (mark: FoundMarkItem) => boolean,
): MarksAround {
  const words = log.key(segment)
  let before: FoundMarkItem | undefined
  let after: FoundMarkItem | undefined
  let low = 0
  let high = words.length / ITEM_WORDS
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = nextMark(words, middle, high)
    const mark = item < high ? markItem(words, item, segment) : undefined
    if (mark !== undefined && isIncluded(mark)) {
      before = mark
      low = item + 1
    } else {
      after = mark ?? after
      high = middle
    }
  }
  return { before, after }
}

/** The last mark before a place, in its segment or one before; undefined where there is none. */
export function lastMarkBefore(log: OpenedLog, { segment, position }: Position): FoundMarkItem | undefined {
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number } = log.segments[i]
    if (number > segment) continue
    const { before } = marksAround(log, number, (mark) => number < segment || mark.position < position)
    if (before !== undefined) return before
  }
  return undefined
}

/** Index of the first mark's item from `from` on, `to` where there is none before. */
function nextMark(words: Uint32Array, from: number, to: number): number {
  let item = from
  while (item < to && itemKind(words[item * ITEM_WORDS + ITEM_AT.kindAndArg]) !== KIND.mark) item++
  return item
}

function markItem(words: Uint32Array, item: number, segment: number): FoundMarkItem {
  const at = item * ITEM_WORDS
  return {
    segment,
    position: words[at + ITEM_AT.position],
    timeMs: words[at] + words[at + 1] * 2 ** 32,
    sequence: words[at + 2] + words[at + 3] * 2 ** 32,
  }
}
