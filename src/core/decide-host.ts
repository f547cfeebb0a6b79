/** The part of `decide` that concerns hosts as such: what their robots.txt and the resolver said. */
import { type CrawlEvent, ROBOTS } from './event.ts'
import { HOST } from './hosts.ts'
import { KIND } from './kind.ts'
import type { LookupObservation, RobotsObservation } from './observation.ts'
import { REASONS } from './reasons.ts'
import { badHost, hostEvents, retryDelayMs } from './retry.ts'
import { crawlDelayMs, parseRobots } from './robots.ts'
import { settingsOfHost } from './settings.ts'
import type { State } from './state.ts'

/** How long a robots.txt holds, milliseconds (RFC 9309, 2.4). */
export const ROBOTS_KEPT_MS = 24 * 3_600_000
const ROBOTS_BODY_MAX = 500 * 1024
const NO_BODY = new Uint8Array(0)

/** 2xx: rules. 4xx but 429, and redirects that led nowhere: all is allowed. Else the host is held, and asked again. */
export function decideRobots(state: State, observation: RobotsObservation, nowMs: number): CrawlEvent[] {
  const { host, isHttps, result } = observation
  const settings = settingsOfHost(state.settings, host)
  const attempts = Math.min(observation.attempts + 1, 255)
  const status = result.kind === 'answer' ? result.status : 0
  const common = { kind: KIND.robots, host, isHttps, status, attempts, delayMs: 0, body: NO_BODY } as const
  const around = hostEvents(state, host, settings, result, nowMs, 0)
  if (status >= 200 && status < 300 && result.kind === 'answer') {
    const body = result.body.subarray(0, ROBOTS_BODY_MAX)
    const delayMs = Math.min(crawlDelayMs(parseRobots(body), settings.robotsAgent) ?? 0, settings.delayMaxMs)
    return [{ ...common, verdict: ROBOTS.rules, expiresMs: nowMs + ROBOTS_KEPT_MS, delayMs, body }, ...around]
  }
  if (status >= 300 && status < 500 && status !== 429) {
    return [{ ...common, verdict: ROBOTS.allowed, expiresMs: nowMs + ROBOTS_KEPT_MS }, ...around]
  }
  if (attempts > settings.retriesMax) {
    return [{ ...common, verdict: ROBOTS.unreachable, expiresMs: nowMs + ROBOTS_KEPT_MS }, ...around]
  }
  const expiresMs = nowMs + retryDelayMs(attempts, settings)
  return [{ ...common, verdict: ROBOTS.held, expiresMs }, ...around]
}

export function decideLookup(state: State, observation: LookupObservation, nowMs: number): CrawlEvent[] {
  const { host, hostKey, result } = observation
  if (result.kind === 'addresses') {
    return [{ kind: KIND.resolved, host, addresses: result.addresses, expiresMs: nowMs + result.ttlMs }]
  }
  const settings = settingsOfHost(state.settings, host)
  const id = state.hosts.findKey(hostKey)
  const level = id === 0 ? 0 : state.hosts.get(id, HOST.backoffLevel)
  if (result.class !== 'dns.temporary' || level >= settings.retriesMax) {
    return [badHost(host, REASONS[result.class], nowMs)]
  }
  return hostEvents(state, host, settings, { kind: 'trouble', class: result.class, isConnected: true }, nowMs, 0)
}
