/** Hosts that have URLs pending and may not be contacted yet: who is waited for, why, and until when. */
import { ROBOTS } from '../core/event.ts'
import { hasQueued } from '../core/frontier.ts'
import { HOST } from '../core/hosts.ts'
import type { State } from '../core/state.ts'

export interface WaitingHost {
  readonly host: string
  /** ISO 8601, UTC. */
  readonly until: string
  /** `pause` (asked for by the host, or after its failures), `robots` (robots.txt could not be had), `retry`. */
  readonly why: 'pause' | 'robots' | 'retry'
  readonly pending: number
}

export interface WaitingHosts {
  /** Hosts with URLs pending. */
  readonly withPending: number
  /** Those of them that wait. */
  readonly waiting: number
  /** The first few, the soonest first. */
  readonly first: readonly WaitingHost[]
  /** When the last of them may be contacted; '' where none waits. */
  readonly lastUntil: string
}

/** Hosts named. */
const FIRST_MAX = 10

interface Wait {
  readonly host: number
  readonly untilMs: number
  readonly why: WaitingHost['why']
}

/**
 * The pauses of plain politeness, a second or so each, are not told: they are how every crawl goes.
 *
 * @param nowMs  shard time. Cost: one look at every host; names of the few that are told.
 */
export function waitingHosts(state: State, nameOf: (host: number) => string, nowMs: number): WaitingHosts {
  const { hosts } = state
  let withPending = 0
  let waiting = 0
  let lastMs = 0
  const first: Wait[] = []
  for (let host = 1; host <= hosts.count; host++) {
    if (hosts.get(host, HOST.pending) === 0) continue
    withPending++
    const wait = waitOf(state, host, nowMs)
    if (wait === undefined) continue
    waiting++
    lastMs = Math.max(lastMs, wait.untilMs)
    enter(first, wait)
  }
  const lastUntil = lastMs === 0 ? '' : new Date(lastMs).toISOString()
  return { withPending, waiting, first: first.map((wait) => named(state, wait, nameOf)), lastUntil }
}

/** Keeps the soonest, in order. */
function enter(first: Wait[], wait: Wait): void {
  const at = first.findIndex(({ untilMs }) => untilMs > wait.untilMs)
  if (at < 0) first.push(wait)
  else first.splice(at, 0, wait)
  if (first.length > FIRST_MAX) first.pop()
}

/** The reason that lasts longest. */
function waitOf(state: State, host: number, nowMs: number): Wait | undefined {
  const reasons = [
    { why: 'pause', untilMs: state.hosts.getMs(host, HOST.blockedUntilMs) },
    { why: 'robots', untilMs: robotsHeldUntilMs(state, host) },
    { why: 'retry', untilMs: retryDueMs(state, host) },
  ] as const
  const longest = reasons.reduce((a, b) => (b.untilMs > a.untilMs ? b : a))
  return longest.untilMs > nowMs ? { host, ...longest } : undefined
}

/** 0 where robots.txt does not hold the host. */
function robotsHeldUntilMs({ hosts }: State, host: number): number {
  const verdicts = hosts.get(host, HOST.robotsVerdicts)
  const httpMs = (verdicts & 0xff) === ROBOTS.held ? hosts.getMs(host, HOST.robotsHttpUntilMs) : 0
  const httpsMs = ((verdicts >>> 8) & 0xff) === ROBOTS.held ? hosts.getMs(host, HOST.robotsHttpsUntilMs) : 0
  return Math.max(httpMs, httpsMs)
}

/** 0 where the host has URLs queued, or none that came back. */
function retryDueMs(state: State, host: number): number {
  if (hasQueued(state, host)) return 0
  const slot = state.waiting.firstOf(state.hosts, host)
  return slot < 0 ? 0 : state.waiting.dueMs(slot)
}

function named(state: State, { host, untilMs, why }: Wait, nameOf: (host: number) => string): WaitingHost {
  return {
    host: nameOf(host),
    until: new Date(untilMs).toISOString(),
    why,
    pending: state.hosts.get(host, HOST.pending),
  }
}
