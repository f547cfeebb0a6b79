/**
 * Opening a shard: both logs are looked at, cut to match, replayed; who was in flight is given back; then it goes on.
 *
 * Invariant: all that was accepted is synced before anything is done on the strength of it.
 */

import { type Key, keyFromWords, keyOf } from '../base/md5.ts'
import type { ForkedEvent, Link, LinkGroup } from '../core/event.ts'
import { createFrontier, type Now, scheduleAll } from '../core/frontier.ts'
import { HOST_FLAG } from '../core/hosts.ts'
import type { KeyQueue } from '../core/key-queue.ts'
import { KIND } from '../core/kind.ts'
import { REASONS } from '../core/reasons.ts'
import type { Settings } from '../core/settings.ts'
import { type State, segmentOf, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { POISON_DEATHS } from '../core/waiting.ts'
import type { Checkpoint } from '../env/checkpoints.ts'
import type { Disk } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { comparePositions, NOWHERE, type Position } from '../log/format.ts'
import { decodeMark, type Mark } from '../log/mark.ts'
import type { LogIdentity, OpenedLog } from '../log/opened.ts'
import { endOfPage, PAGES_LOG } from '../log/pages.ts'
import { openLog } from '../log/recover.ts'
import { isRewritten } from '../log/segment.ts'
import { apply } from './applying.ts'
import { createCheckpointing, noteMark } from './checkpointing.ts'
import { EVENTS_LOG } from './events-log.ts'
import { generationIn, logDirectory, removeOtherGenerations } from './generations.ts'
import { horizonOf } from './horizon.ts'
import { readPlace } from './image.ts'
import type { ImagePlace } from './image-facts.ts'
import { createLinkSource, eventOf } from './link-source.ts'
import { lastMarkBefore } from './marks.ts'
import { RateLimit } from './rate-limit.ts'
import { type ReplayedState, replayFrom, totalsAt } from './replay.ts'
import { recordReadingAgain, urlsToReadAgain } from './rereading.ts'
import { turn } from './shard.ts'
import { ShardClock } from './shard-clock.ts'
import type { CheckpointKeeping, Shard } from './shard-parts.ts'
import { createSyncing } from './syncing.ts'
import { encodeTotals, type Totals } from './totals.ts'

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
 * @param newest    the checkpoint made last: the events up to its place had been synced
 * @param stated    generation of the events that MANIFEST states; undefined where there is none to be read
 */
export function openShardLogs(
  disk: Disk,
  directory: string,
  mode: 'read' | 'write',
  newest?: Checkpoint,
  stated?: number,
): OpenedShard {
  const generation = generationIn(disk, directory, stated)
  const isWitness = newest !== undefined && bearsOut(readPlace(disk, `${directory}/${newest.path}`), newest, generation)
  const eventsOptions = isWitness ? { ...EVENTS_LOG, promised: newest } : EVENTS_LOG
  const events = openLog(disk, logDirectory(directory, generation), { ...eventsOptions, mode })
  const mark = events.lastMark()
  const synced = syncedBy(mark?.mark, events)
  const pages = openLog(disk, `${directory}/pages`, { ...PAGES_LOG, mode, promised: synced.pages })
  const { end, pagesEnd, lostPages } = matchEnds(events, pages, synced)
  const verdicts = [...events.verdicts, ...pages.verdicts]
  const messages = verdicts.map((verdict) => verdict.message)
  if (lostPages > 0) messages.push(`${lostPages} events at the end refer to pages that are missing, and are cut.`)
  const isLossy = verdicts.some((verdict) => verdict.what === 'syncedLost')
  return { generation, events, pages, end, pagesEnd, messages, isLossy }
}

/** Whether an image says the same as its row, which has no checksum: a wrong one would promise what never was. */
function bearsOut(place: ImagePlace | undefined, row: Checkpoint, generation: number): boolean {
  return place?.generation === generation && place.shard === row.shard && comparePositions(place.position, row) === 0
}

/** Up to where both logs were synced. */
interface Synced {
  readonly events: Position
  readonly pages: Position
}

/**
 * What a mark tells was synced. Where that lies before the horizon, it is a place of the log that was compacted: what stands
 * for that was synced whole, with all pages it refers to.
 */
function syncedBy(mark: Mark | undefined, events: OpenedLog): Synced {
  if (mark === undefined) return { events: NOWHERE, pages: NOWHERE }
  const { synced, pagesSynced } = mark
  const header = events.segments.find(({ number }) => number === synced.segment)?.header
  const isOfNow = header !== undefined && !(isRewritten(header) && header.generation === events.generation)
  const horizon = isOfNow ? undefined : horizonOf(events)
  if (horizon === undefined) return { events: synced, pages: pagesSynced }
  const isLater = comparePositions(pagesSynced, horizon.pagesSynced) > 0
  return { events: horizon.position, pages: isLater ? pagesSynced : horizon.pagesSynced }
}

/** Finds the first event behind what the last mark promised whose page is missing, and the last page referred to. */
function matchEnds(
  events: OpenedLog,
  pages: OpenedLog,
  synced: Synced,
  until: Position = events.end,
): { end: Position; pagesEnd: Position; lostPages: number } {
  let end = until
  const promisedEnd = boundaryAt(pages, synced.pages)
  let pagesEnd = promisedEnd
  let lostPages = 0
  // Pages that the end of the pages log has lost although a mark promised them may be referred to before the mark.
  const start = comparePositions(pages.end, promisedEnd) < 0 ? NOWHERE : synced.events
  for (const { number } of events.segments) {
    if (number < start.segment || number > until.segment) continue
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
      number === until.segment ? until.position : undefined,
    )
  }
  return { end, pagesEnd: comparePositions(pagesEnd, pages.end) > 0 ? pages.end : pagesEnd, lostPages }
}

