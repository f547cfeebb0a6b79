/**
 * Claims: picks the URLs that may be fetched now. A host is held from its claim until the observation, and for the
 * delay after it, which is the politeness (as in BUbiNG's workbench).
 *
 * Deterministic given the state, the schedule and what the log holds: links are read through `LinkSource`.
 */
import { CrawlError } from '../base/errors.ts'
import { type Key, keyFromWords, keyOf, word } from '../base/md5.ts'
import { scopeOf } from './admission.ts'
import {
  type BadHostEvent,
  type ClaimEvent,
  type ClaimGroup,
  type CrawlEvent,
  type Link,
  type LinkGroup,
  ROBOTS,
} from './event.ts'
import { ARG_FROM_TAIL, ARG_PREFERRED, DRAINED_INDEX_MAX } from './evolve-host.ts'
import {
  closeOpen,
  type Frontier,
  forget,
  monotonicOf,
  type Now,
  type OpenBulk,
  queueId,
  recall,
  restedMs,
  setOpen,
  settingsFor,
  slotsOf,
} from './frontier.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import { allowedAddresses } from './reach.ts'
import { REASONS, type Refusal } from './reasons.ts'
import { isAllowed, type Robots } from './robots.ts'
import { admits } from './scope.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_WAITING, URL_WORD } from './state.ts'
import { originOf, pathOf } from './url.ts'

/** Reads what the log holds; `shard/` implements it over the log's cache and the disk. */
export interface LinkSource {
  /** All links of a bulk. One read, two where the record is long. */
  bulk(segment: number, position: number, ordinal: number): readonly Link[]
  /** The link of one URL, wherever its record keeps it. */
  link(segment: number, position: number, key: Key): Link
  /** The rules of a `robots` record. */
  robots(segment: number, position: number): Robots
  hostName(host: number): string
  /** A number in [0, 2³²), for order `random`. */
  random(): number
}

/** A request to be made. */
export interface Claim {
  readonly link: Link
  readonly host: number
  /** Requests made for it before. */
  readonly attempts: number
  /** Addresses that may be connected to, in this order; at least one. */
  readonly addresses: readonly string[]
}

export interface RobotsClaim {
  readonly host: number
  readonly isHttps: boolean
  /** Requests made for it since it was last known. */
  readonly attempts: number
  readonly addresses: readonly string[]
}

/** What `claim` came to: events to apply first, in this order; then the effects. */
export interface Work {
  readonly events: CrawlEvent[]
  readonly claims: Claim[]
  readonly robots: RobotsClaim[]
  /** Hosts whose addresses are to be looked up. */
  readonly lookups: number[]
  /** Hosts taken off the schedule: to be scheduled again once the events are applied. */
  readonly visited: number[]
}

/** Keys per `badhost` record: 1 MiB. */
const BAD_HOST_KEYS_MAX = 65_536

/** URLs refused in one turn; a queue that a changed rule empties takes several. Their record stays below 4 MiB. */
const REFUSALS_PER_TURN_MAX = 1000

interface Picking {
  refusedCount: number
  readonly state: State
  readonly frontier: Frontier
  readonly now: Now
  readonly source: LinkSource
  readonly work: Work
  readonly groups: ClaimGroup[]
  readonly refused: Map<number, LinkGroup[]>
}

/**
 * @param claimsMax  free slots; 0 gives nothing
 * @param lookupsMax look-ups that may be started
 * @returns at most `claimsMax` claims and robots fetches together, earliest due host first; each host at most once
 * Cost: O(claims · log hosts), and a read per bulk opened. Errors: LOG_CORRUPT where a bulk holds what was never admitted.
 */
