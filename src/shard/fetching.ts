/**
 * Starts what was claimed and turns each result into one arrival. Called after the claims are written.
 *
 * A host with several addresses is tried at the next one where nobody accepts a connection.
 */
import type { Claim, RobotsClaim, Work } from '../core/claim.ts'
import { settingsFor } from '../core/frontier.ts'
import type { Trouble } from '../core/observation.ts'
import type { Settings } from '../core/settings.ts'
import { hostnameOf } from '../core/url.ts'
import type { FetchLimits, FetchRequest, FetchResult } from '../env/web.ts'
import type { Arrival } from './arrival.ts'
import { readAnswer } from './reading.ts'
import { fetchRobots } from './robots-fetching.ts'
import { type Shard, wake } from './shard.ts'

export function startFetches(shard: Shard, work: Work): void {
  for (const claim of work.claims) fetchPage(shard, claim)
  for (const asked of work.robots) startRobots(shard, asked)
  for (const host of work.lookups) startLookup(shard, host)
}

function arrive(shard: Shard, arrival: Arrival): void {
  if (shard.hasEnded) return
  shard.inbox.push(arrival)
  wake(shard)
}

function fetchPage(shard: Shard, claim: Claim): void {
  const { env, state } = shard
  const settings = settingsFor(state, claim.host)
  fetchAtFirst(shard, claim.link.url, claim.addresses, settings, (result, address) => {
    const { timing } = result
    const common = { kind: 'page', claim, address, timing } as const
    if (result.kind === 'trouble') {
      if (result.class === 'stopped') return
      return arrive(shard, { ...common, result: troubleOf(result) })
    }
    const read = readAnswer(claim.link.url, result, settings, env.decodeContent, env.clock.wallMs())
    arrive(shard, { ...common, result: { kind: 'answer', ...read } })
  })
}

export function troubleOf(result: Extract<FetchResult, { kind: 'trouble' }>): Trouble {
  const kind = result.class === 'stopped' ? 'connect.reset' : result.class
  return { kind: 'trouble', class: kind, message: result.message, isConnected: result.connected }
}

/** Fetches at the first address that accepts a connection. */
export function fetchAtFirst(
  shard: Shard,
  url: string,
  addresses: readonly string[],
  settings: Settings,
  done: (result: FetchResult, address: string) => void,
  at = 0,
): void {
  const address = addresses[at]
  shard.env.web.fetch(requestFor(url, address, settings), (result) => {
    const isNext =
      result.kind === 'trouble' && !result.connected && result.class !== 'stopped' && at + 1 < addresses.length
    if (isNext) fetchAtFirst(shard, url, addresses, settings, done, at + 1)
    else done(result, address)
  })
}

function requestFor(url: string, address: string, settings: Settings): FetchRequest {
  return { url, address, headers: headersFor(settings), limits: limitsFor(settings) }
}

const headersBySettings = new WeakMap<Settings, Readonly<Record<string, string>>>()

function headersFor(settings: Settings): Readonly<Record<string, string>> {
  let headers = headersBySettings.get(settings)
  if (headers === undefined) {
    headers = {
      'user-agent': settings.userAgent,
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'accept-encoding': 'gzip, deflate, br, zstd',
      ...Object.fromEntries(settings.header.map(splitHeader)),
    }
    headersBySettings.set(settings, headers)
  }
  return headers
}

function splitHeader(line: string): [string, string] {
  const colonAt = line.indexOf(':')
  return [line.slice(0, colonAt).trim().toLowerCase(), line.slice(colonAt + 1).trim()]
}

const limitsBySettings = new WeakMap<Settings, FetchLimits>()

function limitsFor(settings: Settings): FetchLimits {
  let limits = limitsBySettings.get(settings)
  if (limits === undefined) {
    limits = {
      connectMs: Math.min(settings.connectTimeoutMs, settings.timeoutMs),
      headerMs: settings.timeoutMs,
      bodySilenceMs: settings.timeoutMs,
      totalMs: settings.timeoutMs,
      headerBytesMax: settings.headerBytesMax,
      bodyBytesMax: settings.bodyBytesMax,
    }
    limitsBySettings.set(settings, limits)
  }
  return limits
}

function startRobots(shard: Shard, { host, isHttps, addresses, attempts }: RobotsClaim): void {
  const name = shard.source.hostName(host)
  const hostKey = shard.state.hosts.keyOf(host)
  const settings = settingsFor(shard.state, host)
  fetchRobots(shard, `${isHttps ? 'https' : 'http'}://${name}/robots.txt`, addresses, settings, (result, totalMs) => {
    arrive(shard, {
      kind: 'robots',
      host,
      totalMs,
      observation: { kind: 'robots', host: name, hostKey, isHttps, attempts, result },
    })
  })
}

function startLookup(shard: Shard, host: number): void {
  const name = shard.state.hosts.name(host)
  const hostKey = shard.state.hosts.keyOf(host)
  const hostname = hostnameOf(`http://${name}/`).replace(/^\[|\]$/g, '')
  shard.env.resolver.resolve(hostname, (result) => {
    arrive(shard, { kind: 'lookup', host, observation: { kind: 'lookup', host: name, hostKey, result } })
  })
}
