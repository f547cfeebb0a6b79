/**
 * What KEY holds of one key: every item of a URL or a host, in order. A scan of KEY, 24 bytes an event, and nothing of
 * VAL, so one URL among a hundred million is found in the time it takes to read the index.
 */
import { type Key, word } from '../base/md5.ts'
import { KIND } from '../core/kind.ts'
import { URL_STATE } from '../core/state.ts'
import { comparePositions, ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import { decodeMark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'
import { horizonOf } from '../shard/horizon.ts'

export interface HistoryItem extends Position {
  readonly kind: number
  /** Argument of the kind: depth, attempt, reason. */
  readonly arg: number
}

/** Takes an item of one of the keys that are looked for: the key's place in the list, then what the item holds. */
export type VisitItem = (key: number, kind: number, arg: number, segment: number, position: number) => void

/**
 * Visits the items of some keys before `end`, in the order of the log.
 * Errors: LOG_CORRUPT. Cost: one read of all KEY files, about a nanosecond an item; memory of one of them.
 */
export function forEachItem(log: OpenedLog, end: Position, keys: readonly Key[], visit: VisitItem): void {
  const wanted = new WantedKeys(keys)
  for (const { number } of log.segments) {
    if (number > end.segment) break
    const items = log.key(number)
    const positionEnd = number === end.segment ? end.position : Number.POSITIVE_INFINITY
    for (let at = 0; at < items.length; at += ITEM_WORDS) {
      const key = wanted.find(items, at)
      if (key < 0) continue
      const position = items[at + ITEM_AT.position]
      if (position >= positionEnd) return
      const kindAndArg = items[at + ITEM_AT.kindAndArg]
      visit(key, itemKind(kindAndArg), kindAndArg >>> 24, number, position)
    }
  }
}

/** A few keys, told from millions of others by two bytes of theirs. */
class WantedKeys {
  readonly #words: ReadonlyArray<readonly [number, number, number, number]>
  readonly #mayBe = new Uint8Array(0x10000)

  constructor(keys: readonly Key[]) {
    this.#words = keys.map((key) => [word(key, 0), word(key, 1), word(key, 2), word(key, 3)])
    for (const [k0] of this.#words) this.#mayBe[k0 >>> 16] = 1
  }

  /** Place in the list of the key at word `at` of some items; −1 where it is none of them. */
  find(items: Uint32Array, at: number): number {
    if (this.#mayBe[items[at] >>> 16] === 0) return -1
    return this.#words.findIndex(
      ([k0, k1, k2, k3]) => items[at] === k0 && items[at + 1] === k1 && items[at + 2] === k2 && items[at + 3] === k3,
    )
  }
}

/**
 * Items of each of some keys before `end`, oldest first: for keys of URLs and bodies, which have few. Errors, cost: as
 * `forEachItem`, and memory of what is found.
 */
export function historiesOf(log: OpenedLog, end: Position, keys: readonly Key[]): HistoryItem[][] {
  const found: HistoryItem[][] = keys.map(() => [])
  forEachItem(log, end, keys, (key, kind, arg, segment, position) => {
    found[key].push({ kind, arg, segment, position })
  })
  return found
}

const STATE_AFTER: Readonly<Record<number, number>> = {
  [KIND.enqueue]: URL_STATE.pending,
  [KIND.reopened]: URL_STATE.pending,
  [KIND.void]: URL_STATE.pending,
  [KIND.retry]: URL_STATE.pending,
  [KIND.claim]: URL_STATE.processing,
  [KIND.fetched]: URL_STATE.done,
  [KIND.failed]: URL_STATE.failed,
  [KIND.refused]: URL_STATE.refused,
}

/** State (`URL_STATE`) of a URL after its items: the last of them that says one. 0 for a URL never met. */
export function stateAfter(history: readonly HistoryItem[]): number {
  const last = history.findLast(({ kind }) => STATE_AFTER[kind] !== undefined)
  return last === undefined ? 0 : STATE_AFTER[last.kind]
}

/**
 * Sequence number of the record at a place; of one that a compaction wrote, the last number that was compacted.
 * Errors, cost: as `numberAt`.
 */
export function sequenceAt(log: OpenedLog, { segment, position }: Position): number {
  const horizon = horizonOf(log)
  if (horizon?.isRepair === false && comparePositions({ segment, position }, horizon.position) < 0)
    return horizon.sequence
  return numberAt(log, { segment, position })
}

/**
 * Number of the record at a place, counted from the first of its segment: its sequence number, if no compaction wrote it.
 * Errors: LOG_CORRUPT where no record begins there. Cost: a read per record since the mark before it.
 */
export function numberAt(log: OpenedLog, { segment, position }: Position): number {
  const mark = markBefore(log, segment, position)
  let at = mark?.position ?? 0
  let sequence = mark?.sequence ?? log.segments.find(({ number }) => number === segment)?.header.firstSequence ?? 1
  while (at < position) {
    at += log.read(segment, at).length
    sequence++
  }
  return sequence
}

function markBefore(
  log: OpenedLog,
  segment: number,
  position: number,
): { position: number; sequence: number } | undefined {
  const items = log.key(segment)
  let found = -1
  for (let at = 0; at < items.length && items[at + ITEM_AT.position] <= position; at += ITEM_WORDS) {
    if (itemKind(items[at + ITEM_AT.kindAndArg]) === KIND.mark) found = items[at + ITEM_AT.position]
  }
  if (found < 0) return undefined
  const mark = decodeMark(log.read(segment, found))
  return mark && { position: found, sequence: mark.sequence }
}
