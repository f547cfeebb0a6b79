/**
 * Fetches a robots.txt, redirects included, and gives back one result. Every hop is checked like any other contact.
 */

import type { RobotsObservation } from '../core/observation.ts'
import { reachable } from '../core/reach.ts'
import type { Settings } from '../core/settings.ts'
import { hostnameOf, normalizeUrl, originOf } from '../core/url.ts'
import { headerValues } from '../html/headers.ts'
import { decodeBody, retryAfterMs } from './reading.ts'
import { fetchAtFirst, troubleOf } from './requesting.ts'
import type { Shard } from './shard-parts.ts'

/** Redirects followed (RFC 9309, 2.3.1.2). A longer chain counts as "no robots.txt". */
const ROBOTS_REDIRECTS_MAX = 5
/** Bytes of the file that count. */
const ROBOTS_BYTES_MAX = 500 * 1024

type Done = (result: RobotsObservation['result'], totalMs: number) => void

export function fetchRobots(
  shard: Shard,
  url: string,
  addresses: readonly string[],
  settings: Settings,
  done: Done,
  hops = 0,
): void {
  const limits = { ...settings, bodyBytesMax: ROBOTS_BYTES_MAX }
  fetchAtFirst(shard, url, addresses, limits, (result) => {
    const { totalMs } = result.timing
    if (result.kind === 'trouble') {
      if (result.class !== 'stopped') done(troubleOf(result), totalMs)
      return
    }
    const { status, headers } = result
    const location = status >= 300 && status < 400 ? headerValues(headers, 'location')[0] : undefined
    if (location !== undefined && hops < ROBOTS_REDIRECTS_MAX) {
      const target = normalizeUrl(location, { base: url })
      if ('url' in target) return follow(shard, target.url, url, addresses, settings, done, hops + 1)
    }
    const body = decodeBody(headers, result.body, limits, shard.env.decodeContent).bytes
    const afterMs = retryAfterMs(headerValues(headers, 'retry-after')[0], shard.env.clock.wallMs())
    done({ kind: 'answer', status, body, retryAfterMs: afterMs }, totalMs)
  })
}

function follow(
  shard: Shard,
  target: string,
  from: string,
  addresses: readonly string[],
  settings: Settings,
  done: Done,
  hops: number,
): void {
  const go = (found: readonly string[]): void => {
    const allowed = reachable(shard.state, originOf(target), found)
    if (allowed.length > 0) return fetchRobots(shard, target, allowed, settings, done, hops)
    // Where it leads may not be contacted: as if there were none.
    done({ kind: 'answer', status: 404, body: new Uint8Array(0), retryAfterMs: undefined }, 0)
  }
  if (hostnameOf(target) === hostnameOf(from)) return go(addresses)
  shard.env.resolver.resolve(hostnameOf(target).replace(/^\[|\]$/g, ''), (answer) => {
    if (answer.kind === 'addresses') go(answer.addresses)
    else done({ kind: 'trouble', class: 'connect.unreachable', message: answer.message, isConnected: true }, 0)
  })
}
