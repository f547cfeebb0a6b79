/**
 * The URLs of a crawl, streamed from its log: memory does not grow with what is listed.
 *
 * Order: that of the log, each URL where its last word stands. So finished URLs come in the order in which they ended,
 * pending ones in the order in which they were found (or came back), and a listing is the same each time.
 *
 * Invariant: the URL table names exactly one record for each URL; that one, met on the way through VAL, lists it.
 */
import { type Key, word } from '../base/md5.ts'
import { type Attempt, type CrawlEvent, type Link, type LinkGroup, standingOf } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_STATE_NAMES, URL_WORD } from '../core/state.ts'
import { ITEM_AT, ITEM_WORDS, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { eventOf } from '../shard/link-source.ts'
import { itemAt } from '../shard/replay.ts'
import { PageNames } from './page-names.ts'
import type { PastCrawl } from './reading.ts'

/** A line of `urls --json`. */
export interface UrlLine {
  readonly url: string
  /** pending, processing, done, failed, refused. */
  readonly state: string
  /** Why it failed or was refused; null for the others. */
  readonly class: string | null
  /** Of the last answer; null where there was none. */
  readonly status: number | null
  /** Fewest links from a seed. */
  readonly depth: number
  /** Page on which it was found first; null for a seed. */
  readonly from: string | null
  /** Requests that have come to an end. */
  readonly attempts: number
}

export interface UrlFilter {
  /** Numbers of `URL_STATE`; undefined = all. */
  readonly states?: ReadonlySet<number> | undefined
  /** A class such as `timeout`, or a group such as `dns`. */
  readonly class?: string | undefined
  readonly match?: RegExp | undefined
}

/**
 * Calls `visit` with each URL that passes the filter. `from` is found only where `wantsFrom` is set: it may cost a read.
 * Errors: LOG_CORRUPT. Cost: KEY once, and VAL where a URL wanted stands; a table search per item.
 */
export function forEachUrl(
  crawl: PastCrawl,
  filter: UrlFilter,
  wantsFrom: boolean,
  visit: (line: UrlLine) => void,
): void {
  const { logs, cut, state } = crawl
  const names = new PageNames(logs.events, state)
  for (const { number } of logs.events.segments) {
    if (number > cut.position.segment) break
    const words = logs.events.key(number)
    const last = number === cut.position.segment ? itemAt(words, cut.position.position) : words.length / ITEM_WORDS
    const wanted = wantedPositions(state, words, last, number, filter.states)
    if (wanted.length === 0) continue
    let next = 0
    logs.events.scan(
      number,
      (record) => {
        if (record.position !== wanted[next]) return
        next++
        const event = eventOf(record, number)
        forEachLink(event, (link) => {
          const line = lineOf(state, link, event, number, record.position, filter)
          if (line !== undefined) visit(wantsFrom ? { ...line, from: fromOf(names, link, event) } : line)
        })
      },
      wanted[0],
    )
  }
}

/** Positions of the records of a segment where URLs of these states stand, ascending. */
function wantedPositions(
  state: State,
  words: Uint32Array,
  itemsEnd: number,
  segment: number,
  states: ReadonlySet<number> | undefined,
): Uint32Array {
  const { urls } = state
  let positions = new Uint32Array(1024)
  let count = 0
  let before = -1
  for (let at = 0; at < itemsEnd * ITEM_WORDS; at += ITEM_WORDS) {
    const position = words[at + ITEM_AT.position]
    if (position === before) continue
    const handle = urls.find(words[at], words[at + 1], words[at + 2], words[at + 3])
    if (handle < 0 || urls.word(handle, URL_WORD.position) !== position) continue
    const rest = urls.word(handle, URL_WORD.rest)
    if (segmentOf(rest) !== segment || (states !== undefined && !states.has(stateOf(rest)))) continue
    if (count === positions.length) {
      const larger = new Uint32Array(count * 2)
      larger.set(positions)
      positions = larger
    }
    positions[count++] = position
    before = position
  }
  return positions.subarray(0, count)
}

/** The links whose place a record can be. */
function forEachLink(event: CrawlEvent, visit: (link: Link) => void): void {
  if ('attempt' in event) visit(event.attempt.link)
  if (event.kind === KIND.claim) return
  const groups: readonly LinkGroup[] = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const { links } of groups) for (const link of links) visit(link)
}

