/**
 * The three independent counts of a crawl: URLs by their `enqueue` items, URLs pending by opening every queued bulk,
 * URLs in flight by claims without outcome. They share no code with the projections they are compared with.
 *
 * Off-heap: one table entry a URL, whatever the size of the crawl.
 */
import { type Key, word } from '../base/md5.ts'
import type { Link } from '../core/event.ts'
import { HOST } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { type State, segmentOf, stateOf, URL_STATE, URL_WAITING, URL_WORD } from '../core/state.ts'
import { ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { createLinkSource } from '../shard/link-source.ts'
import { itemAt } from '../shard/replay.ts'
import { OrderedTable } from '../tables/ordered.ts'
import type { PastCrawl } from './reading.ts'

export interface Accounts {
  /** Distinct keys of `enqueue`. */
  readonly enqueued: number
  /** Claims that have no outcome and were not given back. */
  readonly claimed: number
  /** Links that wait in the bulk where the URL table says they do. */
  readonly queued: number
  /** Such links that were met a second time. */
  readonly queuedTwice: number
}

/** Bits of the value word: the URL is in flight, it was met in a queue. */
const CLAIMED = 1
const QUEUED = 2

/** Errors: LOG_CORRUPT. Cost: KEY once, and a read per queued bulk. */
export function accountsOf({ logs, cut, state }: PastCrawl): Accounts {
  const table = new OrderedTable({ valueWords: 1 })
  const claimed = countItems(logs.events, cut.position, table)
  return { enqueued: table.count, claimed, ...countQueued(logs.events, state, table) }
}

/** Enters every URL enqueued, and follows claims to their outcomes. @returns claims left over */
function countItems(log: OpenedLog, end: Position, table: OrderedTable): number {
  let claimed = 0
  for (const { number } of log.segments) {
    if (number > end.segment) break
    const words = log.key(number)
    const last = number === end.segment ? itemAt(words, end.position) : words.length / ITEM_WORDS
    for (let at = 0; at < last * ITEM_WORDS; at += ITEM_WORDS) {
      const kind = itemKind(words[at + ITEM_AT.kindAndArg])
      if (!concernsUrl(kind)) continue
      const handle =
        kind === KIND.enqueue
          ? table.insert(words[at], words[at + 1], words[at + 2], words[at + 3])
          : table.find(words[at], words[at + 1], words[at + 2], words[at + 3])
      // A key that was never enqueued is told by the replay.
      if (handle < 0 || kind === KIND.enqueue) continue
      const before = table.word(handle, 0)
      const after = kind === KIND.claim ? before | CLAIMED : before & ~CLAIMED
      claimed += (after & CLAIMED) - (before & CLAIMED)
      table.setWord(handle, 0, after)
    }
  }
  return claimed
}

/** Kinds that begin or end a URL's being in flight, and `enqueue`. */
function concernsUrl(kind: number): boolean {
  switch (kind) {
    case KIND.enqueue:
    case KIND.claim:
    case KIND.void:
    case KIND.retry:
    case KIND.fetched:
    case KIND.failed:
    case KIND.refused:
      return true
  }
  return false
}

function countQueued(log: OpenedLog, state: State, table: OrderedTable): { queued: number; queuedTwice: number } {
  const source = createLinkSource(log, state, () => 0)
  const { hosts, queues } = state
  let queued = 0
  let queuedTwice = 0
  for (let host = 1; host <= hosts.count; host++) {
    for (const field of [HOST.queuePreferred, HOST.queue]) {
      queues.forEach(hosts.wordsOf(host), hosts.rowOf(host) + field, (position, place) => {
        for (const link of source.bulk(place >>> 16, position, place & 0xffff)) {
          if (!waitsHere(state, link, place >>> 16, position)) continue
          if (isMarked(table, link.key)) queuedTwice++
          else queued++
        }
      })
    }
  }
  return { queued, queuedTwice }
}

/** Whether a link in a queued bulk is a pending URL's, and not one that has left it since. */
function waitsHere(state: State, { key }: Link, segment: number, position: number): boolean {
  const { urls } = state
  const handle = urls.findKey(key)
  if (handle < 0) return false
  const rest = urls.word(handle, URL_WORD.rest)
  const isPending = stateOf(rest) === URL_STATE.pending && (rest & URL_WAITING) === 0
  return isPending && segmentOf(rest) === segment && urls.word(handle, URL_WORD.position) === position
}

/** Marks a URL as met in a queue; true where it was already. */
function isMarked(table: OrderedTable, key: Key): boolean {
  const handle = table.insert(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
  const before = table.word(handle, 0)
  table.setWord(handle, 0, before | QUEUED)
  return (before & QUEUED) !== 0
}