export function claim(
  state: State,
  frontier: Frontier,
  now: Now,
  claimsMax: number,
  lookupsMax: number,
  source: LinkSource,
): Work {
  const work: Work = { events: [], claims: [], robots: [], lookups: [], visited: [] }
  const picking: Picking = { state, frontier, now, source, work, groups: [], refused: new Map(), refusedCount: 0 }
  while (frontier.due.size > 0 && frontier.due.peekDue() <= now.monotonicMs) {
    const free = claimsMax - work.claims.length - work.robots.length
    if (free <= 0) break
    const host = frontier.due.popId()
    pickFromHost(picking, host, free, lookupsMax)
  }
  for (const [reason, groups] of picking.refused) work.events.push({ kind: KIND.refused, reason, groups })
  if (picking.groups.length > 0) work.events.push({ kind: KIND.claim, groups: picking.groups } satisfies ClaimEvent)
  return work
}

function pickFromHost(picking: Picking, host: number, free: number, lookupsMax: number): void {
  const { state, frontier, now, work, source } = picking
  const { hosts } = state
  if (isUnresolved(state, host, now) && !isBad(state, host, now)) {
    // Passed over for want of look-ups: it stays due, and is taken up when one ends.
    if (work.lookups.length >= lookupsMax) return void frontier.stalled.push(host)
    startLookup(state, host, source, work)
    return
  }
  work.visited.push(host)
  if (isBad(state, host, now)) work.events.push(...failQueued(picking, host))
  else pickLinks(picking, host, Math.min(free, slotsOf(state, host) - hosts.get(host, HOST.inFlight)))
}

function isBad(state: State, host: number, now: Now): boolean {
  return state.hosts.getMs(host, HOST.badUntilMs) > now.shardMs
}

function isUnresolved(state: State, host: number, now: Now): boolean {
  return state.hosts.get(host, HOST.addresses) === 0 || state.hosts.getMs(host, HOST.resolvedUntilMs) <= now.shardMs
}

function startLookup(state: State, host: number, source: LinkSource, work: Work): void {
  if (state.hosts.get(host, HOST.name) === 0) state.hosts.setName(host, source.hostName(host))
  state.hosts.setFlag(host, HOST_FLAG.lookingUp, true)
  work.lookups.push(host)
}

/** Claims up to `countMax` links of a host: those that came back and are due, then its queues. */
function pickLinks(picking: Picking, host: number, countMax: number): void {
  const { state, now, work } = picking
  const keys: Key[] = []
  const drained: number[] = []
  const asks = { http: false, https: false }
  while (keys.length < countMax && picking.refusedCount < REFUSALS_PER_TURN_MAX) {
    const candidate = nextCandidate(picking, host, drained, keys)
    if (candidate === undefined) break
    const verdict = judge(picking, host, candidate.link)
    if (verdict.kind === 'ask' || verdict.kind === 'hold') {
      candidate.putBack()
      if (verdict.kind === 'hold') state.hosts.setMs(host, HOST.contactMs, monotonicOf(verdict.untilMs, now))
      else startAsking(picking, host, verdict, asks)
      break
    }
    if (verdict.kind === 'refuse') refuse(picking, host, candidate.link, verdict.reason)
    else {
      keys.push(candidate.link.key)
      const { link, attempts } = candidate
      work.claims.push({ link, host, attempts, addresses: verdict.addresses })
      state.hosts.add(host, HOST.inFlight, 1)
    }
  }
  if (keys.length === 0 && drained.length === 0 && !asks.http && !asks.https) return
  picking.groups.push({ hostKey: state.hosts.keyOf(host), drained, keys, asksHttp: asks.http, asksHttps: asks.https })
}

/** One fetch of a robots.txt in flight per origin: the host waits for it. */
function startAsking(
  picking: Picking,
  host: number,
  { isHttps, addresses }: { readonly isHttps: boolean; readonly addresses: readonly string[] },
  asks: { http: boolean; https: boolean },
): void {
  const { hosts } = picking.state
  if (hosts.hasFlag(host, isHttps ? HOST_FLAG.askingHttps : HOST_FLAG.askingHttp)) return
  asks[isHttps ? 'https' : 'http'] = true
  hosts.add(host, HOST.inFlight, 1)
  const attempts = (hosts.get(host, HOST.robotsVerdicts) >>> (isHttps ? 24 : 16)) & 0xff
  picking.work.robots.push({ host, isHttps, attempts, addresses })
}

interface Candidate {
  readonly link: Link
  readonly attempts: number
  readonly putBack: () => void
}

