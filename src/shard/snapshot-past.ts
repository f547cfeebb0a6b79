/**
 * What a snapshot keeps of a log's past: of each URL its outcome, of each page its links, of each host the last words on
 * its addresses, robots.txt, badness and delay. One pass over VAL; whether a record still counts is asked of the state.
 *
 * Invariant: void is judged by the state at the horizon alone. What is kept stands in the order of the log, so the first
 * record to store a body is so again.
 */
import { CrawlError } from '../base/errors.ts'
import { type Key, keyOf, word } from '../base/md5.ts'
import type {
  BadHostEvent,
  CrawlEvent,
  FetchedEvent,
  Link,
  LinkGroup,
  RefusedEvent,
  RelinkedEvent,
  SeededEvent,
} from '../core/event.ts'
import { STANDING } from '../core/event.ts'
import { HOST } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { StateDigest } from '../tables/digest.ts'
import { eventOf } from './link-source.ts'
import { LinkedBuffer, standingIn } from './linked-buffer.ts'
import type { SnapshotSource, WriteEvent } from './snapshot-source.ts'

/** Sums over what a log's records say of URLs and bodies, where the state says that these records count. */
export interface Places {
  /** Of each URL with an outcome: key and state. */
  readonly outcomes: StateDigest
  /** Of each body: its key and that of the first URL that stored it. */
  readonly contents: StateDigest
  outcomeCount: number
  contentCount: number
}

export function createPlaces(): Places {
  return { outcomes: new StateDigest(), contents: new StateDigest(), outcomeCount: 0, contentCount: 0 }
}

/** Notes an outcome that counts. */
export function notePlace(places: Places, key: Key, state: number): void {
  places.outcomes.mix(1, word(key, 0), word(key, 1), word(key, 2), word(key, 3), state, 0, 0, 0)
  places.outcomes.add()
  places.outcomeCount++
}

/** Notes the page that stored a body first. */
export function noteContent(places: Places, content: Key, url: Key): void {
  const [c0, c1, c2, c3] = [word(content, 0), word(content, 1), word(content, 2), word(content, 3)]
  places.contents.mix(2, c0, c1, c2, c3, word(url, 0), word(url, 1), word(url, 2), word(url, 3))
  places.contents.add()
  places.contentCount++
}

/** Word 1 of a URL where the table says that it stands in this record; undefined where it stands elsewhere. */
export function standsAt(state: State, key: Key, segment: number, position: number): number | undefined {
  const { urls } = state
  const handle = urls.findKey(key)
  if (handle < 0 || urls.word(handle, URL_WORD.position) !== position) return undefined
  const rest = urls.word(handle, URL_WORD.rest)
  return segmentOf(rest) === segment ? rest : undefined
}

/** Whether a body was stored first by this record. */
export function isFirstStorer({ contents }: State, content: Key, segment: number, position: number): boolean {
  const handle = contents.findKey(content)
  return handle >= 0 && contents.word(handle, 0) === position && contents.word(handle, 1) === segment
}

export function writePast(
  { log, state, until }: SnapshotSource,
  write: WriteEvent,
  places: Places,
  onProgress: (bytes: number, bytesMax: number) => void,
): void {
  const past = new Past(state, write, places)
  const segments = log.segments.filter(({ number }) => number <= until.segment)
  const bytesMax = segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
  let bytes = 0
  for (const { number, valBytes } of segments) {
    const { end } = log.scan(number, (record) => {
      if (record.kind === KIND.segment || record.kind === KIND.mark) return
      past.take(eventOf(record, number), number, record.position, record.timeMs)
    })
    if (end !== valBytes) throw damaged(number, end)
    bytes += valBytes
    onProgress(bytes, bytesMax)
  }
  past.end()
}

function damaged(segment: number, offset: number): CrawlError {
  const message = `Segment ${segment}: damaged record at offset ${offset}.`
  return new CrawlError('LOG_CORRUPT', message, { segment, offset })
}

class Past {
  readonly #state: State
  readonly #write: WriteEvent
  readonly #places: Places
  /** URLs that failed with their host: their links, wherever they stand. */
  readonly #failed: LinkedBuffer
  #timeMs = 0

  constructor(state: State, write: WriteEvent, places: Places) {
    this.#state = state
    this.#write = write
    this.#places = places
    this.#failed = new LinkedBuffer((event) => write(event, this.#timeMs))
  }

  end(): void {
    this.#failed.flush()
  }

  take(event: CrawlEvent, segment: number, position: number, timeMs: number): void {
    this.#timeMs = timeMs
    const kept = this.#keep(event, segment, position)
    if (kept !== undefined) this.#write(kept, timeMs)
    this.#keepFailedWithHost(event, segment, position)
  }

  /** What becomes of a record; undefined where nothing is left of it. */
  #keep(event: CrawlEvent, segment: number, position: number): CrawlEvent | undefined {
    switch (event.kind) {
      case KIND.fetched:
        return this.#fetched(event, segment, position)
      case KIND.failed: {
        const link = this.#ended(event.attempt.link, URL_STATE.failed, segment, position)
        return link && { ...event, isCompacted: true, attempt: { ...event.attempt, link } }
      }
      case KIND.refused:
        return this.#refused(event, segment, position)
      case KIND.relinked:
        return event.known.length + event.groups.length + event.turnedAway.length > 0 ? this.#bare(event) : undefined
      case KIND.seeded:
        // The cursor is said at the end; what was turned away is said nowhere else.
        return event.turnedAway.length > 0 ? { ...this.#bare(event), known: [] } : undefined
      case KIND.resolved:
      case KIND.robots:
      case KIND.delay:
      case KIND.badhost:
        return this.#ofHost(event, segment, position)
    }
    return undefined
  }

