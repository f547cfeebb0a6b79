/**
 * One shard: a single-threaded state machine that owns the hosts it is given, with its own log and pages.
 *
 * Invariant: memory may run ahead of the disk within a turn, but a request leaves only after its claim is written, and
 * nothing else leaves before it is synced. A failed write or sync ends the process.
 *
 *     observations ─► 1 take ─► 2 decide ─► 3 evolve ─► 4 write ─► 5 start what was claimed ─► fetch, scan ─┐
 *          ▲                                    └─ when synced ─► 6 acknowledge                              │
 *          └──────────────────── one observation per claim, always, on failure too ──────────────────────────┘
 */
import { claim, claimSuspect, type RobotsClaim, suspectDueMs, type Work } from '../core/claim.ts'
import { endContact, type Now, schedule } from '../core/frontier.ts'
import { HOST, HOST_FLAG } from '../core/hosts.ts'
import { URL_STATE } from '../core/state.ts'
import { apply, observe } from './applying.ts'
import type { Arrival } from './arrival.ts'
import { checkpointNext } from './checkpointing.ts'
import { startFetches } from './fetching.ts'
import { relinkNext } from './relinking.ts'
import { sealNext } from './sealing.ts'
import { type Shard, wake } from './shard-parts.ts'
import { storeAnswer } from './storing.ts'
import { appendMark, scheduleSync } from './syncing.ts'

/** Observations settled in one turn, so that no turn takes long. */
const OBSERVATIONS_PER_TURN_MAX = 256
/** Look-ups of addresses in flight. */
const LOOKUPS_MAX = 256
/** Unsynced bytes above which claiming stops. */
const UNSYNCED_BYTES_MAX = 64 * 1024 * 1024

export function turn(shard: Shard): void {
  const now = shard.clock.now()
  appendMark(shard, now)
  const arrivals = shard.inbox.splice(0, OBSERVATIONS_PER_TURN_MAX)
  for (const arrival of arrivals) settle(shard, arrival, now)
  if (shard.isClaiming) relinkNext(shard, now)
  const work = pickWork(shard, now)

  shard.pages.write()
  shard.events.write() // with the operating system: survives this process, not the machine

  startFetches(shard, work)
  scheduleSync(shard, arrivals)
  sealNext(shard)
  checkpointNext(shard)
  if (shard.inbox.length > 0 || (shard.isClaiming && shard.state.relinks.count > 0)) wake(shard)
  else armTimer(shard, now)
  shard.onTurn()
}

/** One observation: what it means is decided, recorded and applied before the next is looked at. */
function settle(shard: Shard, arrival: Arrival, now: Now): void {
  const { state, frontier } = shard
  if (arrival.kind === 'page') {
    // An observation that comes twice, or after its claim was given back, is none.
    const { key } = arrival.claim.link
    if (shard.inFlight.get(key) !== arrival.claim) return
    shard.inFlight.delete(key)
    if (arrival.result.kind === 'answer') shard.rate.spend(arrival.result.body.length)
    observe(shard, storeAnswer(shard, arrival, now), now)
    return endContact(state, frontier, arrival.claim.host, arrival.timing.totalMs, now)
  }
  if (arrival.kind === 'robots') {
    if (shard.asked.get(askedId(arrival.claim)) !== arrival.claim) return
    shard.asked.delete(askedId(arrival.claim))
    observe(shard, arrival.observation, now)
    return endContact(state, frontier, arrival.claim.host, arrival.totalMs, now)
  }
  if (arrival.kind === 'lookup') {
    if (!state.hosts.hasFlag(arrival.host, HOST_FLAG.lookingUp)) return
    shard.lookups--
    state.hosts.setFlag(arrival.host, HOST_FLAG.lookingUp, false)
    observe(shard, arrival.observation, now)
    schedule(state, frontier, arrival.host, now)
    for (const host of frontier.stalled.splice(0)) schedule(state, frontier, host, now)
    return
  }
  observe(shard, arrival.observation, now)
}