/** The next link of a host: the first waiting one that is due, else the next of its queues. */
function nextCandidate(
  picking: Picking,
  host: number,
  drained: number[],
  taken: readonly Key[],
): Candidate | undefined {
  return nextWaiting(picking, host, taken) ?? nextQueued(picking, host, drained)
}

function nextWaiting(picking: Picking, host: number, taken: readonly Key[]): Candidate | undefined {
  const { state, now, refused } = picking
  const { waiting, hosts } = state
  for (let slot = waiting.firstOf(hosts, host); slot >= 0; slot = waiting.next(slot)) {
    if (waiting.dueMs(slot) > now.shardMs) return undefined
    const key = keyFromWords(
      waiting.keyWord(slot, 0),
      waiting.keyWord(slot, 1),
      waiting.keyWord(slot, 2),
      waiting.keyWord(slot, 3),
    )
    // Its items are not applied yet: what this turn took already still stands in the list.
    if (taken.includes(key) || isRefusedNow(refused, key)) continue
    return waitingCandidate(picking, slot, key)
  }
  return undefined
}

function isRefusedNow(refused: ReadonlyMap<number, LinkGroup[]>, key: Key): boolean {
  for (const groups of refused.values()) {
    if (groups.some((group) => group.links.some((link) => link.key === key))) return true
  }
  return false
}

function waitingCandidate(picking: Picking, slot: number, key: Key): Candidate {
  const { state, source } = picking
  const handle = state.urls.findKey(key)
  const rest = state.urls.word(handle, URL_WORD.rest)
  const link = source.link(segmentOf(rest), state.urls.word(handle, URL_WORD.position), key)
  return { link: withDepth(link, rest), attempts: state.waiting.attempts(slot), putBack: () => {} }
}

/** The table knows the depth better than the bulk: a shorter way may have been found since. */
function withDepth(link: Link, rest: number): Link {
  const depth = depthOf(rest)
  return depth === link.depth ? link : { ...link, depth }
}

function nextQueued(picking: Picking, host: number, drained: number[]): Candidate | undefined {
  return nextOfQueue(picking, host, true, drained) ?? nextOfQueue(picking, host, false, drained)
}

function nextOfQueue(picking: Picking, host: number, isPreferred: boolean, drained: number[]): Candidate | undefined {
  const { state, frontier } = picking
  const id = queueId(host, isPreferred)
  for (;;) {
    const bulk = currentBulk(picking, host, isPreferred, drained)
    if (bulk === undefined) return undefined
    while (bulk.next < bulk.links.length) {
      const link = bulk.links[bulk.next++]
      const handle = state.urls.findKey(link.key)
      if (handle < 0) throw neverAdmitted(bulk, link)
      const rest = state.urls.word(handle, URL_WORD.rest)
      if (!isQueuedHere(state, handle, rest, bulk)) continue
      const putBack = (): void => {
        bulk.next--
        if (frontier.open.get(id) !== bulk) setOpen(frontier, id, bulk)
        const at = drained.lastIndexOf(bulk.drained)
        if (at >= 0 && at === drained.length - 1 && bulk.next === bulk.links.length - 1) drained.pop()
      }
      if (bulk.next === bulk.links.length) close(frontier, id, bulk, drained)
      return { link: withDepth(link, rest), attempts: 0, putBack }
    }
    close(frontier, id, bulk, drained)
  }
}

function close(frontier: Frontier, id: number, bulk: OpenBulk, drained: number[]): void {
  drained.push(bulk.drained)
  closeOpen(frontier, id)
}

function neverAdmitted(bulk: OpenBulk, link: Link): CrawlError {
  return new CrawlError(
    'LOG_CORRUPT',
    `a queued bulk holds a URL that was never admitted: ${JSON.stringify(link.url)}`,
    {
      segment: bulk.place >>> 16,
      offset: bulk.position,
    },
  )
}

/** The same of a link; one that was never admitted is told when its turn comes. */
function isQueuedAt(state: State, { key }: Link, position: number, place: number): boolean {
  const handle = state.urls.findKey(key)
  return handle < 0 || isQueuedHere(state, handle, state.urls.word(handle, URL_WORD.rest), { position, place })
}

