/**
 * The part of `evolve` that concerns hosts: queues of bulks, Host2IP, BadHosts, robots.txt, delays.
 *
 * Invariant: between `enterHost` and the next `enterHost` or `leaveHost` the counts of the host are out of the digest;
 * everywhere else every entry is in it.
 */
import { CrawlError } from '../base/errors.ts'
import { addHostCounts, mixHostAddresses, mixHostBlocked, mixHostRobots } from './digest-entries.ts'
import {
  type BadHostEvent,
  type DelayEvent,
  type EventAt,
  type ResolvedEvent,
  ROBOTS,
  type RobotsEvent,
} from './event.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import type { State } from './state.ts'

/** Argument bit of `bulk` and `drained`: the preferred queue. */
export const ARG_PREFERRED = 0x80
/** Argument bit of `drained`: the index counts from the tail. */
export const ARG_FROM_TAIL = 0x40
/** Greatest index of a `drained` item. */
export const DRAINED_INDEX_MAX = 0x3f
/** Arguments of `asked`. */
export const ASKED = { http: 0, https: 1, givenBack: 2 } as const

export function enterHost(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  segment: number,
  position: number,
): void {
  const { hosts } = state
  const before = hosts.count
  const id = hosts.ensure(k0, k1, k2, k3)
  if (id === state.host) return
  leaveHost(state)
  state.host = id
  if (hosts.count > before) {
    hosts.set(id, HOST.seenSegment, segment)
    hosts.set(id, HOST.seenPosition, position)
  } else {
    addHostCounts(state.digest, hosts, id, false)
  }
}

export function leaveHost(state: State): void {
  const id = state.host
  if (id === 0) return
  addHostCounts(state.digest, state.hosts, id, true)
  state.host = 0
  if (state.isLive) state.touched.push(id)
}

/** A bulk joins a queue. Its address is position, then segment and its ordinal among the bulks of the record. */
export function addBulk(state: State, arg: number, segment: number, position: number): void {
  state.bulkOrdinal = state.bulkPosition === position && state.bulkSegment === segment ? state.bulkOrdinal + 1 : 0
  state.bulkPosition = position
  state.bulkSegment = segment
  const { hosts, queues } = state
  const words = hosts.wordsOf(state.host)
  const at = hosts.rowOf(state.host) + (arg & ARG_PREFERRED ? HOST.queuePreferred : HOST.queue)
  const replaced = arg & ~ARG_PREFERRED
  if (replaced > 0) queues.dropTail(words, at, replaced)
  queues.pushTail(words, at, position, ((segment << 16) | state.bulkOrdinal) >>> 0)
}

export function dropBulk(state: State, arg: number): void {
  const { hosts, queues } = state
  const words = hosts.wordsOf(state.host)
  const at = hosts.rowOf(state.host) + (arg & ARG_PREFERRED ? HOST.queuePreferred : HOST.queue)
  const index = arg & DRAINED_INDEX_MAX
  queues.removeAt(words, at, arg & ARG_FROM_TAIL ? queues.count(words, at) - 1 - index : index)
}

/** Kinds that say something of the host itself. */
export function applyHostItem(
  state: State,
  kind: number,
  arg: number,
  segment: number,
  position: number,
  eventAt: EventAt,
): void {
  if (kind === KIND.asked) return applyAsked(state, arg)
  const event = eventAt(segment, position)
  if (event.kind !== kind) {
    throw new CrawlError('LOG_CORRUPT', `a KEY item of kind ${kind} points to a record of kind ${event.kind}`, {
      segment,
      offset: position,
    })
  }
  if (event.kind === KIND.resolved) applyResolved(state, event)
  else if (event.kind === KIND.badhost) applyBadHost(state, event)
  else if (event.kind === KIND.robots) applyRobots(state, event, segment, position)
  else if (event.kind === KIND.delay) applyDelay(state, event)
}

function applyAsked(state: State, arg: number): void {
  const { hosts, host } = state
  const flags = HOST_FLAG.askingHttp | HOST_FLAG.askingHttps
  const before = hosts.get(host, HOST.flags) & flags
  if (arg === ASKED.givenBack) {
    state.asking -= (before & HOST_FLAG.askingHttp ? 1 : 0) + (before & HOST_FLAG.askingHttps ? 1 : 0)
    hosts.setFlag(host, flags, false)
  } else {
    hosts.setFlag(host, arg === ASKED.https ? HOST_FLAG.askingHttps : HOST_FLAG.askingHttp, true)
    state.asking++
  }
}

