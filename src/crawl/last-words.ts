/**
 * The last word of the log on each URL, in the order of the log: what `urls` and `export` stream, with memory that does not
 * grow with what is listed.
 *
 * Invariant: each URL is visited once. Where its last word stands is told by the URL table, whose address names the record
 * with the URL's link or outcome; of a URL that failed with its host the address still names its link, and its last word is
 * the one `failed` item behind that.
 */
import { type Key, word } from '../base/md5.ts'
import {
  type Attempt,
  type BadHostEvent,
  type CrawlEvent,
  type Link,
  type LinkGroup,
  type Standing,
  standingOf,
} from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { REASONS } from '../core/reasons.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_WORD } from '../core/state.ts'
import { comparePositions, ITEM_AT, ITEM_WORDS, itemKind, NOWHERE, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { eventOf, linkOf, readEvent } from '../shard/link-source.ts'
import { itemAt } from '../shard/replay.ts'
import type { PastCrawl } from './reading.ts'
import { scanWhole } from './scanning.ts'
import { numberAt } from './url-history.ts'

/** A record with the last word on one URL or several. */
export interface LastRecord {
  readonly event: CrawlEvent
  readonly segment: number
  readonly position: number
  /** By its place in its segment; of records that a compaction wrote only the order counts. */
  readonly sequence: number
  readonly timeMs: number
}

export interface LastWord {
  readonly link: Link
  /** One of `URL_STATE`. */
  readonly state: number
  /** Fewest links from a seed. */
  readonly depth: number
  /** The last of its requests that came to an end, as far as the records of link and outcome tell. */
  readonly attempt: Attempt | undefined
  /** What a compaction left of its attempts, where it stands in no queue. */
  readonly standing?: Standing | undefined
  readonly record: LastRecord
}

export interface LastWordsOptions {
  /** Numbers of `URL_STATE`; undefined = all. */
  readonly states?: ReadonlySet<number> | undefined
  /** Records before this place are passed over; default: none. */
  readonly after?: Position | undefined
  /** Bytes of VAL passed, and how many there are. */
  readonly onProgress?: ((bytes: number, bytesMax: number) => void) | undefined
}

/**
 * Errors: LOG_CORRUPT. Cost: KEY once, and VAL from the first record wanted of a segment on; a table search per item. A URL
 * that failed with its host costs a read of its link's record, where that is not the one read before.
 */
export function forEachLastWord(crawl: PastCrawl, options: LastWordsOptions, visit: (word: LastWord) => void): void {
  const { logs, cut, state } = crawl
  const { after = NOWHERE, onProgress } = options
  const segments = logs.events.segments.filter(
    ({ number }) => number >= after.segment && number <= cut.position.segment,
  )
  const bytesMax = segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
  const links = new LinkReader(logs.events, state)
  let bytes = 0
  for (const { number, valBytes } of segments) {
    const wanted = wantedPositions(crawl, number, { ...options, after })
    visitSegment(logs.events, number, wanted, (record) => {
      forEachIn(state, record, links, (found) => {
        if (options.states === undefined || options.states.has(found.state)) visit(found)
      })
    })
    bytes += valBytes
    onProgress?.(bytes, bytesMax)
  }
}

function visitSegment(log: OpenedLog, number: number, wanted: Uint32Array, visit: (record: LastRecord) => void): void {
  if (wanted.length === 0) return
  let sequence = numberAt(log, { segment: number, position: wanted[0] })
  let next = 0
  scanWhole(
    log,
    number,
    (record) => {
      if (record.position === wanted[next]) {
        next++
        const { position, timeMs } = record
        visit({ event: eventOf(record, number), segment: number, position, sequence, timeMs })
      }
      sequence++
    },
    wanted[0],
  )
}

/** Positions of the records of a segment that are some URL's last word, ascending. */
function wantedPositions(
  { logs, cut, state }: PastCrawl,
  segment: number,
  { states, after }: LastWordsOptions & { readonly after: Position },
): Uint32Array {
  const words = logs.events.key(segment)
  const first = segment === after.segment ? itemAt(words, after.position) : 0
  const last = segment === cut.position.segment ? itemAt(words, cut.position.position) : words.length / ITEM_WORDS
  const { urls } = state
  let positions = new Uint32Array(1024)
  let count = 0
  let before = -1
  for (let at = first * ITEM_WORDS; at < last * ITEM_WORDS; at += ITEM_WORDS) {
    const position = words[at + ITEM_AT.position]
    if (position === before) continue
    const handle = urls.find(words[at], words[at + 1], words[at + 2], words[at + 3])
    if (handle < 0) continue
    const now = stateOf(urls.word(handle, URL_WORD.rest))
    if (states !== undefined && !states.has(now)) continue
    const kindAndArg = words[at + ITEM_AT.kindAndArg]
    if (!isLastItem(addressOf(state, handle), now, itemKind(kindAndArg), kindAndArg >>> 24, { segment, position }))
      continue
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

/** Kinds of items and records that leave a URL pending: a failed one whose address names such a record failed with its host. */
const OF_QUEUE: ReadonlySet<number> = new Set([
  KIND.enqueue,
  KIND.seeded,
  KIND.fetched,
  KIND.relinked,
  KIND.bulk,
  KIND.reopened,
  KIND.void,
  KIND.retry,
])

function isOfQueue(kind: number): boolean {
  return OF_QUEUE.has(kind)
}

/** Whether an item of a URL, at a place, is the last word on it. */
function isLastItem(address: Position, state: number, kind: number, arg: number, place: Position): boolean {
  const order = comparePositions(address, place)
  if (order === 0) return state !== URL_STATE.failed || !isOfQueue(kind)
  return order < 0 && state === URL_STATE.failed && kind === KIND.failed && arg === REASONS['host.bad']
}

function addressOf({ urls }: State, handle: number): Position {
  return { segment: segmentOf(urls.word(handle, URL_WORD.rest)), position: urls.word(handle, URL_WORD.position) }
}

/** Visits the URLs on which a record is the last word, in the order in which it holds them. */
function forEachIn(state: State, record: LastRecord, links: LinkReader, visit: (word: LastWord) => void): void {
  const { event, segment, position } = record
  if (event.kind === KIND.badhost) return forEachOfBadHost(state, record, event, links, visit)
  forEachLink(event, (link) => {
    const handle = state.urls.find(word(link.key, 0), word(link.key, 1), word(link.key, 2), word(link.key, 3))
    if (handle < 0) return
    const address = addressOf(state, handle)
    if (address.segment !== segment || address.position !== position) return
    const rest = state.urls.word(handle, URL_WORD.rest)
    const now = stateOf(rest)
    const attempt = attemptOf(event, link.key)
    if (now === URL_STATE.failed && isOfQueue(event.kind)) return
    const standing = event.kind === KIND.linked ? standingOf(event, link.key) : undefined
    visit({ link, state: now, depth: depthOf(rest), attempt, standing, record })
  })
}

/** A URL's own attempt in an event, and not that of the page it was found on. */
function attemptOf(event: CrawlEvent, key: Key): Attempt | undefined {
  return 'attempt' in event && event.attempt.link.key === key ? event.attempt : undefined
}

/** The links whose place a record can be. */
function forEachLink(event: CrawlEvent, visit: (link: Link) => void): void {
  if ('attempt' in event) visit(event.attempt.link)
  if (event.kind === KIND.claim) return
  const groups: readonly LinkGroup[] = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const { links } of groups) for (const link of links) visit(link)
}

/** Keys of all URLs that a record tells of, in the order in which they are visited. */
export function keysIn(event: CrawlEvent): Key[] {
  if (event.kind === KIND.badhost) return [...event.keys]
  const keys: Key[] = []
  forEachLink(event, ({ key }) => keys.push(key))
  return keys
}

function forEachOfBadHost(
  state: State,
  record: LastRecord,
  { keys }: BadHostEvent,
  links: LinkReader,
  visit: (word: LastWord) => void,
): void {
  for (const key of keys) {
    const handle = state.urls.find(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
    if (handle < 0) continue
    const rest = state.urls.word(handle, URL_WORD.rest)
    if (stateOf(rest) !== URL_STATE.failed || comparePositions(addressOf(state, handle), record) >= 0) continue
    visit({ ...links.read(key, handle), state: URL_STATE.failed, depth: depthOf(rest), record })
  }
}

/** Reads the links of URLs that failed with their host: many of them stand in the record that was read before. */
class LinkReader {
  readonly #log: OpenedLog
  readonly #state: State
  #place: Position = NOWHERE
  #event: CrawlEvent | undefined

  constructor(log: OpenedLog, state: State) {
    this.#log = log
    this.#state = state
  }

  read(key: Key, handle: number): { readonly link: Link; readonly attempt: Attempt | undefined } {
    const { segment, position } = addressOf(this.#state, handle)
    if (this.#event === undefined || this.#place.segment !== segment || this.#place.position !== position) {
      this.#event = readEvent(this.#log, segment, position)
      this.#place = { segment, position }
    }
    return { link: linkOf(this.#event, key, segment, position), attempt: attemptOf(this.#event, key) }
  }
}
