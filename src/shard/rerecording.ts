/**
 * Records what is left of a damaged log once more, as a log that is legal: each surviving event, and before it what must
 * have happened for it to be possible.
 *
 * Where records are missing the ordinary replay is impossible: an outcome of a URL that nobody knows, a claim of one that
 * is done, a bulk drained from a queue that has others. Here a URL is known as soon as any record tells of it; what it is
 * said to be last is what it is. Nothing is invented but `bulk`, `claim`, `void` and `reopened` records that lead from
 * what is known to what is told.
 *
 * Up to the first gap (`isExact`) every event is taken as it was. Behind it `drained` items are left out: bulks that are
 * used up stay in their queues, and are passed over when they are opened.
 */
import { type Key, keyFromWords, keyOf } from '../base/md5.ts'
import type { LinkSource } from '../core/claim.ts'
import type {
  ClaimGroup,
  CrawlEvent,
  FailedEvent,
  FetchedEvent,
  Findings,
  Link,
  LinkedEvent,
  LinkGroup,
  RefusedEvent,
  Standing,
  Stored,
} from '../core/event.ts'
import { NO_FINDINGS, STANDING } from '../core/event.ts'
import { HOST, HOST_FLAG } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { depthOf, segmentOf, stateOf, URL_RELINK, URL_STATE, URL_WAITING, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { createLinkSource } from './link-source.ts'
import { askingHosts, groupByHost } from './opening.ts'
import type { Recorder } from './recorder.ts'

/** URLs given back or reopened by one record: even the longest stay below its 4 MiB. */
const LINKS_PER_RECORD_MAX = 500

/** Whether the page an outcome refers to is there, whole and its own. Asked once of each outcome. */
export type IsPageThere = (stored: Stored, link: Link) => boolean

export class Rerecording {
  /** Nothing was missing so far. */
  isExact = true
  /** URLs whose last outcome's page is gone: 1, or 0 where they have been claimed again since. */
  readonly #voided = new OrderedTable({ valueWords: 1 })
  readonly #again: OrderedTable
  readonly #recorder: Recorder
  readonly #isPageThere: IsPageThere
  readonly #source: LinkSource
  /** Gaps so far that may have held `seeded` records. */
  #seedGaps = 0
  /** By source: `#seedGaps` at its last record. A source each for `start` and `add`: few. */
  readonly #seedGapsBefore: number[] = []

  /** @param again  gets the URLs that are pending again because their page is gone */
  constructor(recorder: Recorder, isPageThere: IsPageThere, again: OrderedTable) {
    this.#recorder = recorder
    this.#again = again
    this.#isPageThere = isPageThere
    this.#source = createLinkSource(recorder.events, recorder.state, () => 0)
  }

  /** Records are missing here. */
  gap(mayHoldSeeds: boolean): void {
    this.isExact = false
    if (mayHoldSeeds) this.#seedGaps++
  }

  /** A record is gone that had sent this URL back to pending, if nothing else did. */
  reopen(key: Key, timeMs: number): void {
    if (this.stateOf(key) > URL_STATE.processing) this.#reopen([this.linkOf(key)], timeMs)
  }

  /** The link of a known URL, from the record that tells of it. Cost: one read. */
  linkOf(key: Key): Link {
    const rest = this.#rest(key)
    const position = this.#recorder.state.urls.word(this.#recorder.state.urls.findKey(key), URL_WORD.position)
    const link = this.#source.link(segmentOf(rest), position, key)
    return link.depth === depthOf(rest) ? link : { ...link, depth: depthOf(rest) }
  }

  /** State of a URL, 0 where it is unknown. */
  stateOf(key: Key): number {
    return stateOf(this.#rest(key))
  }

  hostName(hostKey: Key): string {
    const id = this.#recorder.state.hosts.findKey(hostKey)
    return id === 0 ? '' : this.#source.hostName(id)
  }

  take(event: CrawlEvent, timeMs: number): void {
    const record = (made: CrawlEvent): void => this.#recorder.record(made, timeMs)
    switch (event.kind) {
      case KIND.seeded:
        return this.#seeded(event, timeMs)
      case KIND.bulk:
        return this.#bulk(event, timeMs)
      case KIND.claim:
        return this.#claim(event.groups, timeMs)
      case KIND.void:
        return this.#void(event, timeMs)
      case KIND.fetched:
      case KIND.failed:
        return this.#ended(event, timeMs)
      case KIND.retry:
        this.#lead(event.attempt.link, URL_STATE.processing, timeMs)
        return record(event)
      case KIND.refused:
        for (const link of linksIn(event.groups)) {
          if (this.stateOf(link.key) !== URL_STATE.processing) this.#lead(link, URL_STATE.pending, timeMs)
        }
        return record(withoutCompacted(event))
      case KIND.reopened:
        return this.#reopened(event.groups, timeMs)
      case KIND.relinked: {
        if (this.#rest(event.link.key) !== 0) return record({ ...event, ...this.#news(event) })
        for (const group of this.#newGroups(event.groups)) record({ kind: KIND.bulk, replaced: 0, group })
        return
      }
      case KIND.badhost:
        return this.#badHost(event, timeMs)
      case KIND.linked:
        return this.#linked(event, timeMs)
      default:
        return record(event)
    }
  }

  /** What is left at the end: pages to fetch again, claims that cannot come to an outcome, seeds never read. */
  finish(timeMs: number): void {
    this.#reopenVoided(timeMs)
    if (!this.isExact) this.#giveBack(timeMs)
    const { seeds } = this.#recorder.state
    for (let source = 0; source < seeds.length; source++) {
      if (seeds[source] !== undefined) continue
      this.#recorder.record({ kind: KIND.seeded, source, lines: 0, isLast: false, ...NO_FINDINGS }, timeMs)
    }
  }

  #rest(key: Key): number {
    const { urls } = this.#recorder.state
    const handle = urls.findKey(key)
    return handle < 0 ? 0 : urls.word(handle, URL_WORD.rest)
  }

  /** Leads a URL to a state in which what is told next of it is possible. A pending one may wait. */
  #lead(link: Link, to: typeof URL_STATE.pending | typeof URL_STATE.processing, timeMs: number): void {
    const record = (event: CrawlEvent): void => this.#recorder.record(event, timeMs)
    const now = this.stateOf(link.key)
    if (now === to) return
    this.isExact = false
    if (now === 0) record({ kind: KIND.bulk, replaced: 0, group: groupOf(link) })
    else if (now === URL_STATE.processing)
      record({ kind: KIND.void, isDeath: false, groups: [groupOf(link)], asking: [] })
    else if (now !== URL_STATE.pending) this.#reopen([link], timeMs)
    if (to === URL_STATE.pending) return
    const group = { hostKey: keyOf(hostOf(link.url)), drained: [], keys: [link.key], asksHttp: false, asksHttps: false }
    record({ kind: KIND.claim, groups: [group] })
  }

  /** Final URLs back to pending. A page that was to be read again will be fetched again instead. */
  #reopen(links: readonly Link[], timeMs: number): void {
    for (const link of links) {
      if (this.#rest(link.key) & URL_RELINK)
        this.#recorder.record({ kind: KIND.relinked, link, ...NO_FINDINGS }, timeMs)
      this.#setVoided(link.key, 0)
    }
    const known = links.map((link) => ({ ...link, depth: Math.min(link.depth, depthOf(this.#rest(link.key))) }))
    this.#recorder.record({ kind: KIND.reopened, groups: groupByHost(known) }, timeMs)
  }

  /** Where records of the same source may be missing before it, its lines are read again from before those. */
  #seeded(event: Extract<CrawlEvent, { kind: typeof KIND.seeded }>, timeMs: number): void {
    const { source } = event
    const before = this.#recorder.state.seeds[source]
    const isHeld = (this.#seedGapsBefore[source] ?? 0) !== this.#seedGaps
    if (!isHeld) this.#seedGapsBefore[source] = this.#seedGaps
    const cursor = isHeld ? { lines: before?.lines ?? 0, isLast: before?.isLast ?? false } : event
    const { lines, isLast } = cursor
    this.#recorder.record({ kind: KIND.seeded, source, lines, isLast, ...this.#news(event) }, timeMs)
  }

  /** Links of a gathered bulk stand there from now on; the bulks it replaced are known only as long as nothing is missing. */
  #bulk(event: Extract<CrawlEvent, { kind: typeof KIND.bulk }>, timeMs: number): void {
    const isQueued = ({ key }: Link): boolean => {
      const rest = this.#rest(key)
      return rest === 0 || (stateOf(rest) === URL_STATE.pending && (rest & URL_WAITING) === 0)
    }
    const links = event.group.links.filter(isQueued)
    if (links.length < event.group.links.length) this.isExact = false
    if (links.length === 0 && !this.isExact) return
    const group = { ...event.group, links }
    this.#recorder.record({ kind: KIND.bulk, replaced: this.isExact ? event.replaced : 0, group }, timeMs)
  }

  #claim(groups: readonly ClaimGroup[], timeMs: number): void {
    const made: ClaimGroup[] = []
    for (const group of groups) {
      const { hosts } = this.#recorder.state
      const host = hosts.findKey(group.hostKey)
      if (host === 0) continue
      // A URL of which nothing but this claim is left has no text: it is found again by its links.
      const keys = group.keys.filter((key) => this.#rest(key) !== 0 && this.stateOf(key) !== URL_STATE.processing)
      if (keys.length < group.keys.length) this.isExact = false
      for (const key of keys) {
        // One that is final was reopened by a record that is gone.
        if (this.stateOf(key) !== URL_STATE.pending) this.#lead(this.linkOf(key), URL_STATE.pending, timeMs)
      }
      const asksHttp = group.asksHttp && !hosts.hasFlag(host, HOST_FLAG.askingHttp)
      const asksHttps = group.asksHttps && !hosts.hasFlag(host, HOST_FLAG.askingHttps)
      const drained = this.isExact ? group.drained : []
      if (keys.length + drained.length === 0 && !asksHttp && !asksHttps) continue
      made.push({ hostKey: group.hostKey, drained, keys, asksHttp, asksHttps })
    }
    if (made.length > 0) this.#recorder.record({ kind: KIND.claim, groups: made }, timeMs)
  }

  #void(event: Extract<CrawlEvent, { kind: typeof KIND.void }>, timeMs: number): void {
    const groups: LinkGroup[] = []
    for (const group of event.groups) {
      const links: Link[] = []
      for (const link of group.links) {
        if (this.stateOf(link.key) === URL_STATE.processing) links.push(link)
        else this.#lead(link, URL_STATE.pending, timeMs)
      }
      if (links.length > 0) groups.push({ ...group, links })
    }
    const asking = event.asking.filter((key) => this.#recorder.state.hosts.findKey(key) > 0)
    if (groups.length + asking.length > 0) this.#recorder.record({ ...event, groups, asking }, timeMs)
  }

  #ended(event: FetchedEvent | FailedEvent, timeMs: number): void {
    const { attempt, stored } = event
    const isLost = stored !== undefined && !this.#isPageThere(stored, attempt.link)
    this.#setVoided(attempt.link.key, isLost ? 1 : 0)
    const left = isLost ? { ...event, stored: undefined } : event
    // Of a URL nobody knows, its end tells its whole life, as in a compacted log.
    const isNew = this.#rest(attempt.link.key) === 0
    if (isNew) this.isExact &&= event.isCompacted === true
    else this.#lead(attempt.link, URL_STATE.processing, timeMs)
    const told = isNew ? { ...left, isCompacted: true as const } : withoutCompacted(left)
    this.#recorder.record(told.kind === KIND.fetched ? { ...told, ...this.#news(told) } : told, timeMs)
  }

  /**
   * Links in no queue. One of which a claim should follow waits as well: should the claim be gone, nothing would ever
   * come for it.
   */
  #linked(event: LinkedEvent, timeMs: number): void {
    const standings: Standing[] = []
    const groups: LinkGroup[] = []
    let next = 0
    for (const group of event.groups) {
      const links: Link[] = []
      for (const link of group.links) {
        const standing = event.standings[next++]
        if (this.#rest(link.key) !== 0 || standing === undefined) continue
        links.push(link)
        standings.push(standing.what === STANDING.plain ? { ...standing, what: STANDING.waits } : standing)
      }
      if (links.length > 0) groups.push({ ...group, links })
    }
    if (groups.length > 0) this.#recorder.record({ kind: KIND.linked, groups, standings }, timeMs)
  }

  #setVoided(key: Key, value: 0 | 1): void {
    if (value === 0 && this.#voided.findKey(key) < 0) return
    this.#voided.setWord(this.#voided.insertKey(key), 0, value)
  }

  #reopened(groups: readonly LinkGroup[], timeMs: number): void {
    for (const group of groups) {
      const final = group.links.filter(({ key }) => this.stateOf(key) > URL_STATE.processing)
      for (const link of group.links) if (!final.includes(link)) this.#lead(link, URL_STATE.pending, timeMs)
      if (final.length > 0) this.#reopen(final, timeMs)
    }
  }

  /** Its queue may only be given up where nothing of it is pending any more. */
  #badHost(event: Extract<CrawlEvent, { kind: typeof KIND.badhost }>, timeMs: number): void {
    for (const key of event.keys) {
      if (this.stateOf(key) === URL_STATE.processing) this.#lead(this.linkOf(key), URL_STATE.pending, timeMs)
    }
    const keys = event.keys.filter((key) => this.stateOf(key) === URL_STATE.pending)
    const host = this.#recorder.state.hosts.findKey(keyOf(event.host))
    const pending = host === 0 ? 0 : this.#recorder.state.hosts.get(host, HOST.pending)
    const isLast = event.isLast && pending === keys.length
    this.#recorder.record({ ...event, keys, isLast }, timeMs)
  }

  /** What a record admits that is not known yet, and what it says of URLs that are. */
  #news(findings: Findings): Findings {
    const { known, turnedAway, turnedAwayUrls, scopeKeys } = findings
    const shorter = findings.shorter
      .filter(({ key }) => this.#rest(key) !== 0)
      .map((way) => ({ ...way, relink: way.relink && this.stateOf(way.key) === URL_STATE.done }))
    return { groups: this.#newGroups(findings.groups), known, shorter, turnedAway, turnedAwayUrls, scopeKeys }
  }

  #newGroups(groups: readonly LinkGroup[]): LinkGroup[] {
    return groups
      .map((group) => ({ ...group, links: group.links.filter(({ key }) => this.#rest(key) === 0) }))
      .filter(({ links }) => links.length > 0)
  }

  /** Outcomes whose page is gone: the URLs are fetched again. */
  #reopenVoided(timeMs: number): void {
    let links: Link[] = []
    const flush = (): void => {
      if (links.length > 0) this.#reopen(links, timeMs)
      links = []
    }
    this.#voided.forEach((handle) => {
      const voided = this.#voided
      if (voided.word(handle, 0) === 0) return
      const key = keyAt(voided, handle)
      if (this.stateOf(key) <= URL_STATE.processing) return
      this.#again.insertKey(key)
      links.push(this.linkOf(key))
      if (links.length === LINKS_PER_RECORD_MAX) flush()
    })
    flush()
  }

  /** Whether these had been in flight at the end or their outcome is gone cannot be told, so it counts as no death. */
  #giveBack(timeMs: number): void {
    const { state } = this.#recorder
    const keys: Key[] = [] // as many as were in flight at once, for each gap
    state.processing.forEach((entry) => {
      keys.push(keyAt(state.processing, entry))
    })
    let asking = askingHosts(state)
    for (let from = 0; from < keys.length || asking.length > 0; from += LINKS_PER_RECORD_MAX) {
      const links = keys.slice(from, from + LINKS_PER_RECORD_MAX).map((key) => this.linkOf(key))
      this.#recorder.record({ kind: KIND.void, isDeath: false, groups: groupByHost(links), asking }, timeMs)
      asking = []
    }
  }
}

export function keyAt(table: OrderedTable, handle: number): Key {
  return keyFromWords(
    table.keyWord(handle, 0),
    table.keyWord(handle, 1),
    table.keyWord(handle, 2),
    table.keyWord(handle, 3),
  )
}

function groupOf(link: Link): LinkGroup {
  const host = hostOf(link.url)
  return { host, hostKey: keyOf(host), isPreferred: false, links: [link] }
}

/** The event as it is told of a URL that is known already. */
function withoutCompacted<T extends FetchedEvent | FailedEvent | RefusedEvent>(event: T): T {
  if (event.isCompacted === undefined) return event
  const { isCompacted, ...plain } = event
  return plain as T
}

function linksIn(groups: readonly LinkGroup[]): Link[] {
  return groups.flatMap(({ links }) => links)
}
