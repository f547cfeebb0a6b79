/**
 * All that happened to one URL: found where and admitted by which rule, who links to it, each attempt, each return to the
 * queue, its end, and what it waits for now. From the KEY items of the URL and of its host, and the records they name; no
 * replay. Only the links to it take a pass over VAL.
 */
import { type Key, keyOf, ZERO_KEY } from '../base/md5.ts'
import type { CrawlEvent, PageRef, Stored } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { type Settings, settingsOfHost } from '../core/settings.ts'
import { URL_STATE, URL_STATE_NAMES } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import type { DecodeContent } from '../env/content.ts'
import { comparePositions, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { horizonOf } from '../shard/horizon.ts'
import { eventOf, readEvent } from '../shard/link-source.ts'
import type { OpenedShard } from '../shard/opening.ts'
import { readPage } from '../shard/pages.ts'
import { type ExplainedEvent, fieldsOf, linkIn, nameOfKind } from './explained-event.ts'
import { HostHistory } from './host-history.ts'
import { type InLinks, inLinksOf } from './in-links.ts'
import { settingsOf } from './reading.ts'
import { type RobotsVerdict, robotsVerdictOf } from './robots-verdict.ts'
import { forEachItem, type HistoryItem, sequenceAt, stateAfter } from './url-history.ts'
import { type Standing, standingOf, type Wait, waitsOf } from './waits.ts'

/** Other URLs with the same body that are named; the rest is counted. */
const SAME_NAMED_MAX = 10

export interface SameContent {
  /** Other answers below 400 with the same body. */
  readonly count: number
  /** The first of them. */
  readonly urls: readonly string[]
}

export interface Explanation {
  readonly url: string
  readonly state: string
  readonly events: readonly ExplainedEvent[]
  /** Fewest links from a seed known now. */
  readonly depth: number
  /** Null where it was not asked for. */
  readonly linkedFrom: InLinks | null
  readonly robots: RobotsVerdict
  /** Null where no body of the URL is stored, or an empty one. */
  readonly sameContent: SameContent | null
  /** What keeps a pending URL from being fetched, each with its end; [] where nothing does but its turn. */
  readonly waits: readonly Wait[]
  /** Of a pending URL. */
  readonly standing: Standing | undefined
  /** What of it happened before was compacted away: only what still counted is told. Left out where all is told. */
  readonly compacted?: { readonly until: string; readonly seq: number }
}

export interface ExplainOptions {
  /** Of the crawl, now. */
  readonly settings: Settings
  /** Wall clock. */
  readonly nowMs: number
  readonly decode: DecodeContent
  /** Whether the links to the URL are looked for: a pass over VAL. */
  readonly wantsLinks: boolean
  /** Pages named that link to it. Default: IN_LINKS_NAMED_MAX. */
  readonly linksNamedMax?: number | undefined
  readonly onProgress?: ((bytes: number, bytesMax: number) => void) | undefined
}

/** What a pass over KEY found. */
interface Found {
  readonly history: readonly HistoryItem[]
  readonly host: HostHistory
  /** Records that changed the settings, oldest first. */
  readonly changes: readonly Position[]
}

/** An event of the URL with its place. */
interface Met {
  readonly item: HistoryItem
  readonly event: CrawlEvent
  readonly timeMs: number
}

/**
 * @returns undefined where the URL is none of the crawl's
 * Errors: LOG_CORRUPT; MalformedValue. Cost: KEY twice, a few reads of VAL per event; VAL once where links are wanted.
 */
export function explainUrl(logs: OpenedShard, url: string, options: ExplainOptions): Explanation | undefined {
  const { events: log, end } = logs
  const found = findInKey(logs, url)
  const { history, host } = found
  if (history.length === 0) return undefined
  const key = keyOf(url)
  const met = history.map((item): Met => {
    const record = log.read(item.segment, item.position)
    return { item, event: eventOf(record, item.segment), timeMs: record.timeMs }
  })
  const stored = met.map(({ event }) => ('stored' in event ? event.stored : undefined)).findLast(Boolean)
  const { names, sameContent } = secondPass(logs, key, met, stored)
  const settingsAt = settingsReader(logs, found.changes, options.settings)
  const bodyAt = (page: Stored): PageRef | undefined => placeOfBody(logs, page, options.decode)
  const robots = robotsVerdictOf(log, host.robots, url, options.settings)
  const delayMs = Math.max(robots.delayMs, settingsOfHost(options.settings, hostOf(url)).delayMs)
  // Where a compaction tells an outcome, its claim is only a way to say it.
  const told = met.filter(({ item, event }) => item.kind !== KIND.claim || event.kind === KIND.claim)
  const events = told.map(({ item, event, timeMs }) => ({
    seq: sequenceAt(log, item),
    time: new Date(timeMs).toISOString(),
    kind: nameOfKind(item.kind),
    ...fieldsOf(item, event, { key, names, bodyAt, settings: settingsAt(item) }),
  }))
  return {
    ...{ url, state: URL_STATE_NAMES[stateAfter(history)], events, depth: depthAfter(history) },
    linkedFrom: options.wantsLinks ? inLinksOf(log, end, searchFor(url, key, history, options)) : null,
    robots,
    sameContent,
    ...nowOf(log, found, met.at(-1), key, delayMs, options),
    ...compactedOf(log, history[0]),
  }
}

function compactedOf(log: OpenedLog, first: Position) {
  const horizon = horizonOf(log)
  if (horizon?.isRepair !== false || comparePositions(first, horizon.position) >= 0) return {}
  return { compacted: { until: new Date(horizon.timeMs).toISOString(), seq: horizon.sequence } }
}

function nowOf(
  log: OpenedLog,
  { history, host }: Found,
  last: Met | undefined,
  key: Key,
  delayMs: number,
  { nowMs }: ExplainOptions,
) {
  if (stateAfter(history) !== URL_STATE.pending) return { waits: [], standing: undefined }
  return { waits: waitsOf(log, host, last?.event, key, delayMs, nowMs), standing: standingOf(host, history) }
}

function searchFor(url: string, key: Key, history: readonly HistoryItem[], options: ExplainOptions) {
  const { settings, linksNamedMax: namedMax, onProgress } = options
  const admittedAt = history.filter(({ kind }) => kind === KIND.enqueue)
  return { key, url, admittedAt, hasGraph: settings.graph, namedMax, onProgress }
}

/** First pass over KEY: the URL's items, what counts of its host's, and where settings changed. */
function findInKey(logs: OpenedShard, url: string): Found {
  const { events: log, end } = logs
  const history: HistoryItem[] = []
  const changes: Position[] = []
  const host = new HostHistory(({ segment, position }) => readEvent(log, segment, position))
  forEachItem(log, end, [keyOf(url), keyOf(hostOf(url)), ZERO_KEY], (which, kind, arg, segment, position) => {
    if (which === 1) return host.take(kind, arg, segment, position)
    if (which === 2) {
      if (kind === KIND.open || kind === KIND.control) changes.push({ segment, position })
      return
    }
    history.push({ kind, arg, segment, position })
    if (kind === KIND.enqueue || kind === KIND.reopened) host.found(segment, position)
    else if (kind === KIND.void || kind === KIND.retry || kind === KIND.waits) host.cameBack()
  })
  return { history, host, changes }
}

/** Second pass over KEY: the names of the pages that links tell of by their keys, and who else has the same body. */
function secondPass(
  logs: OpenedShard,
  key: Key,
  met: readonly Met[],
  stored: Stored | undefined,
): { readonly names: ReadonlyMap<Key, string>; readonly sameContent: SameContent | null } {
  const log = logs.events
  const wanted = new Set<Key>()
  for (const { event } of met) {
    const link = linkIn(event, key)
    if (link?.from !== undefined) wanted.add(link.from)
    for (const hop of link?.chain ?? []) wanted.add(hop)
  }
  const content = stored === undefined || stored.bodyBytes === 0 ? undefined : stored.content
  const keys = content === undefined ? [...wanted] : [content, ...wanted]
  const names = new Map<Key, string>()
  const same = { count: 0, urls: [] as string[] }
  forEachItem(log, logs.end, keys, (which, kind, _, segment, position) => {
    if (kind !== KIND.content) {
      const name = names.has(keys[which]) ? undefined : linkIn(readEvent(log, segment, position), keys[which])?.url
      if (name !== undefined) names.set(keys[which], name)
      return
    }
    if (met.some(({ item }) => item.segment === segment && item.position === position)) return
    if (++same.count > SAME_NAMED_MAX) return
    const event = readEvent(log, segment, position)
    if (event.kind === KIND.fetched) same.urls.push(event.attempt.link.url)
  })
  return { names, sameContent: content === undefined ? null : same }
}

/** The settings in force at a place: those of the last record before it that changed them. Cost: a read each. */
function settingsReader(logs: OpenedShard, changes: readonly Position[], last: Settings) {
  const read = new Map<Position, Settings>()
  return (place: Position): Settings => {
    const change = changes.findLast((candidate) => comparePositions(candidate, place) <= 0)
    if (change === undefined) return last
    const event = readEvent(logs.events, change.segment, change.position)
    const settings = read.get(change) ?? ('settings' in event ? settingsOf(event.settings) : last)
    read.set(change, settings)
    return settings
  }
}

/** Where the bytes of a page's body are: with it, or with the page that had the same body first. */
function placeOfBody(logs: OpenedShard, { page }: Stored, decode: DecodeContent): PageRef | undefined {
  const found = readPage(logs.pages, page, decode)
  return found === undefined ? undefined : (found.elsewhere ?? page)
}

/** The depth as the crawl knows it: of the link, or of a shorter way since. */
function depthAfter(history: readonly HistoryItem[]): number {
  let depth = 255
  for (const { kind, arg } of history) {
    if (kind === KIND.reopened) depth = arg
    else if (kind === KIND.enqueue || kind === KIND.shorter || kind === KIND.relink) depth = Math.min(depth, arg)
  }
  return depth
}