  /** The link of an outcome, with the depth known now, where the URL's outcome it still is. */
  #ended(link: Link, state: number, segment: number, position: number): Link | undefined {
    const rest = standsAt(this.#state, link.key, segment, position)
    if (rest === undefined || stateOf(rest) !== state) return undefined
    notePlace(this.#places, link.key, state)
    return withDepth(link, rest)
  }

  #fetched(event: FetchedEvent, segment: number, position: number): FetchedEvent | undefined {
    const { attempt, stored } = event
    const link = this.#ended(attempt.link, URL_STATE.done, segment, position)
    if (link === undefined) return undefined
    if (stored !== undefined && isFirstStorer(this.#state, stored.content, segment, position))
      noteContent(this.#places, stored.content, link.key)
    return { ...this.#bare(event), isCompacted: true, attempt: { ...attempt, link } }
  }

  /** The links a page admitted become known ones: the graph keeps them, their own records say the rest. */
  #bare<T extends FetchedEvent | RelinkedEvent | SeededEvent>(event: T): T {
    const admitted = event.groups.flatMap(({ links }) => links.map(({ key }) => key.slice(0, 8) as Key))
    const known = this.#state.settings.graph ? [...admitted, ...event.known] : []
    return { ...event, groups: [], known, shorter: [], scopeKeys: [] }
  }

  #refused(event: RefusedEvent, segment: number, position: number): RefusedEvent | undefined {
    const groups: LinkGroup[] = []
    for (const group of event.groups) {
      const links = group.links.flatMap((link) => this.#ended(link, URL_STATE.refused, segment, position) ?? [])
      if (links.length > 0) groups.push({ ...group, links })
    }
    return groups.length > 0 ? { ...event, isCompacted: true, groups } : undefined
  }

  /** The host's last word of this kind, or one that says the same: said twice it changes nothing. */
  #ofHost(
    event: Extract<CrawlEvent, { readonly host: string }>,
    segment: number,
    position: number,
  ): CrawlEvent | undefined {
    const { hosts } = this.#state
    const id = hosts.findKey(keyOf(event.host))
    switch (event.kind) {
      case KIND.resolved: {
        const isLast = hosts.getMs(id, HOST.resolvedUntilMs) === event.expiresMs
        return isLast && hosts.addresses(id).join(' ') === event.addresses.join(' ') ? event : undefined
      }
      case KIND.robots: {
        const [segmentField, positionField] = event.isHttps
          ? [HOST.robotsHttpsSegment, HOST.robotsHttpsPosition]
          : [HOST.robotsHttpSegment, HOST.robotsHttpPosition]
        return hosts.get(id, segmentField) === segment && hosts.get(id, positionField) === position ? event : undefined
      }
      case KIND.delay: {
        const isLast = hosts.getMs(id, HOST.blockedUntilMs) === event.untilMs
        return isLast && hosts.get(id, HOST.backoffLevel) === event.level ? event : undefined
      }
      case KIND.badhost:
        return this.#badHost(event, id)
    }
    return undefined
  }

  #badHost(event: BadHostEvent, id: number): BadHostEvent | undefined {
    const { hosts } = this.#state
    if (event.untilMs === 0 || hosts.getMs(id, HOST.badUntilMs) !== event.untilMs) return undefined
    if (hosts.get(id, HOST.badReason) !== event.reason) return undefined
    return { ...event, keys: [], isLast: false }
  }

  #keepFailedWithHost(event: CrawlEvent, segment: number, position: number): void {
    if (event.kind === KIND.failed || event.kind === KIND.claim) return
    if (event.kind === KIND.retry) return this.#failedLink(event, event.attempt.link, segment, position)
    const groups = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
    for (const { links } of groups) for (const link of links) this.#failedLink(event, link, segment, position)
  }

  /** What was wrong with a host when it was last bad. */
  #reasonOfHost({ url }: Link): number {
    const { hosts } = this.#state
    return hosts.get(hosts.findKey(keyOf(hostOf(url))), HOST.badReason)
  }

  #failedLink(event: CrawlEvent, link: Link, segment: number, position: number): void {
    const rest = standsAt(this.#state, link.key, segment, position)
    if (rest === undefined || stateOf(rest) !== URL_STATE.failed) return
    notePlace(this.#places, link.key, URL_STATE.failed)
    const standing = standingIn(event, link.key)
    // A compaction before has put it there already.
    const reason = event.kind === KIND.linked ? standing.reason : this.#reasonOfHost(link)
    const failed = { ...standing, reason, what: STANDING.failed, deaths: 0, dueMs: 0 }
    this.#failed.add(withDepth(link, rest), failed)
  }
}

/** The table knows the depth better than the record: a shorter way may have been found since. */
function withDepth(link: Link, rest: number): Link {
  const depth = depthOf(rest)
  return depth === link.depth ? link : { ...link, depth }
}
