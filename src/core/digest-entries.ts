/**
 * What each entry of the state contributes to the digest. Each function mixes one entry; the caller then adds or
 * subtracts it. On disk in every mark since v1: entry kinds and the order of fields are frozen.
 *
 * Not in the digest: positions, queue order, last contacts, caches.
 */
import { mixText, type StateDigest } from '../tables/digest.ts'
import { HOST, HOST_FLAGS_DIGESTED, type HostTable } from './hosts.ts'
import type { SeedCursor } from './state.ts'

const ENTRY = {
  url: 1,
  waiting: 2,
  processing: 3,
  hostCounts: 4,
  hostMore: 5,
  hostBlocked: 6,
  hostAddresses: 7,
  hostRobots: 8,
  content: 9,
  scope: 10,
  settings: 11,
  seeds: 12,
} as const

const LOW = 2 ** 32

/** @param rest word 1 of the URL table without segment and waiting flag: depth << 8 | flags | state */
export function mixUrl(digest: StateDigest, k0: number, k1: number, k2: number, k3: number, rest: number): void {
  digest.mix(ENTRY.url, k0, k1, k2, k3, rest, 0, 0, 0)
}

export function mixWaiting(
  digest: StateDigest,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  attempts: number,
  deaths: number,
  dueMs: number,
): void {
  digest.mix(ENTRY.waiting, k0, k1, k2, k3, attempts, deaths, dueMs % LOW, Math.floor(dueMs / LOW))
}

export function mixProcessing(
  digest: StateDigest,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  attempts: number,
  deaths: number,
): void {
  digest.mix(ENTRY.processing, k0, k1, k2, k3, attempts, deaths, 0, 0)
}

/** Counts of a host: changes with nearly every event. Adds or subtracts both halves itself. */
export function addHostCounts(digest: StateDigest, hosts: HostTable, id: number, isAdded: boolean): void {
  const words = hosts.wordsOf(id)
  const row = hosts.rowOf(id)
  const k0 = words[row]!
  const k1 = words[row + 1]!
  const k2 = words[row + 2]!
  const k3 = words[row + 3]!
  digest.mix(
    ENTRY.hostCounts,
    k0,
    k1,
    k2,
    k3,
    words[row + HOST.pending]!,
    words[row + HOST.processing]!,
    words[row + HOST.done]!,
    words[row + HOST.failed]!,
  )
  if (isAdded) digest.add()
  else digest.subtract()
  digest.mix(
    ENTRY.hostMore,
    k0,
    k1,
    k2,
    k3,
    words[row + HOST.refused]!,
    words[row + HOST.pages]!,
    words[row + HOST.flags]! & HOST_FLAGS_DIGESTED,
    words[row + HOST.backoffLevel]!,
  )
  if (isAdded) digest.add()
  else digest.subtract()
}

function mixHost(
  digest: StateDigest,
  hosts: HostTable,
  id: number,
  entry: number,
  f0: number,
  f1: number,
  f2: number,
  f3: number,
): void {
  const words = hosts.wordsOf(id)
  const row = hosts.rowOf(id)
  digest.mix(entry, words[row]!, words[row + 1]!, words[row + 2]!, words[row + 3]!, f0, f1, f2, f3)
}

/** Until when a host is blocked and bad. */
export function mixHostBlocked(digest: StateDigest, hosts: HostTable, id: number): void {
  const blocked = hosts.getMs(id, HOST.blockedUntilMs)
  const bad = hosts.getMs(id, HOST.badUntilMs)
  mixHost(
    digest,
    hosts,
    id,
    ENTRY.hostBlocked,
    blocked % LOW,
    Math.floor(blocked / LOW),
    bad % LOW,
    Math.floor(bad / LOW),
  )
}

/** Host2IP: the addresses and their expiry. */
export function mixHostAddresses(digest: StateDigest, hosts: HostTable, id: number): void {
  const until = hosts.getMs(id, HOST.resolvedUntilMs)
  mixHost(
    digest,
    hosts,
    id,
    ENTRY.hostAddresses,
    mixText(hosts.addresses(id).join(' ')),
    0,
    until % LOW,
    Math.floor(until / LOW),
  )
}

/** What robots.txt said, for one of the two origins of a host. */
export function mixHostRobots(digest: StateDigest, hosts: HostTable, id: number, isHttps: boolean): void {
  const until = hosts.getMs(id, isHttps ? HOST.robotsHttpsUntilMs : HOST.robotsHttpUntilMs)
  const word = hosts.get(id, HOST.robotsVerdicts) >>> (isHttps ? 8 : 0)
  mixHost(
    digest,
    hosts,
    id,
    ENTRY.hostRobots,
    (word & 0xff00ff) | (isHttps ? 256 : 0),
    hosts.get(id, HOST.robotsDelayMs),
    until % LOW,
    Math.floor(until / LOW),
  )
}

export function mixContent(digest: StateDigest, k0: number, k1: number, k2: number, k3: number): void {
  digest.mix(ENTRY.content, k0, k1, k2, k3, 0, 0, 0, 0)
}

export function mixScope(digest: StateDigest, k0: number, k1: number, k2: number, k3: number): void {
  digest.mix(ENTRY.scope, k0, k1, k2, k3, 0, 0, 0, 0)
}

export function mixSettings(digest: StateDigest, json: string): void {
  digest.mix(ENTRY.settings, mixText(json), json.length, 0, 0, 0, 0, 0, 0)
}

export function mixSeeds(digest: StateDigest, source: number, cursor: SeedCursor): void {
  digest.mix(ENTRY.seeds, source, 0, 0, 0, cursor.lines % LOW, Math.floor(cursor.lines / LOW), cursor.isLast ? 1 : 0, 0)
}