const NO_WORK: Work = { events: [], claims: [], robots: [], lookups: [], visited: [] }

/** Claims what may be fetched now, and records it. */
function pickWork(shard: Shard, now: Now): Work {
  if (!shard.isClaiming || shard.events.unsyncedBytes + shard.pages.unsyncedBytes > UNSYNCED_BYTES_MAX) return NO_WORK
  const { state, frontier, source } = shard
  if (shard.rate.waitMs(state.settings.rateLimit, now.monotonicMs) > 0) return NO_WORK
  let work = claim(state, frontier, now, freeSlots(shard), LOOKUPS_MAX - shard.lookups, source)
  if (isNothing(work) && suspectDueMs(state, frontier, now) <= now.monotonicMs)
    work = claimSuspect(state, frontier, now, source)
  for (const event of work.events) apply(shard, event, now)
  for (const host of work.visited) schedule(state, frontier, host, now)
  for (const claimed of work.claims) shard.inFlight.set(claimed.link.key, claimed)
  for (const asked of work.robots) shard.asked.set(askedId(asked), asked)
  shard.lookups += work.lookups.length
  return work
}

/** A host has two robots.txt: one of each scheme. */
function askedId({ host, isHttps }: RobotsClaim): number {
  return host * 2 + (isHttps ? 1 : 0)
}

function isNothing(work: Work): boolean {
  return work.claims.length + work.events.length + work.robots.length + work.lookups.length === 0
}

/** Requests that may be started: free sockets, and what the budget of pages leaves. Claims in flight count. */
function freeSlots(shard: Shard): number {
  const { settings, processing, asking, pages } = shard.state
  const sockets = settings.concurrency - processing.count - asking
  if (settings.pagesMax === null) return sockets
  return Math.min(sockets, settings.pagesMax - pages - processing.count)
}

/** Wakes the shard when the next host is due. Where only a completion can free a slot, that completion wakes it. */
function armTimer(shard: Shard, now: Now): void {
  const { frontier, state } = shard
  let dueMs = frontier.due.size > 0 && freeSlots(shard) > 0 ? frontier.due.peekDue() : Number.POSITIVE_INFINITY
  dueMs = Math.min(dueMs, suspectDueMs(state, frontier, now))
  dueMs = Math.max(dueMs, now.monotonicMs + shard.rate.waitMs(state.settings.rateLimit, now.monotonicMs))
  if (!shard.isClaiming || dueMs === Number.POSITIVE_INFINITY) return
  if (shard.cancelTimer !== undefined) {
    if (shard.timerMs <= dueMs) return
    shard.cancelTimer()
  }
  shard.timerMs = dueMs
  shard.cancelTimer = shard.env.clock.after(Math.max(0, Math.ceil(dueMs - now.monotonicMs)), () => {
    shard.cancelTimer = undefined
    wake(shard)
  })
}

/** Nothing is pending, in flight or on its way: the crawl has come to its end. Seeds are the owner's to ask about. */
export function isFinished(shard: Shard): boolean {
  const { state } = shard
  return (
    state.counts[URL_STATE.pending] === 0 &&
    state.processing.count === 0 &&
    state.asking === 0 &&
    state.relinks.count === 0 &&
    shard.lookups === 0 &&
    shard.inbox.length === 0
  )
}

/**
 * Pending URLs that nothing will ever come for: a contradiction, named by its hosts.
 * @returns ids of such hosts, at most ten; [] where all is well
 */
export function strandedHosts(shard: Shard): number[] {
  const { state, frontier } = shard
  const isBusy = state.processing.count + state.asking + shard.lookups + shard.inbox.length > 0
  if (isBusy || frontier.due.size > 0 || state.waiting.suspectCount > 0) return []
  const hosts: number[] = []
  for (let host = 1; host <= state.hosts.count && hosts.length < 10; host++) {
    if (state.hosts.get(host, HOST.pending) > 0) hosts.push(host)
  }
  return hosts
}
