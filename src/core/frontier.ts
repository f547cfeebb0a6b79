/**
 * The frontier's schedule: which host may be contacted next, and which of its links is at hand. Built anew at every
 * opening from the state; never in the log or the digest.
 *
 * Times here are monotonic milliseconds, so that no step of the wall clock shortens a delay.
 */
import { DueHeap } from '../tables/heap.ts'
import { BULK_LINKS_MAX, type BulkEvent, type Link, type LinkGroup } from './event.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import { type Settings, settingsOfHost } from './settings.ts'
import type { State } from './state.ts'

/** Links kept in memory after they were written, so that a host's queue seldom has to be read: about 25 MB. */
export const REMEMBERED_LINKS_MAX = 100_000
/** Links of opened bulks in memory at once; bulks closed to make room are read again when their host's turn comes. */
const OPEN_LINKS_MAX = 250_000
/** A bulk of fewer links is small … */
const SMALL_LINKS = 32
/** … and this many of them in a row at a queue's tail are gathered. */
const GATHERED_BULKS_MIN = 8

/** A bulk whose links are being claimed one by one. */
export interface OpenBulk {
  readonly position: number
  /** Segment << 16 | ordinal, as in the queue. */
  readonly place: number
  /** Argument of the `drained` item that takes it off its queue. */
  readonly drained: number
  readonly links: readonly Link[]
  next: number
}

/** A bulk as it was written. */
interface RememberedBulk {
  readonly position: number
  readonly place: number
  readonly links: readonly Link[]
}

export interface Frontier {
  /** Hosts by the monotonic instant of their next contact; hosts with nothing to do, or busy, are not in it. */
  readonly due: DueHeap
  /** By queue id (`queueId`). At most OPEN_LINKS_MAX links in all. */
  readonly open: Map<number, OpenBulk>
  openLinks: number
  /** The last bulks of a queue, contiguous up to its tail, by queue id. At most REMEMBERED_LINKS_MAX links in all. */
  readonly remembered: Map<number, RememberedBulk[]>
  rememberedLinks: number
  /** Hosts that are due but had to wait for a free look-up. */
  readonly stalled: number[]
  /** Monotonic instant at which this process went on with a crawl; −∞ where it began it. */
  openedMs: number
  /** Which of a host's addresses may be contacted, by origin; a cache of `reach.ts`. */
  readonly reach: Map<string, { readonly addresses: readonly string[]; readonly handle: number; readonly keys: number }>
}

/** One instant on both clocks, milliseconds. */
export interface Now {
  /** Shard time: what events are labelled with. */
  readonly shardMs: number
  /** Monotonic: what delays run on. */
  readonly monotonicMs: number
}

export function createFrontier(): Frontier {
  return {
    due: new DueHeap(),
    open: new Map(),
    openLinks: 0,
    remembered: new Map(),
    rememberedLinks: 0,
    stalled: [],
    openedMs: Number.NEGATIVE_INFINITY,
    reach: new Map(),
  }
}

/** Each host has two queues. */
export function queueId(host: number, isPreferred: boolean): number {
  return host * 2 + (isPreferred ? 1 : 0)
}

/**
 * Remembers the bulks of a record just written.
 * @returns gathered bulks to be written, for queues that had to be forgotten to make room
 */
export function rememberBulks(
  state: State,
  frontier: Frontier,
  groups: readonly LinkGroup[],
  segment: number,
  position: number,
): BulkEvent[] {
  let ordinal = 0
  for (const { host, hostKey, isPreferred, links } of groups) {
    const hostId = state.hosts.findKey(hostKey)
    state.hosts.setName(hostId, host)
    const id = queueId(hostId, isPreferred)
    let bulks = frontier.remembered.get(id)
    if (bulks === undefined) {
      bulks = []
      frontier.remembered.set(id, bulks)
    }
    for (let from = 0; from < links.length; from += BULK_LINKS_MAX) {
      const part = links.length <= BULK_LINKS_MAX ? links : links.slice(from, from + BULK_LINKS_MAX)
      bulks.push({ position, place: ((segment << 16) | ordinal++) >>> 0, links: part })
    }
    frontier.rememberedLinks += links.length
  }
  return makeRoom(state, frontier)
}

