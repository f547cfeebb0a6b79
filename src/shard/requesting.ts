/**
 * One request to a host, at the first of its addresses that accepts a connection, with the headers and limits that its
 * settings give.
 */
import type { Trouble } from '../core/observation.ts'
import type { Settings } from '../core/settings.ts'
import type { FetchLimits, FetchRequest, FetchResult } from '../env/web.ts'
import type { Shard } from './shard-parts.ts'

/** A failed request as the crawl decides on it. */
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