/** After the last page that the events before a place refer to, or promise. Cost: a scan from the mark before it. */
export function pagesEndAt(events: OpenedLog, pages: OpenedLog, until: Position): Position {
  const found = lastMarkBefore(events, until)
  const mark = found && decodeMark(events.read(found.segment, found.position))
  return matchEnds(events, pages, syncedBy(mark, events), until).pagesEnd
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
  /** The log is the beginning of another one, and goes on from here as a fork. */
  readonly forked?: Omit<ForkedEvent, 'kind'>
  /** Seed sources that can be read again, should the settings ask for it. Default: none. */
  readonly seedSources?: readonly number[]
  /** A state that stands at `from` already, from a checkpoint. */
  readonly checkpoint?: { readonly state: State; readonly from: Position; readonly row?: Checkpoint }
  /** Where checkpoints made while crawling are kept; default: none are made. */
  readonly checkpoints?: CheckpointKeeping
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
  const replayed = replayFrom(eventsLog, options.checkpoint, progress)
  const { state } = replayed
  if (!isNew) tellReplay(replayed, options)
  const totals = totalsAt(eventsLog, eventsLog.end)
  const lastMs = eventsLog.lastTimeMs
  const isChanged = state.settingsJson !== '' && options.settings !== state.settingsJson
  const readAgain = isChanged ? urlsToReadAgain(eventsLog, state, JSON.parse(options.settings) as Settings) : undefined
  const shard = assemble(env, directory, opened, options, replayed, totals, lastMs)
  begin(shard, options, readAgain)
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

function tellReplay({ work, isFromStart }: ReplayedState, { checkpoint, checkpoints }: ShardOptions): void {
  const sequence = isFromStart ? 0 : (checkpoint?.row?.sequence ?? 0)
  checkpoints?.tell('info', 'replayed', { checkpoint: sequence, ...work })
}

/** The marks before may tell of places that were cut: from here on the last one tells what is there. */
function markOpening(shard: Shard, synced: Position, pagesSynced: Position): void {
  const { events, state, totals, clock, syncing } = shard
  const timeMs = clock.stamp(clock.now().shardMs)
  const { sequence } = events.mark(timeMs, synced, pagesSynced, state.digest.bytes(), encodeTotals(totals))
  noteMark(shard, sequence, timeMs)
  events.write()
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
  { state, work, isFromStart }: ReplayedState,
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
    work,
    checkpointing:
      options.checkpoints &&
      createCheckpointing(options.checkpoints, isFromStart ? undefined : options.checkpoint?.row),
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
function begin(shard: Shard, options: ShardOptions, readAgain: KeyQueue | undefined): void {
  const { state } = shard
  const now = shard.clock.now()
  if (options.forked !== undefined) apply(shard, { kind: KIND.forked, ...options.forked }, now)
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
  if (readAgain !== undefined) recordReadingAgain(shard, readAgain, options.seedSources ?? [], now)
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