function makeRoom(state: State, frontier: Frontier): BulkEvent[] {
  const events: BulkEvent[] = []
  for (const id of frontier.remembered.keys()) {
    if (frontier.rememberedLinks <= REMEMBERED_LINKS_MAX) break
    const run = smallRun(frontier.remembered.get(id) as RememberedBulk[])
    const event = run < 2 ? undefined : gather(state, frontier, id, run)
    if (event !== undefined) events.push(event)
    forget(frontier, id)
  }
  return events
}

/** Bulks that a gathered one may replace: as many as its item can count. */
const REPLACED_MAX = 127

/**
 * Before a record with these groups is written: small bulks that would come to lie in the middle of a queue, as one.
 * Links to hosts with few waiting would else cost a read each.
 * Cost: what is written, once for each link; nothing is read.
 */
export function gatherBefore(state: State, frontier: Frontier, groups: readonly LinkGroup[]): BulkEvent[] {
  const events: BulkEvent[] = []
  for (const { hostKey, isPreferred, links } of groups) {
    const host = state.hosts.findKey(hostKey)
    const id = queueId(host, isPreferred)
    const bulks = frontier.remembered.get(id)
    if (bulks === undefined || bulks.length < GATHERED_BULKS_MIN) continue
    const run = smallRun(bulks)
    if (run < GATHERED_BULKS_MIN) continue
    if (links.length < SMALL_LINKS && linkCount(bulks, run) < BULK_LINKS_MAX / 2) continue
    const event = gather(state, frontier, id, run)
    if (event !== undefined) events.push(event)
  }
  return events
}

/** Links gathered into one record: even the longest URLs stay below the 4 MiB of a record. */
const GATHERED_LINKS_MAX = 1000

/** Small bulks in a row at the tail, as many as one record may gather. */
function smallRun(bulks: readonly RememberedBulk[]): number {
  let run = 0
  let links = 0
  while (run < bulks.length && run < REPLACED_MAX) {
    const { length } = bulks[bulks.length - 1 - run].links
    if (length >= SMALL_LINKS || links + length > GATHERED_LINKS_MAX) break
    links += length
    run++
  }
  return run
}

function linkCount(bulks: readonly RememberedBulk[], run: number): number {
  let count = 0
  for (let i = bulks.length - run; i < bulks.length; i++) count += bulks[i].links.length
  return count
}

/** The last `run` bulks of a queue as one, and their copies forgotten. */
function gather(state: State, frontier: Frontier, id: number, run: number): BulkEvent | undefined {
  // The other orders open bulks in the middle or at the tail: there the copies need not reach up to the tail.
  if (state.settings.order !== 'breadth' && state.settings.order !== 'priority') return undefined
  const bulks = frontier.remembered.get(id) as RememberedBulk[]
  const links = bulks.splice(bulks.length - run).flatMap((bulk) => bulk.links)
  frontier.rememberedLinks -= links.length
  const host = Math.floor(id / 2)
  return {
    kind: KIND.bulk,
    replaced: run,
    group: { host: state.hosts.name(host), hostKey: state.hosts.keyOf(host), isPreferred: id % 2 === 1, links },
  }
}

/** Forgets the copies of a queue: its bulks will be read from the log. */
export function forget(frontier: Frontier, id: number): void {
  for (const bulk of frontier.remembered.get(id) ?? []) frontier.rememberedLinks -= bulk.links.length
  frontier.remembered.delete(id)
}

/** Opens a bulk; others are closed to make room. A closed bulk is not drained: it is read again when its turn comes. */
export function setOpen(frontier: Frontier, id: number, bulk: OpenBulk): void {
  frontier.openLinks += bulk.links.length
  frontier.open.set(id, bulk)
  for (const other of frontier.open.keys()) {
    if (frontier.openLinks <= OPEN_LINKS_MAX || other === id) break
    closeOpen(frontier, other)
  }
}

export function closeOpen(frontier: Frontier, id: number): void {
  frontier.openLinks -= frontier.open.get(id)?.links.length ?? 0
  frontier.open.delete(id)
}

/** Takes a bulk's copy out, where there is one, because it is being opened. */
export function recall(frontier: Frontier, id: number, position: number, place: number): readonly Link[] | undefined {
  const bulks = frontier.remembered.get(id)
  if (bulks === undefined) return undefined
  const at = bulks.findIndex((bulk) => bulk.position === position && bulk.place === place)
  if (at < 0) return undefined
  const { links } = bulks[at]
  if (at === 0) {
    bulks.shift()
    frontier.rememberedLinks -= links.length
    if (bulks.length === 0) frontier.remembered.delete(id)
  } else if (at === bulks.length - 1) {
    bulks.pop()
    frontier.rememberedLinks -= links.length
  } else {
    // Taken from the middle (order random): what is left is no longer contiguous.
    forget(frontier, id)
  }
  return links
}

