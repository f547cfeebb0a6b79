/**
 * Opening a shard: both logs are looked at, cut to match, replayed; who was in flight is given back; then it goes on.
 *
 * Invariant: all that was accepted is synced before anything is done on the strength of it.
 */

import { type Key, keyFromWords, keyOf, word } from '../base/md5.ts'
import { decodeEvent } from '../core/decode.ts'
import type { Link, LinkGroup } from '../core/event.ts'
import { createFrontier, type Now, scheduleAll } from '../core/frontier.ts'
import { HOST_FLAG } from '../core/hosts.ts'
import { itemsOf } from '../core/items.ts'
import { KIND, KIND_MAX } from '../core/kind.ts'
import { REASONS } from '../core/reasons.ts'
import { type State, segmentOf, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { POISON_DEATHS } from '../core/waiting.ts'
import type { Disk } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { comparePositions, NOWHERE, type Position, ROLE } from '../log/format.ts'
import type { LogIdentity, OpenedLog } from '../log/opened.ts'
import { endOfPage, PAGES_LOG } from '../log/pages.ts'
import type { ItemsOf } from '../log/rebuild.ts'
import { openLog } from '../log/recover.ts'
import { isRewritten } from '../log/segment.ts'
import { apply } from './applying.ts'
import { generationIn, logDirectory, removeOtherGenerations } from './generations.ts'
import { createLinkSource, eventOf } from './link-source.ts'
import { RateLimit } from './rate-limit.ts'
import { replayFrom, totalsAt } from './replay.ts'
import { turn } from './shard.ts'
import { ShardClock } from './shard-clock.ts'
import type { Shard } from './shard-parts.ts'
import { createSyncing } from './syncing.ts'
import { encodeTotals, type Totals } from './totals.ts'

/** KEY items of a record of events, for rebuilding KEY from VAL. */
const itemsOfRecord: ItemsOf = (record, emit) => {
  const event = decodeEvent(record.reader(), record.kind, record.flags)
  if (event === undefined) return
  itemsOf(event, (key, kind, arg) => emit(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
}

export const EVENTS_LOG = { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfRecord } as const

/** Two logs opened together, and how much of the events counts. */
export interface OpenedShard {
  /** Of the events log: the one that counts. */
  readonly generation: number
  readonly events: OpenedLog
  readonly pages: OpenedLog
  /** After the last event that counts: the log's end, or before the first one whose page is missing. */
  readonly end: Position
  /** After the last page that an event refers to. */
  readonly pagesEnd: Position
  /** What was found at the ends, in words. */
  readonly messages: readonly string[]
  /** Synced records are missing: `verify` exits 4. */
  readonly isLossy: boolean
}

/**
 * Looks at both logs of a shard and agrees on where they end. Changes nothing. Errors: LOG_CORRUPT, LOG_NEWER.
 *
 * @param promised  up to where the events are known to have been synced
 * @param stated    generation of the events that MANIFEST states; undefined where there is none to be read
 */
export function openShardLogs(
  disk: Disk,
  directory: string,
  mode: 'read' | 'write',
  promised?: Position,
  stated?: number,
): OpenedShard {
  const eventsOptions = promised === undefined ? EVENTS_LOG : { ...EVENTS_LOG, promised }
  const generation = generationIn(disk, directory, stated)
  const events = openLog(disk, logDirectory(directory, generation), { ...eventsOptions, mode })
  const mark = events.lastMark()
  const pagesSynced = mark?.mark.pagesSynced ?? NOWHERE
  const pages = openLog(disk, `${directory}/pages`, { ...PAGES_LOG, mode, promised: pagesSynced })
  const { end, pagesEnd, lostPages } = matchEnds(events, pages, mark?.mark.synced ?? NOWHERE, pagesSynced)
  const verdicts = [...events.verdicts, ...pages.verdicts]
  const messages = verdicts.map((verdict) => verdict.message)
  if (lostPages > 0) messages.push(`${lostPages} events at the end refer to pages that are missing, and are cut.`)
  const isLossy = verdicts.some((verdict) => verdict.what === 'syncedLost')
  return { generation, events, pages, end, pagesEnd, messages, isLossy }
}

/** Finds the first event behind what the last mark promised whose page is missing, and the last page referred to. */
function matchEnds(
  events: OpenedLog,
  pages: OpenedLog,
  eventsSynced: Position,
  pagesSynced: Position,
): { end: Position; pagesEnd: Position; lostPages: number } {
  let end = events.end
  const promisedEnd = boundaryAt(pages, pagesSynced)
  let pagesEnd = promisedEnd
  let lostPages = 0
  // Pages that the end of the pages log has lost although a mark promised them may be referred to before the mark.
  const start = comparePositions(pages.end, promisedEnd) < 0 ? NOWHERE : eventsSynced
  for (const { number } of events.segments) {
    if (number < start.segment) continue
    const from = number === start.segment ? start.position : 0
    events.scan(
      number,
      (record) => {
        if (record.kind !== KIND.fetched && record.kind !== KIND.failed) return
        const event = eventOf(record, number)
        if (!('stored' in event) || event.stored === undefined) return
        const pageEnd = lostPages > 0 ? undefined : endOfPage(pages, event.stored.page)
        if (pageEnd === undefined) {
          if (lostPages++ === 0) end = { segment: number, position: record.position }
        } else if (comparePositions(pageEnd, pagesEnd) > 0) pagesEnd = pageEnd
      },
      from,
    )
  }
  return { end, pagesEnd: comparePositions(pagesEnd, pages.end) > 0 ? pages.end : pagesEnd, lostPages }
}

/** A mark's place in a segment that has been rewritten since lies between no two records any more: then its end. */
function boundaryAt(pages: OpenedLog, synced: Position): Position {
  const segment = pages.segments.find(({ number }) => number === synced.segment)
  return segment !== undefined && isRewritten(segment.header)
    ? { segment: segment.number, position: segment.header.ownValBytes }
    : synced
}

export interface ShardOptions {
  readonly identity: LogIdentity
  readonly version: string
  readonly pid: number
  readonly shardCount: number
  /** Effective settings, JSON. */
  readonly settings: string
  /** Who changes the settings, where the log has others. */
  readonly act: string
  readonly segmentBytesMax?: number
  readonly onProgress?: (items: number, itemsMax: number) => void
  /** A state that stands at `from` already, from a checkpoint. */
  readonly checkpoint?: { readonly state: State; readonly from: Position }
}

/** Bytes kept aside for the `close` record of a full disk. */
const RESERVE_BYTES = 16 * 1024

/**
 * Opens a shard for writing: cut, replayed, claims of the process before given back, `open` recorded, all synced.
 * Nothing is in flight and nothing is claimed until `isClaiming` is set and the shard is woken.
 */
export function openShard(env: Env, directory: string, opened: OpenedShard, options: ShardOptions): Shard {
  const eventsLog = opened.events
  const isNew = eventsLog.isEmpty
  removeOtherGenerations(env.disk, directory, opened.generation)
  cutToMatch(opened)
  const progress = options.onProgress === undefined ? {} : { onProgress: options.onProgress }
  const { state } = replayFrom(eventsLog, options.checkpoint, progress)
  const totals = totalsAt(eventsLog, eventsLog.end)
  const lastMs = eventsLog.lastTimeMs
  const shard = assemble(env, directory, opened, options, state, totals, lastMs)
  begin(shard, options)
  shard.pages.write()
  shard.events.write()
  const pagesSynced = shard.pages.syncNow()
  const synced = shard.events.syncNow()
  markOpening(shard, synced, pagesSynced)
  nameHosts(shard)
  if (!isNew) scheduleAll(state, shard.frontier, shard.clock.now())
  state.isLive = true
  return shard
}

/** Cuts off what does not count at the ends of both logs. */
export function cutToMatch({ events: eventsLog, pages: pagesLog, end, pagesEnd }: OpenedShard): void {
  const isNew = eventsLog.isEmpty
  if (!isNew && comparePositions(end, eventsLog.end) < 0) eventsLog.cut(end)
  if (comparePositions(pagesEnd, pagesLog.end) < 0 && !pagesLog.isEmpty) pagesLog.cut(pagesEnd)
}

/** The marks before may tell of places that were cut: from here on the last one tells what is there. */
function markOpening(shard: Shard, synced: Position, pagesSynced: Position): void {
  const { events, state, totals, clock, syncing } = shard
  const { shardMs } = clock.now()
  events.mark(shardMs, synced, pagesSynced, state.digest.bytes(), encodeTotals(totals))
  events.write()
  clock.lastRecordMs = shardMs
  syncing.hasNews = false
}

/** Names of hosts after a replay are known only where a record spelt them; settings for single hosts need them all. */
function nameHosts(shard: Shard): void {
  const { state, source } = shard
  if (Object.keys(state.settings.hosts).length === 0) return
  for (let host = 1; host <= state.hosts.count; host++) source.hostName(host)
}

function assemble(
  env: Env,
  directory: string,
  opened: OpenedShard,
  options: ShardOptions,
  state: State,
  totals: Totals,
  lastMs: number,
): Shard {
  const clock = new ShardClock(env.clock, lastMs)
  const timeMs = clock.now().shardMs
  const start = {
    random: env.random,
    timeMs,
    identity: options.identity,
    ...(options.segmentBytesMax === undefined ? {} : { segmentBytesMax: options.segmentBytesMax }),
  }
  const unsealed = opened.pages.segments.filter((segment) => segment.header.ownSequenceAfter === 0)
  const pages = opened.pages.startWriter(start)
  const events = opened.events.startWriter({ ...start, reserveBytes: RESERVE_BYTES })
  return {
    env,
    directory,
    events,
    pages,
    state,
    frontier: createFrontier(),
    source: createLinkSource(events, state, () => env.random.uint32()),
    totals,
    clock,
    inbox: [],
    inFlight: new Map(),
    asked: new Map(),
    syncing: createSyncing(),
    sealing: {
      waiting: unsealed.map((segment) => segment.number).filter((number) => number < pages.segment),
      next: pages.segment,
      isRunning: false,
    },
    rate: new RateLimit(),
    lookups: 0,
    isClaiming: false,
    hasEnded: false,
    isTurnScheduled: false,
    cancelTimer: undefined,
    timerMs: 0,
    takeTurn: turn,
    onTurn: () => {},
    onFailure: () => {},
  }
}

/** The first records of a process: what the one before had in flight, `open`, and settings that changed. */
function begin(shard: Shard, options: ShardOptions): void {
  const { state } = shard
  const now = shard.clock.now()
  giveBack(shard, state.isOpen)
  const { settings } = options
  const isChanged = state.settingsJson !== '' && settings !== state.settingsJson
  apply(
    shard,
    {
      kind: KIND.open,
      crawlId: Buffer.from(options.identity.crawlId).toString('hex'),
      pid: options.pid,
      version: options.version,
      shard: options.identity.shard,
      shardCount: options.shardCount,
      settings: isChanged ? state.settingsJson : settings,
    },
    now,
  )
  if (isChanged) apply(shard, { kind: KIND.control, act: options.act, settings }, now)
}

/** Claims without outcome return to pending, each named. After too many deaths a URL is failed(poison) instead. */
function giveBack(shard: Shard, isDeath: boolean): void {
  const { state, source } = shard
  const links: Link[] = []
  const poisoned: Array<{ link: Link; attempts: number }> = []
  state.processing.forEach((entry) => {
    const { processing } = state
    const key = keyFromWords(
      processing.keyWord(entry, 0),
      processing.keyWord(entry, 1),
      processing.keyWord(entry, 2),
      processing.keyWord(entry, 3),
    )
    const handle = state.urls.findKey(key)
    const segment = segmentOf(state.urls.word(handle, URL_WORD.rest))
    const link = source.link(segment, state.urls.word(handle, URL_WORD.position), key)
    const attemptsDeaths = processing.word(entry, 0)
    if (isDeath && (attemptsDeaths >>> 8) + 1 >= POISON_DEATHS) poisoned.push({ link, attempts: attemptsDeaths & 0xff })
    else links.push(link)
  })
  const now = shard.clock.now()
  const asking = askingHosts(state)
  recordVoid(shard, links, asking, isDeath, now)
  for (const { link, attempts } of poisoned) {
    const timing = { connectMs: 0, firstByteMs: 0, totalMs: 0 }
    const message = `in flight when the process died, ${POISON_DEATHS} times`
    const attempt = { link, attempts: attempts + 1, address: '', status: 0, timing, message }
    apply(shard, { kind: KIND.failed, attempt, reason: REASONS.poison, stored: undefined }, now)
  }
}

/** Keys of the hosts whose robots.txt is being fetched. */
export function askingHosts(state: State): Key[] {
  const keys: Key[] = []
  if (state.asking === 0) return keys
  for (let host = 1; host <= state.hosts.count; host++) {
    if (state.hosts.hasFlag(host, HOST_FLAG.askingHttp | HOST_FLAG.askingHttps)) keys.push(state.hosts.keyOf(host))
  }
  return keys
}

/** Links named by one `void` record: even the longest URLs stay below the 4 MiB of a record. */
const VOID_LINKS_MAX = 1000

/** Gives claims back: one record, or several where very many were in flight. */
export function recordVoid(
  shard: Shard,
  links: readonly Link[],
  asking: readonly Key[],
  isDeath: boolean,
  now: Now,
): void {
  if (links.length + asking.length === 0) return
  for (let from = 0; from === 0 || from < links.length; from += VOID_LINKS_MAX) {
    const part = links.slice(from, from + VOID_LINKS_MAX)
    apply(shard, { kind: KIND.void, isDeath, groups: groupByHost(part), asking: from === 0 ? asking : [] }, now)
  }
}

export function groupByHost(links: readonly Link[]): LinkGroup[] {
  const groups = new Map<string, Link[]>()
  for (const link of links) {
    const host = hostOf(link.url)
    const group = groups.get(host)
    if (group === undefined) groups.set(host, [link])
    else group.push(link)
  }
  return [...groups].map(([host, members]) => ({ host, hostKey: keyOf(host), isPreferred: false, links: members }))
}
