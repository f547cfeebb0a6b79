/**
 * All that happened to one URL: found where and admitted by which rule, each attempt, each return to the queue, its end,
 * and what it waits for now. From the KEY items of the URL and of its host, and the records they name; no replay.
 */
import { type Key, keyOf } from '../base/md5.ts'
import {
  type Attempt,
  type CrawlEvent,
  type Findings,
  type Link,
  ROBOTS,
  type Standing,
  type Stored,
  standingOf,
} from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import type { Settings } from '../core/settings.ts'
import { URL_STATE, URL_STATE_NAMES } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { comparePositions } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { horizonOf } from '../shard/horizon.ts'
import { eventOf } from '../shard/link-source.ts'
import type { OpenedShard } from '../shard/opening.ts'
import { type HistoryItem, historiesOf, sequenceAt, stateAfter } from './url-history.ts'

/** One thing that happened. Beside these three it has the fields of its kind; times are ISO 8601, UTC. */
export interface ExplainedEvent {
  readonly seq: number
  readonly time: string
  /** Name of the KEY item: enqueue, claim, fetched, retry, failed, refused, void, reopened, shorter, relink, relinked. */
  readonly kind: string
  readonly [field: string]: unknown
}

export interface Explanation {
  readonly url: string
  readonly state: string
  readonly events: readonly ExplainedEvent[]
  /** What keeps a pending URL from being fetched, each with its end; [] where nothing does but its turn. */
  readonly waits: ReadonlyArray<{ readonly what: string; readonly until: string | null }>
  /** What of it happened before was compacted away: only what still counted is told. Left out where all is told. */
  readonly compacted?: { readonly until: string; readonly seq: number }
}

const KIND_NAMES = new Map<number, string>(Object.entries(KIND).map(([name, number]) => [number, name]))

/**
 * @param nowMs  wall clock: what is over is no reason to wait
 * @returns undefined where the URL is none of the crawl's
 * Errors: LOG_CORRUPT. Cost: KEY twice, and a few reads of VAL per event.
 */
export function explainUrl(logs: OpenedShard, url: string, settings: Settings, nowMs: number): Explanation | undefined {
  const log = logs.events
  const [history, hostHistory] = historiesOf(log, logs.end, [keyOf(url), keyOf(hostOf(url))])
  if (history.length === 0) return undefined
  const key = keyOf(url)
  const met = history.map((item) => ({ item, ...eventAt(log, item) }))
  const names = namesOf(
    logs,
    met.map(({ event }) => linkIn(event, key)),
  )
  const told = met.filter(({ item, event }) => item.kind !== KIND.claim || event.kind === KIND.claim)
  const events = told.map(({ item, event, timeMs }) => ({
    seq: sequenceAt(log, item),
    time: new Date(timeMs).toISOString(),
    kind: KIND_NAMES.get(item.kind) ?? String(item.kind),
    ...fieldsOf(item, event, key, names, settings),
  }))
  const state = stateAfter(history)
  const waits = state === URL_STATE.pending ? waitsOf(log, hostHistory, met.at(-1)?.event, key, nowMs) : []
  const horizon = horizonOf(log)
  const isCompacted = horizon?.isRepair === false && comparePositions(history[0], horizon.position) < 0
  const compacted = isCompacted
    ? { compacted: { until: new Date(horizon.timeMs).toISOString(), seq: horizon.sequence } }
    : {}
  return { url, state: URL_STATE_NAMES[state], events, waits, ...compacted }
}

function eventAt(log: OpenedLog, { segment, position }: HistoryItem): { event: CrawlEvent; timeMs: number } {
  const record = log.read(segment, position)
  return { event: eventOf(record, segment), timeMs: record.timeMs }
}

/** The link of the URL in an event, where the event holds it. */
function linkIn(event: CrawlEvent, key: Key): Link | undefined {
  if ('attempt' in event && event.attempt.link.key === key) return event.attempt.link
  if (event.kind === KIND.claim) return undefined
  const groups = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const { links } of groups) {
    const found = links.find((link) => link.key === key)
    if (found !== undefined) return found
  }
  return undefined
}

/** URLs of the pages that links name by key: where they were found, what redirected to them. Cost: a scan of KEY. */
function namesOf(logs: OpenedShard, links: ReadonlyArray<Link | undefined>): ReadonlyMap<Key, string> {
  const keys = new Set<Key>()
  for (const link of links) {
    if (link?.from !== undefined) keys.add(link.from)
    for (const hop of link?.chain ?? []) keys.add(hop)
  }
  const wanted = [...keys]
  const names = new Map<Key, string>()
  for (const [i, items] of historiesOf(logs.events, logs.end, wanted).entries()) {
    for (const item of items) {
      const url = linkIn(eventAt(logs.events, item).event, wanted[i])?.url
      if (url === undefined) continue
      names.set(wanted[i], url)
      break
    }
  }
  return names
}

function fieldsOf(
  item: HistoryItem,
  event: CrawlEvent,
  key: Key,
  names: ReadonlyMap<Key, string>,
  settings: Settings,
): Readonly<Record<string, unknown>> {
  switch (item.kind) {
    case KIND.enqueue:
    case KIND.reopened:
      return foundFields(event, linkIn(event, key), names, settings)
    case KIND.void:
      return { death: item.arg === 1 }
    case KIND.shorter:
    case KIND.relink:
      return { depth: item.arg, from: pageOf(event) }
    case KIND.refused:
      return { class: reasonOf(item.arg) ?? null }
    case KIND.waits:
      return event.kind === KIND.linked ? standingFields(standingOf(event, key)) : {}
    case KIND.failed:
      if (event.kind === KIND.linked) return { class: 'host.bad', because: null, until: null }
      if (event.kind === KIND.badhost) {
        return { class: 'host.bad', because: reasonOf(event.reason) ?? null, until: instant(event.untilMs) }
      }
  }
  return outcomeFields(event)
}

