/**
 * Replay: the state of a shard from its log, by the same `evolve` as the live turn. Reads KEY, 24 bytes an event, and of
 * VAL only what carries more than its item.
 *
 * Replay checks itself: at a mark the digest must be the one that the live state had there.
 */
import { CrawlError } from '../base/errors.ts'
import type { CrawlEvent, EventAt } from '../core/event.ts'
import { evolve } from '../core/evolve.ts'
import { KIND } from '../core/kind.ts'
import { createState, type State } from '../core/state.ts'
import { comparePositions, ITEM_AT, ITEM_BYTES, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import { decodeMark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'
import { eventOf, readEvent } from './link-source.ts'
import { addToTotals, createTotals, decodeTotals, type Totals } from './totals.ts'

export interface ReplayOptions {
  /** Where the state given stands already; default: before the first record. */
  readonly from?: Position
  /** Records at or after this place are not applied; default: the log's end. */
  readonly until?: Position
  /** Called after each segment with the items applied so far and, nearly, those there are to apply. */
  readonly onProgress?: (items: number, itemsMax: number) => void
}

/** KEY items applied at once, so that a long segment shows progress and a mark is checked where it stands. */
const MARKS_CHECKED_PER_SEGMENT = 4

/**
 * Applies the log to `state`.
 * @returns items applied. Errors: LOG_CORRUPT where the log contradicts itself or a mark's digest.
 */
export function replay(state: State, log: OpenedLog, options: ReplayOptions = {}): number {
  const itemsMax = options.onProgress === undefined ? 0 : itemsBetween(log, options)
  let applied = 0
  for (const { number } of log.segments) {
    if (options.until !== undefined && number > options.until.segment) break
    if (options.from !== undefined && number < options.from.segment) continue
    const words = log.key(number)
    const first = options.from?.segment === number ? itemAt(words, options.from.position) : 0
    const last = options.until?.segment === number ? itemAt(words, options.until.position) : words.length / ITEM_WORDS
    replaySegment(state, log, number, words, first, last)
    applied += Math.max(0, last - first)
    options.onProgress?.(applied, itemsMax)
  }
  return applied
}

/**
 * The state at a place. A checkpoint only makes it quicker: where the log behind it does not fit, the log is replayed from
 * its start.
 */
export function replayFrom(
  log: OpenedLog,
  checkpoint: { readonly state: State; readonly from: Position } | undefined,
  options: Omit<ReplayOptions, 'from'>,
): { readonly state: State; readonly items: number } {
  if (checkpoint !== undefined) {
    const { state, from } = checkpoint
    try {
      return { state, items: replay(state, log, { ...options, from }) }
    } catch (error) {
      if (!(error instanceof CrawlError && error.code === 'LOG_CORRUPT')) throw error
    }
  }
  const state = createState()
  return { state, items: replay(state, log, options) }
}

/** Items of the segments that are replayed. */
function itemsBetween(log: OpenedLog, { from, until }: ReplayOptions): number {
  const numbers = log.segments.map(({ number }) => number)
  const replayed = numbers.filter((number) => number >= (from?.segment ?? 0) && number <= (until?.segment ?? number))
  return replayed.reduce((sum, number) => sum + itemsIn(log, number), 0)
}

/** Items of a segment. Cost: none where the segment is sealed, whose size is known. */
export function itemsIn(log: OpenedLog, number: number): number {
  const stated = log.segments.find((segment) => segment.number === number)?.key?.bytes
  return stated === undefined ? log.key(number).length / ITEM_WORDS : stated / ITEM_BYTES
}

/** Index of the first item whose record stands at or after a position. Positions ascend within a KEY. */
export function itemAt(words: Uint32Array, position: number): number {
  let low = 0
  let high = words.length / ITEM_WORDS
  while (low < high) {
    const middle = (low + high) >> 1
    if (words[middle * ITEM_WORDS + ITEM_AT.position] < position) low = middle + 1
    else high = middle
  }
  return low
}

function replaySegment(
  state: State,
  log: OpenedLog,
  segment: number,
  words: Uint32Array,
  first: number,
  last: number,
): void {
  const eventAt = rememberingLast((at, position) => readEvent(log, at, position))
  let from = first
  for (const mark of marksToCheck(words, first, last)) {
    evolve(state, words, from, mark, segment, eventAt)
    checkMark(state, log, segment, words[mark * ITEM_WORDS + ITEM_AT.position])
    from = mark
  }
  evolve(state, words, from, last, segment, eventAt)
}

/** Several items in a row ask for the same record. */
function rememberingLast(read: EventAt): EventAt {
  let last: CrawlEvent | undefined
  let segment = 0
  let position = 0
  return (at, offset) => {
    if (last === undefined || at !== segment || offset !== position) last = read(at, offset)
    segment = at
    position = offset
    return last
  }
}

/** Items of a few marks, evenly spread, the last one among them. */
function marksToCheck(words: Uint32Array, first: number, last: number): number[] {
  const marks: number[] = []
  for (let i = first; i < last; i++) {
    if (itemKind(words[i * ITEM_WORDS + ITEM_AT.kindAndArg]) === KIND.mark) marks.push(i)
  }
  const step = Math.max(1, Math.ceil(marks.length / MARKS_CHECKED_PER_SEGMENT))
  return marks.filter((_, i) => (marks.length - 1 - i) % step === 0)
}

function checkMark(state: State, log: OpenedLog, segment: number, position: number): void {
  const mark = decodeMark(log.read(segment, position))
  if (mark !== undefined && Buffer.compare(Buffer.from(mark.digest), Buffer.from(state.digest.bytes())) === 0) return
  throw new CrawlError(
    'LOG_CORRUPT',
    `Segment ${segment}: replay up to the mark at offset ${position} gives another state than the crawl had there.`,
    { segment, offset: position },
  )
}

/** Totals as of a place: the last mark's, and the records behind it. Cost: a scan of VAL from that mark on. */
export function totalsAt(log: OpenedLog, until: Position): Totals {
  const found = lastMarkBefore(log, until)
  const totals = found === undefined ? createTotals() : found.totals
  for (const { number } of log.segments) {
    if (number > until.segment || (found !== undefined && number < found.segment)) continue
    const start = found?.segment === number ? found.position : 0
    log.scan(
      number,
      (record) => {
        if (number === until.segment && record.position >= until.position) return
        if (record.kind === KIND.segment || record.kind === KIND.mark) return
        if (countsForTotals(record.kind)) addToTotals(totals, eventOf(record, number))
      },
      start,
    )
  }
  return totals
}

function countsForTotals(kind: number): boolean {
  return (
    kind === KIND.fetched ||
    kind === KIND.failed ||
    kind === KIND.badhost ||
    kind === KIND.refused ||
    kind === KIND.seeded ||
    kind === KIND.relinked
  )
}

function lastMarkBefore(
  log: OpenedLog,
  until: Position,
): { segment: number; position: number; totals: Totals } | undefined {
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number } = log.segments[i]
    if (number > until.segment) continue
    const words = log.key(number)
    for (let item = words.length / ITEM_WORDS - 1; item >= 0; item--) {
      const at = item * ITEM_WORDS
      if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.mark) continue
      const position = words[at + ITEM_AT.position]
      if (comparePositions({ segment: number, position }, until) >= 0) continue
      const mark = decodeMark(log.read(number, position))
      if (mark !== undefined) return { segment: number, position, totals: decodeTotals(mark.ownerBytes) }
    }
  }
  return undefined
}
