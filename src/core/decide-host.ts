/** The part of `decide` that concerns hosts as such: what their robots.txt and the resolver said. */
import { type CrawlEvent, ROBOTS } from './event.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import type { LookupObservation, RobotsObservation } from './observation.ts'
import { REASONS } from './reasons.ts'
import { BACKOFF_LEVEL_MAX, badHost, hostEvents, retryDelayMs } from './retry.ts'
import { crawlDelayMs, parseRobots } from './robots.ts'
import { settingsOfHost } from './settings.ts'
import type { State } from './state.ts'

/** How long a robots.txt holds, milliseconds (RFC 9309, 2.4). */
const ROBOTS_KEPT_MS = 24 * 3_600_000
const ROBOTS_BODY_MAX = 500 * 1024
const NO_BODY = new Uint8Array(0)

/** 2xx: rules. 4xx but 429, and redirects that led nowhere: all is allowed. Else the host is held, and asked again. */
export function decideRobots(state: State, observation: RobotsObservation, nowMs: number): CrawlEvent[] {
  const { host, isHttps, result } = observation
  const settings = settingsOfHost(state.settings, host)
  const attempts = Math.min(observation.attempts + 1, 255)
  const status = result.kind === 'answer' ? result.status : 0
  const known = knownDelayMs(state, observation)
  const common = { kind: KIND.robots, host, isHttps, status, attempts, body: NO_BODY } as const
  const around = hostEvents(state, host, settings, result, nowMs, 0)
  if (status >= 200 && status < 300 && result.kind === 'answer') {
    const body = result.body.subarray(0, ROBOTS_BODY_MAX)
    const askedMs = Math.min(crawlDelayMs(parseRobots(body), settings.robotsAgent) ?? 0, settings.delayMaxMs)
    const delayMs = Math.max(askedMs, known.elsewhereMs)
    return [{ ...common, verdict: ROBOTS.rules, expiresMs: nowMs + ROBOTS_KEPT_MS, delayMs, body }, ...around]
  }
  if (status >= 300 && status < 500 && status !== 429) {
    return [
      { ...common, verdict: ROBOTS.allowed, expiresMs: nowMs + ROBOTS_KEPT_MS, delayMs: known.elsewhereMs },
      ...around,
    ]
  }
  if (attempts > settings.retriesMax) {
    const expiresMs = nowMs + ROBOTS_KEPT_MS
    return [{ ...common, verdict: ROBOTS.unreachable, expiresMs, delayMs: known.delayMs }, ...around]
  }
  const expiresMs = nowMs + retryDelayMs(attempts, settings)
  return [{ ...common, verdict: ROBOTS.held, expiresMs, delayMs: known.delayMs }, ...around]
}

/**
 * The Crawl-delay in force. It is one per host, so what the http origin asks for outlives the answer of the https one.
 * @returns the host's, and as much of it as the other origin may have asked for
 */
function knownDelayMs(state: State, { hostKey, isHttps }: RobotsObservation): { delayMs: number; elsewhereMs: number } {
  const id = state.hosts.findKey(hostKey)
  if (id === 0) return { delayMs: 0, elsewhereMs: 0 }
  const delayMs = state.hosts.get(id, HOST.robotsDelayMs)
  const elsewhere = (state.hosts.get(id, HOST.robotsVerdicts) >>> (isHttps ? 0 : 8)) & 0xff
  return { delayMs, elsewhereMs: elsewhere === ROBOTS.unknown ? 0 : delayMs }
}

export function decideLookup(state: State, observation: LookupObservation, nowMs: number): CrawlEvent[] {
  const { host, hostKey, result } = observation
  // A name without addresses is none, whatever a resolver calls it: else it would be looked up for ever.
  if (result.kind === 'addresses' && result.addresses.length === 0)
    return [badHost(host, REASONS['dns.notfound'], nowMs)]
  if (result.kind === 'addresses') {
    return [{ kind: KIND.resolved, host, addresses: result.addresses, expiresMs: nowMs + result.ttlMs }]
  }
  const settings = settingsOfHost(state.settings, host)
  const id = state.hosts.findKey(hostKey)
  const level = id === 0 ? 0 : state.hosts.get(id, HOST.backoffLevel)
  // A host that has answered before backs off instead, until no pause can grow any more.
  const isAnswered = id !== 0 && state.hosts.hasFlag(id, HOST_FLAG.answered)
  const levelMax = isAnswered ? BACKOFF_LEVEL_MAX : settings.retriesMax
  if (result.class !== 'dns.temporary' || level >= levelMax) {
    return [badHost(host, REASONS[result.class], nowMs)]
  }
  return hostEvents(state, host, settings, { kind: 'trouble', class: result.class, isConnected: true }, nowMs, 0)
}