/** Puts a host where it belongs in the schedule; call after its items were applied or a contact ended. */
export function schedule(state: State, frontier: Frontier, host: number, now: Now): void {
  const dueMs = dueOf(state, frontier, host, now)
  if (dueMs === Number.POSITIVE_INFINITY) frontier.due.remove(host)
  else frontier.due.update(host, dueMs)
}

/** While its robots.txt is being fetched a host waits for it, whatever else it has slots for. */
const ASKING = HOST_FLAG.askingHttp | HOST_FLAG.askingHttps

/** Monotonic instant from which the host may be contacted; infinity where it has nothing to do or is busy. */
function dueOf(state: State, frontier: Frontier, host: number, now: Now): number {
  const { hosts } = state
  if (hosts.get(host, HOST.pending) === 0 || hosts.hasFlag(host, HOST_FLAG.lookingUp | ASKING)) {
    return Number.POSITIVE_INFINITY
  }
  // A bad host is taken at once: its URLs are to be failed, nobody is contacted.
  if (hosts.getMs(host, HOST.badUntilMs) > now.shardMs) return now.monotonicMs
  if (hosts.get(host, HOST.inFlight) >= slotsOf(state, host)) return Number.POSITIVE_INFINITY
  let readyMs = Math.max(restedMs(state, frontier, host), monotonicOf(hosts.getMs(host, HOST.blockedUntilMs), now))
  if (!hasQueued(state, host)) {
    const slot = state.waiting.firstOf(hosts, host)
    // Only suspects are left: they wait until all else is done.
    if (slot < 0) return Number.POSITIVE_INFINITY
    readyMs = Math.max(readyMs, monotonicOf(state.waiting.dueMs(slot), now))
  }
  return readyMs
}

/** Monotonic instant up to which a host is left alone: its delay after the last contact, and after the opening. */
export function restedMs(state: State, frontier: Frontier, host: number): number {
  return Math.max(state.hosts.getMs(host, HOST.contactMs), frontier.openedMs + delayOf(state, host))
}

/** A shard instant on the monotonic clock; the past is now. */
export function monotonicOf(shardMs: number, now: Now): number {
  return now.monotonicMs + Math.max(0, shardMs - now.shardMs)
}

export function hasQueued(state: State, host: number): boolean {
  const words = state.hosts.wordsOf(host)
  const row = state.hosts.rowOf(host)
  return state.queues.count(words, row + HOST.queue) > 0 || state.queues.count(words, row + HOST.queuePreferred) > 0
}

/** The settings in force for a host. */
export function settingsFor(state: State, host: number): Settings {
  for (const _ in state.settings.hosts) return settingsOfHost(state.settings, state.hosts.name(host))
  return state.settings
}

/** Pause between two contacts of a host, milliseconds. */
export function delayOf(state: State, host: number): number {
  return Math.max(settingsFor(state, host).delayMs, state.hosts.get(host, HOST.robotsDelayMs))
}

/** Requests that may be in flight to a host: one while a delay is in force. */
export function slotsOf(state: State, host: number): number {
  return delayOf(state, host) > 0 ? 1 : settingsFor(state, host).perHost
}

/** A contact ended: the delay counts from now. */
export function endContact(state: State, frontier: Frontier, host: number, answerMs: number, now: Now): void {
  const settings = settingsFor(state, host)
  const pauseMs = Math.max(delayOf(state, host), Math.min(settings.delayFactor * answerMs, settings.delayMaxMs))
  state.hosts.add(host, HOST.inFlight, -1)
  state.hosts.setMs(host, HOST.contactMs, now.monotonicMs + pauseMs)
  schedule(state, frontier, host, now)
}

/**
 * After an opening every host counts as contacted just now; all are scheduled. Every one, also those that nothing tells of
 * any more: a loss of power may have taken the claim, and the link as well.
 */
export function scheduleAll(state: State, frontier: Frontier, now: Now): void {
  frontier.openedMs = now.monotonicMs
  for (let host = 1; host <= state.hosts.count; host++) schedule(state, frontier, host, now)
}