/** Whether this bulk is where the URL waits to be claimed: not one it has left since, by a retry or a gathering. */
function isQueuedHere(
  state: State,
  handle: number,
  rest: number,
  bulk: { readonly position: number; readonly place: number },
): boolean {
  return (
    stateOf(rest) === URL_STATE.pending &&
    (rest & URL_WAITING) === 0 &&
    segmentOf(rest) === bulk.place >>> 16 &&
    state.urls.word(handle, URL_WORD.position) === bulk.position
  )
}

/** The bulk being claimed from, opened where there is none; undefined where the queue is empty. */
function currentBulk(
  picking: Picking,
  host: number,
  isPreferred: boolean,
  drained: readonly number[],
): OpenBulk | undefined {
  const { state, frontier } = picking
  const { hosts, queues } = state
  const id = queueId(host, isPreferred)
  const words = hosts.wordsOf(host)
  const at = hosts.rowOf(host) + (isPreferred ? HOST.queuePreferred : HOST.queue)
  // Bulks drained in this turn are still in the queue: their items are applied after it.
  const gone = drained.filter((arg) => ((arg & ARG_PREFERRED) !== 0) === isPreferred)
  const count = queues.count(words, at) - gone.length
  const open = frontier.open.get(id)
  if (open !== undefined && !isOvertaken(state, open, words, at, gone.length)) return open
  // In order `random` a drained bulk may lie anywhere before this one: the next turn goes on.
  if (count <= 0 || (gone.length > 0 && state.settings.order === 'random')) return undefined
  const index = chooseBulk(picking, count)
  const fromTail = state.settings.order === 'depth'
  // What was drained before it shifts the places: from the head one each, from the tail likewise.
  const place = (fromTail ? 0 : index) + gone.length
  const found = fromTail ? queues.getFromTail(words, at, place) : queues.get(words, at, place)
  if (!found) return undefined
  const arg = (isPreferred ? ARG_PREFERRED : 0) | (fromTail ? ARG_FROM_TAIL : index)
  return openBulk(picking, id, queues.word0, queues.word1, arg)
}

/** Depth-first: a bulk that joined the tail since comes before the one that is open. */
function isOvertaken(state: State, open: OpenBulk, words: Uint32Array, at: number, goneCount: number): boolean {
  if ((open.drained & ARG_FROM_TAIL) === 0) return false
  return (
    !state.queues.getFromTail(words, at, goneCount) ||
    state.queues.word0 !== open.position ||
    state.queues.word1 !== open.place
  )
}

/** Index from the head (from the tail with order `depth`) of the bulk to open. */
function chooseBulk(picking: Picking, count: number): number {
  if (picking.state.settings.order !== 'random') return 0
  return picking.source.random() % Math.min(count, DRAINED_INDEX_MAX + 1)
}

function openBulk(picking: Picking, id: number, position: number, place: number, arg: number): OpenBulk {
  const { frontier, source, state } = picking
  const links = recall(frontier, id, position, place) ?? source.bulk(place >>> 16, position, place & 0xffff)
  // Only what waits is mixed: links that have left the bulk, or that a compaction left out, cost no random number.
  const mixed = (): Link[] =>
    shuffled(
      links.filter((link) => isQueuedAt(state, link, position, place)),
      source,
    )
  const open: OpenBulk = {
    position,
    place,
    drained: arg,
    links: state.settings.order === 'random' ? mixed() : links,
    next: 0,
  }
  setOpen(frontier, id, open)
  return open
}

function shuffled(links: readonly Link[], source: LinkSource): Link[] {
  const mixed = [...links]
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = source.random() % (i + 1)
    ;[mixed[i], mixed[j]] = [mixed[j], mixed[i]]
  }
  return mixed
}

type Verdict =
  | { readonly kind: 'go'; readonly addresses: readonly string[] }
  | { readonly kind: 'refuse'; readonly reason: number }
  | { readonly kind: 'ask'; readonly isHttps: boolean; readonly addresses: readonly string[] }
  | { readonly kind: 'hold'; readonly untilMs: number }