/** Of a URL that waits, as a compaction left it. */
function standingFields(standing: Standing | undefined): Readonly<Record<string, unknown>> {
  if (standing === undefined) return {}
  const { attempts, status, reason, dueMs } = standing
  return {
    attempt: attempts,
    class: reasonOf(reason) ?? null,
    status: status === 0 ? null : status,
    due: instant(dueMs),
  }
}

function foundFields(
  event: CrawlEvent,
  link: Link | undefined,
  names: ReadonlyMap<Key, string>,
  settings: Settings,
): Readonly<Record<string, unknown>> {
  if (link === undefined) return {}
  const from = link.from === undefined ? null : (names.get(link.from) ?? pageOf(event) ?? null)
  const fields: Record<string, unknown> = { from, depth: link.depth, rule: ruleOf(link, settings) }
  if (link.chain.length > 0) fields.redirects = link.chain.map((hop) => names.get(hop) ?? null)
  if (event.kind === KIND.seeded) fields.source = `seeds/${event.source}.txt`
  if (event.kind === KIND.bulk && !event.isCompacted) fields.moved = true
  return fields
}

/** The rule that let a link in. */
function ruleOf(link: Link, settings: Settings): string {
  if (link.seed) return link.from === undefined ? 'seed' : 'redirect from a seed'
  const included = settings.include.find((source) => new RegExp(source).test(link.url))
  return `scope ${settings.scope}${included === undefined ? '' : `, include ${included}`}`
}

/** The page that an event is about. */
function pageOf(event: CrawlEvent): string | undefined {
  if (event.kind === KIND.fetched) return event.attempt.link.url
  return event.kind === KIND.relinked ? event.link.url : undefined
}

function outcomeFields(event: CrawlEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case KIND.fetched: {
      const location = event.location === '' ? {} : { location: event.location }
      return { ...attemptFields(event.attempt), ...location, ...storedFields(event.stored), ...linkFields(event) }
    }
    case KIND.retry:
      return { class: reasonOf(event.reason) ?? null, ...attemptFields(event.attempt), due: instant(event.dueMs) }
    case KIND.failed:
      return { class: reasonOf(event.reason) ?? null, ...attemptFields(event.attempt), ...storedFields(event.stored) }
    case KIND.relinked:
      return linkFields(event)
  }
  return {}
}

function attemptFields({ attempts, status, address, timing, message }: Attempt): Readonly<Record<string, unknown>> {
  const said = message === '' ? {} : { message }
  return {
    attempt: attempts,
    status: status === 0 ? null : status,
    address: address === '' ? null : address,
    ...timing,
    ...said,
  }
}

function storedFields(stored: Stored | undefined): Readonly<Record<string, unknown>> {
  if (stored === undefined) return {}
  const { bodyBytes, decodedBytes, contentType, isTruncated } = stored
  return { bodyBytes, decodedBytes, contentType, truncated: isTruncated }
}

/** Links of a page: admitted, known already, and turned away by class. */
function linkFields(findings: Findings): Readonly<Record<string, unknown>> {
  const links = findings.groups.reduce((sum, group) => sum + group.links.length, 0)
  const turnedAway = Object.fromEntries(
    findings.turnedAway.map(([reason, number]) => [reasonOf(reason) ?? reason, number]),
  )
  return { links, known: findings.known.length, turnedAway }
}

function instant(ms: number): string | null {
  return ms > 0 ? new Date(ms).toISOString() : null
}

interface Wait {
  readonly what: string
  readonly until: string | null
}

/** What the host's last words, and the URL's own, say about when it may be fetched. */
function waitsOf(
  log: OpenedLog,
  hostHistory: readonly HistoryItem[],
  last: CrawlEvent | undefined,
  key: Key,
  nowMs: number,
): Wait[] {
  const waits: Wait[] = []
  const add = (what: string, untilMs: number): void => {
    if (untilMs > nowMs) waits.push({ what, until: instant(untilMs) })
  }
  const standing = last?.kind === KIND.linked ? standingOf(last, key) : undefined
  if (standing !== undefined) add(`its next attempt after ${reasonOf(standing.reason) ?? 'a failure'}`, standing.dueMs)
  if (last?.kind === KIND.retry) add(`its next attempt after ${reasonOf(last.reason) ?? 'a failure'}`, last.dueMs)
  const lastOf = (kind: number) => hostHistory.findLast((item) => item.kind === kind)
  for (const kind of [KIND.delay, KIND.badhost, KIND.robots]) {
    const item = lastOf(kind)
    if (item === undefined) continue
    const { event } = eventAt(log, item)
    if (event.kind === KIND.delay)
      add(`its host, which asked for a pause or failed (${reasonOf(event.reason) ?? 'delay'})`, event.untilMs)
    if (event.kind === KIND.badhost) add(`its host, which is bad (${reasonOf(event.reason) ?? 'bad'})`, event.untilMs)
    if (event.kind === KIND.robots && event.verdict === ROBOTS.held) add('robots.txt of its host', event.expiresMs)
  }
  const asked = lastOf(KIND.asked)
  const answered = lastOf(KIND.robots)
  if (asked !== undefined && asked.arg !== ASKED_GIVEN_BACK && isBefore(answered, asked)) {
    waits.push({ what: 'robots.txt of its host, which is being fetched', until: null })
  }
  return waits
}

/** Argument of `asked` where the question was given back. */
const ASKED_GIVEN_BACK = 2

function isBefore(item: HistoryItem | undefined, other: HistoryItem): boolean {
  return (
    item === undefined ||
    item.segment < other.segment ||
    (item.segment === other.segment && item.position < other.position)
  )
}