function applyResolved(state: State, event: ResolvedEvent): void {
  const { hosts, host, digest } = state
  if (hosts.get(host, HOST.addresses) !== 0) {
    mixHostAddresses(digest, hosts, host)
    digest.subtract()
  } else {
    state.resolvedHosts++
  }
  hosts.setName(host, event.host)
  hosts.setAddresses(host, event.addresses)
  hosts.setMs(host, HOST.resolvedUntilMs, event.expiresMs)
  mixHostAddresses(digest, hosts, host)
  digest.add()
}

function applyBadHost(state: State, event: BadHostEvent): void {
  const { hosts, host, queues } = state
  // An instant of 0 clears it: an operator's retry, or the expiry.
  const wasBad = hosts.getMs(host, HOST.badUntilMs) > 0
  state.badHosts += (event.untilMs > 0 ? 1 : 0) - (wasBad ? 1 : 0)
  changeBlocked(state, HOST.badUntilMs, event.untilMs)
  hosts.setName(host, event.host)
  hosts.set(host, HOST.badReason, event.reason)
  if (!event.isLast) return
  // Its queued URLs fail by the items that follow; their links stay where they are, found by their addresses.
  queues.clear(hosts.wordsOf(host), hosts.rowOf(host) + HOST.queue)
  queues.clear(hosts.wordsOf(host), hosts.rowOf(host) + HOST.queuePreferred)
}

function applyRobots(state: State, event: RobotsEvent, segment: number, position: number): void {
  const { hosts, host } = state
  const { isHttps } = event
  const untilField = isHttps ? HOST.robotsHttpsUntilMs : HOST.robotsHttpUntilMs
  // The Crawl-delay is in both entries, so both leave the digest and come back.
  withRobots(state, false)
  const shift = isHttps ? 8 : 0
  const verdicts = hosts.get(host, HOST.robotsVerdicts)
  // While it is held the attempts count on; an answer that settles it starts anew.
  const attempts = event.verdict === ROBOTS.held ? event.attempts : 0
  const mask = (0xff << shift) | (0xff << (shift + 16))
  hosts.set(
    host,
    HOST.robotsVerdicts,
    ((verdicts & ~mask) | (event.verdict << shift) | (attempts << (shift + 16))) >>> 0,
  )
  hosts.set(host, HOST.robotsDelayMs, event.delayMs)
  hosts.setMs(host, untilField, event.expiresMs)
  hosts.set(host, isHttps ? HOST.robotsHttpsSegment : HOST.robotsHttpSegment, segment)
  hosts.set(host, isHttps ? HOST.robotsHttpsPosition : HOST.robotsHttpPosition, position)
  withRobots(state, true)
  const asking = isHttps ? HOST_FLAG.askingHttps : HOST_FLAG.askingHttp
  if (hosts.hasFlag(host, asking)) {
    state.asking--
    hosts.setFlag(host, asking, false)
  }
  if (event.status > 0) hosts.setFlag(host, HOST_FLAG.answered, true)
  hosts.setName(host, event.host)
}

function withRobots(state: State, isAdded: boolean): void {
  const { hosts, host, digest } = state
  for (const isHttps of [false, true]) {
    if (((hosts.get(host, HOST.robotsVerdicts) >>> (isHttps ? 8 : 0)) & 0xff) === 0) continue
    mixHostRobots(digest, hosts, host, isHttps)
    if (isAdded) digest.add()
    else digest.subtract()
  }
}

function applyDelay(state: State, event: DelayEvent): void {
  changeBlocked(state, HOST.blockedUntilMs, event.untilMs)
  state.hosts.set(state.host, HOST.backoffLevel, event.level)
  state.hosts.setName(state.host, event.host)
}

function changeBlocked(state: State, field: number, untilMs: number): void {
  const { hosts, host, digest } = state
  if (isBlockedKnown(state)) {
    mixHostBlocked(digest, hosts, host)
    digest.subtract()
  }
  hosts.setMs(host, field, untilMs)
  if (isBlockedKnown(state)) {
    mixHostBlocked(digest, hosts, host)
    digest.add()
  }
}

function isBlockedKnown(state: State): boolean {
  return (
    state.hosts.getMs(state.host, HOST.blockedUntilMs) !== 0 || state.hosts.getMs(state.host, HOST.badUntilMs) !== 0
  )
}