/** Rules may have changed since the link was admitted, so scope is asked again; then addresses, then robots.txt. */
function judge(picking: Picking, host: number, link: Link): Verdict {
  const { state, frontier } = picking
  const refusal = scopeRefusal(state, link)
  if (refusal !== undefined) return { kind: 'refuse', reason: REASONS[refusal] }
  const addresses = allowedAddresses(state, frontier, originOf(link.url), host)
  if (addresses.length === 0) return { kind: 'refuse', reason: REASONS['address.forbidden'] }
  if (!settingsFor(state, host).robots) return { kind: 'go', addresses }
  return judgeByRobots(picking, host, link, addresses)
}

function scopeRefusal(state: State, link: Link): Refusal | undefined {
  const scope = scopeOf(state.settings)
  if (link.seed) return admits(scope, link.url, 0, () => true)
  // A redirect from a seed has depth 0 and is a seed; any other URL of depth 0 was one once.
  return admits(scope, link.url, Math.max(link.depth, 1), (key) => state.scopeKeys.findKey(keyOf(key)) >= 0)
}

function judgeByRobots(picking: Picking, host: number, link: Link, addresses: readonly string[]): Verdict {
  const { state, now } = picking
  const { hosts } = state
  const isHttps = link.url.charCodeAt(4) === 0x73
  const verdict = (hosts.get(host, HOST.robotsVerdicts) >>> (isHttps ? 8 : 0)) & 0xff
  const untilMs = hosts.getMs(host, isHttps ? HOST.robotsHttpsUntilMs : HOST.robotsHttpUntilMs)
  if (verdict === ROBOTS.unknown) return { kind: 'ask', isHttps, addresses }
  if (verdict === ROBOTS.held && untilMs > now.shardMs) return { kind: 'hold', untilMs }
  if (untilMs <= now.shardMs) return { kind: 'ask', isHttps, addresses }
  if (verdict === ROBOTS.unreachable) return { kind: 'refuse', reason: REASONS['robots.unreachable'] }
  if (verdict === ROBOTS.allowed) return { kind: 'go', addresses }
  const robots = picking.source.robots(
    hosts.get(host, isHttps ? HOST.robotsHttpsSegment : HOST.robotsHttpSegment),
    hosts.get(host, isHttps ? HOST.robotsHttpsPosition : HOST.robotsHttpPosition),
  )
  const { robotsAgent } = settingsFor(state, host)
  if (isAllowed(robots, robotsAgent, pathOf(link.url))) return { kind: 'go', addresses }
  return { kind: 'refuse', reason: REASONS['robots.denied'] }
}

function refuse(picking: Picking, host: number, link: Link, reason: number): void {
  const { state, refused, source } = picking
  picking.refusedCount++
  let groups = refused.get(reason)
  if (groups === undefined) {
    groups = []
    refused.set(reason, groups)
  }
  const hostKey = state.hosts.keyOf(host)
  const last = groups.at(-1)
  if (last !== undefined && last.hostKey === hostKey) (last.links as Link[]).push(link)
  else groups.push({ host: source.hostName(host), hostKey, isPreferred: false, links: [link] })
}

/** All that is pending at a bad host, as failed. */
function failQueued(picking: Picking, host: number): BadHostEvent[] {
  const { state, frontier, source } = picking
  const { hosts, waiting } = state
  const keys: Key[] = []
  for (const isPreferred of [true, false]) {
    collectQueued(picking, host, isPreferred, keys)
    closeOpen(frontier, queueId(host, isPreferred))
    forget(frontier, queueId(host, isPreferred))
  }
  for (let slot = waiting.firstOf(hosts, host); slot >= 0; slot = waiting.next(slot)) keys.push(keyInSlot(state, slot))
  for (let slot = waiting.firstSuspect; slot >= 0; slot = waiting.next(slot)) {
    if (waiting.host(slot) === host) keys.push(keyInSlot(state, slot))
  }
  const name = source.hostName(host)
  const events: BadHostEvent[] = []
  for (let from = 0; from === 0 || from < keys.length; from += BAD_HOST_KEYS_MAX) {
    events.push({
      kind: KIND.badhost,
      host: name,
      reason: hosts.get(host, HOST.badReason),
      untilMs: hosts.getMs(host, HOST.badUntilMs),
      keys: keys.slice(from, from + BAD_HOST_KEYS_MAX),
      isLast: from + BAD_HOST_KEYS_MAX >= keys.length,
    })
  }
  return events
}