function lineOf(
  state: State,
  link: Link,
  event: CrawlEvent,
  segment: number,
  position: number,
  filter: UrlFilter,
): UrlLine | undefined {
  const { urls } = state
  const { key, url } = link
  const handle = urls.find(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
  if (handle < 0 || urls.word(handle, URL_WORD.position) !== position) return undefined
  const rest = urls.word(handle, URL_WORD.rest)
  const now = stateOf(rest)
  if (segmentOf(rest) !== segment || (filter.states !== undefined && !filter.states.has(now))) return undefined
  const reason = classOf(now, event)
  if (filter.class !== undefined && !isClass(reason, filter.class)) return undefined
  if (filter.match !== undefined && !filter.match.test(url)) return undefined
  const status = statusIn(event, key)
  const attempts = attemptsOf(state, key, now, event)
  return { url, state: URL_STATE_NAMES[now], class: reason, status, depth: depthOf(rest), from: null, attempts }
}

/** Of the last answer. */
function statusIn(event: CrawlEvent, key: Key): number | null {
  const status = event.kind === KIND.linked ? standingOf(event, key)?.status : attemptIn(event, key)?.status
  return status !== undefined && status > 0 ? status : null
}

/** The attempt of this URL, where the record has one: of a page's record it is the page's, not that of a link on it. */
function attemptIn(event: CrawlEvent, key: Key): Attempt | undefined {
  return 'attempt' in event && event.attempt.link.key === key ? event.attempt : undefined
}

function classOf(now: number, event: CrawlEvent): string | null {
  if (now === URL_STATE.refused) return event.kind === KIND.refused ? (reasonOf(event.reason) ?? null) : null
  if (now !== URL_STATE.failed) return null
  // A URL that failed with its host stands where it stood before: no record says more of it.
  return event.kind === KIND.failed ? (reasonOf(event.reason) ?? null) : 'host.bad'
}

/** Whether a class is the one wanted, or of its group: `dns` names `dns.notfound` too. */
export function isClass(reason: string | null, wanted: string): boolean {
  return reason !== null && (reason === wanted || reason.startsWith(`${wanted}.`))
}

function attemptsOf(state: State, key: Key, now: number, event: CrawlEvent): number {
  const [k0, k1, k2, k3] = [word(key, 0), word(key, 1), word(key, 2), word(key, 3)]
  if (now === URL_STATE.processing) return state.processing.word(state.processing.find(k0, k1, k2, k3), 0) & 0xff
  if (now === URL_STATE.pending) {
    const slot = state.waiting.find(k0, k1, k2, k3)
    return slot < 0 ? 0 : state.waiting.attempts(slot)
  }
  if (event.kind === KIND.linked) return standingOf(event, key)?.attempts ?? 0
  return attemptIn(event, key)?.attempts ?? 0
}

function fromOf(names: PageNames, link: Link, event: CrawlEvent): string | null {
  if (event.kind === KIND.fetched) names.remember(event.attempt.link.key, event.attempt.link.url)
  return link.from === undefined ? null : (names.nameOf(link.from) ?? null)
}

/** A link that was turned away on discovery: no URL of the crawl. */
export interface TurnedAwayLink {
  readonly url: string
  readonly class: string | null
  /** Page on which it stands; null for a seed. */
  readonly from: string | null
}

/**
 * Links turned away before a place of the log, where the crawl keeps them (`--keep-refused`), in the order in which they
 * were met. Cost: a sequential read of VAL.
 */
export function forEachTurnedAway(log: OpenedLog, end: Position, visit: (link: TurnedAwayLink) => void): void {
  for (const { number } of log.segments) {
    if (number > end.segment) break
    log.scan(number, (record) => {
      if (number === end.segment && record.position >= end.position) return
      if (record.kind !== KIND.fetched && record.kind !== KIND.seeded && record.kind !== KIND.relinked) return
      const event = eventOf(record, number)
      if (!('turnedAwayUrls' in event)) return
      const from = pageOf(event)
      for (const [reason, url] of event.turnedAwayUrls) visit({ url, class: reasonOf(reason) ?? null, from })
    })
  }
}

/** The page whose links an event holds; null where they are seeds. */
function pageOf(event: CrawlEvent): string | null {
  if (event.kind === KIND.fetched) return event.attempt.link.url
  return event.kind === KIND.relinked ? event.link.url : null
}
