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
import { ITEM_AT, ITEM_BYTES, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import { decodeMark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { eventOf, readEvent } from './link-source.ts'
import { lastMarkBefore } from './marks.ts'
import type { ReplayWork } from './replay-work.ts'
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
 * @returns what was done for it. Errors: LOG_CORRUPT where the log contradicts itself or a mark's digest.
 */
export function replay(state: State, log: OpenedLog, options: ReplayOptions = {}): ReplayWork {
  const itemsMax = options.onProgress === undefined ? 0 : itemsBetween(log, options)
  const work: ReplayWork = { items: 0, records: 0 }
  for (const { number, words, first, last } of itemRanges(log, options)) {
    replaySegment(state, log, number, words, first, last, work)
    work.items += Math.max(0, last - first)
    options.onProgress?.(work.items, itemsMax)
  }
  return work
}

interface ItemRange {
  readonly number: number
  /** KEY of the segment, and the items of it that are meant: from `first` to before `last`. */
  readonly words: Uint32Array
  readonly first: number
  readonly last: number
}

/** The KEY items between two places, segment by segment. */
function* itemRanges(log: OpenedLog, { from, until }: Pick<ReplayOptions, 'from' | 'until'>): Generator<ItemRange> {
  for (const { number } of log.segments) {
    if (until !== undefined && number > until.segment) break
    if (from !== undefined && number < from.segment) continue
    const words = log.key(number)
    const first = from?.segment === number ? itemAt(words, from.position) : 0
    const last = until?.segment === number ? itemAt(words, until.position) : words.length / ITEM_WORDS
    yield { number, words, first, last }
  }
}

/**
 * Keys of all URLs and contents that a replay between two places looks for; those of hosts are among them.
 * Cost: the KEY files between; 20 to 27 bytes a key.
 */
export function keysBetween(log: OpenedLog, from: Position, until: Position): OrderedTable {
  const keys = new OrderedTable({ valueWords: 0 })
  for (const { words, first, last } of itemRanges(log, { from, until })) {
    for (let at = first * ITEM_WORDS; at < last * ITEM_WORDS; at += ITEM_WORDS) {
      const kind = itemKind(words[at + ITEM_AT.kindAndArg])
      // A mark's key is none.
      if (kind !== KIND.mark && kind !== KIND.synced)
        keys.insert(words[at], words[at + 1], words[at + 2], words[at + 3])
    }
  }
  return keys
}

/**
 * The state at a place. A checkpoint only makes it quicker: where the log behind it does not fit, the log is replayed from
 * its start.
 */
export function replayFrom(
  log: OpenedLog,
  checkpoint: { readonly state: State; readonly from: Position } | undefined,
  options: Omit<ReplayOptions, 'from'>,
): ReplayedState {
  if (checkpoint !== undefined) {
    const { state, from } = checkpoint
    try {
      return { state, work: replay(state, log, { ...options, from }), isFromStart: false }
    } catch (error) {
      if (!(error instanceof CrawlError && error.code === 'LOG_CORRUPT')) throw error
    }
  }
  const state = createState()
  return { state, work: replay(state, log, options), isFromStart: true }
}

export interface ReplayedState {
  readonly state: State
  readonly work: ReplayWork
  /** There was no checkpoint, or the log behind it did not fit. */
  readonly isFromStart: boolean
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
  work: ReplayWork,
): void {
  const eventAt = rememberingLast((at, position) => {
    work.records++
    return readEvent(log, at, position)
  })
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

/** Totals as of a place: the last mark's, and the records behind it. Cost: a scan of VAL from that mark to the place. */
export function totalsAt(log: OpenedLog, until: Position): Totals {
  const found = lastMarkBefore(log, until)
  const mark = found && decodeMark(log.read(found.segment, found.position))
  const totals = mark === undefined ? createTotals() : decodeTotals(mark.ownerBytes)
  for (const { number } of log.segments) {
    if (number > until.segment || (found !== undefined && number < found.segment)) continue
    log.scan(
      number,
      (record) => {
        if (countsForTotals(record.kind)) addToTotals(totals, eventOf(record, number))
      },
      found?.segment === number ? found.position : 0,
      number === until.segment ? until.position : undefined,
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