function keyInSlot(state: State, slot: number): Key {
  const { waiting } = state
  return keyFromWords(
    waiting.keyWord(slot, 0),
    waiting.keyWord(slot, 1),
    waiting.keyWord(slot, 2),
    waiting.keyWord(slot, 3),
  )
}

function collectQueued(picking: Picking, host: number, isPreferred: boolean, keys: Key[]): void {
  const { state, source } = picking
  const { hosts, queues, urls } = state
  const at = hosts.rowOf(host) + (isPreferred ? HOST.queuePreferred : HOST.queue)
  const places: Array<readonly [number, number]> = []
  queues.forEach(hosts.wordsOf(host), at, (position, place) => places.push([position, place]))
  for (const [position, place] of places) {
    for (const link of source.bulk(place >>> 16, position, place & 0xffff)) {
      const handle = urls.find(word(link.key, 0), word(link.key, 1), word(link.key, 2), word(link.key, 3))
      const bulk: OpenBulk = { position, place, drained: 0, links: [], next: 0 }
      if (handle < 0) throw neverAdmitted(bulk, link)
      if (isQueuedHere(state, handle, urls.word(handle, URL_WORD.rest), bulk)) keys.push(link.key)
    }
  }
}

/** Monotonic instant at which the oldest suspect may be claimed; infinity where other things come first. */
export function suspectDueMs(state: State, frontier: Frontier, now: Now): number {
  const slot = state.waiting.firstSuspect
  const isAlone = state.counts[URL_STATE.pending] === state.waiting.suspectCount
  if (slot < 0 || !isAlone || state.processing.count > 0 || state.asking > 0) return Number.POSITIVE_INFINITY
  const host = state.waiting.host(slot)
  if (state.hosts.hasFlag(host, HOST_FLAG.lookingUp)) return Number.POSITIVE_INFINITY
  const blockedMs = monotonicOf(state.hosts.getMs(host, HOST.blockedUntilMs), now)
  return Math.max(restedMs(state, frontier, host), blockedMs, monotonicOf(state.waiting.dueMs(slot), now))
}

/** The oldest suspect, claimed last and alone: call when `suspectDueMs` has come. */
export function claimSuspect(state: State, frontier: Frontier, now: Now, source: LinkSource): Work {
  const { waiting } = state
  const work: Work = { events: [], claims: [], robots: [], lookups: [], visited: [] }
  const slot = waiting.firstSuspect
  const host = waiting.host(slot)
  const picking: Picking = { state, frontier, now, source, work, groups: [], refused: new Map(), refusedCount: 0 }
  if (isBad(state, host, now)) work.events.push(...failQueued(picking, host))
  else if (isUnresolved(state, host, now)) startLookup(state, host, source, work)
  else pickSuspect(picking, host, slot)
  return work
}

function pickSuspect(picking: Picking, host: number, slot: number): void {
  const { state, frontier, work } = picking
  const { hosts } = state
  const key = keyInSlot(state, slot)
  const { link, attempts } = waitingCandidate(picking, slot, key)
  const addresses = allowedAddresses(state, frontier, originOf(link.url), host)
  if (addresses.length === 0) {
    refuse(picking, host, link, REASONS['address.forbidden'])
    for (const [reason, groups] of picking.refused) work.events.push({ kind: KIND.refused, reason, groups })
    return
  }
  hosts.add(host, HOST.inFlight, 1)
  const group = { hostKey: hosts.keyOf(host), drained: [], keys: [key], asksHttp: false, asksHttps: false }
  work.events.push({ kind: KIND.claim, groups: [group] })
  work.claims.push({ link, host, attempts, addresses })
}
