/**
 * Final URLs back to pending: what an operator's `retry` asks for, and what the expiry of a bad host brings back.
 *
 * Each reopened URL's link is written again, in a bulk of the record that reopens it, so nothing depends on where it was.
 */
import { type Key, keyFromWords, keyOf } from '../base/md5.ts'
import type { CrawlEvent, Link, LinkGroup } from '../core/event.ts'
import type { Now } from '../core/frontier.ts'
import { HOST } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { type Reason, reasonOf } from '../core/reasons.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import { apply } from './applying.ts'
import { linkOf, type Records, readEvent } from './link-source.ts'
import { groupByHost } from './opening.ts'
import type { Shard } from './shard-parts.ts'

/** URLs reopened by one record. */
export const REOPENED_PER_RECORD_MAX = 500

export interface FailedUrl {
  readonly link: Link
  readonly reason: Reason | undefined
  /** Of a URL that failed with its host (`host.bad`): what was wrong with the host when it was last found bad. */
  readonly hostReason: Reason | undefined
}

/** Keys of the failed URLs, 16 characters each: the table may not be walked while it changes. */
export function failedKeys(state: State): Key[] {
  const keys: Key[] = []
  const { urls } = state
  urls.forEach((handle) => {
    if (stateOf(urls.word(handle, URL_WORD.rest)) !== URL_STATE.failed) return
    keys.push(
      keyFromWords(urls.keyWord(handle, 0), urls.keyWord(handle, 1), urls.keyWord(handle, 2), urls.keyWord(handle, 3)),
    )
  })
  return keys
}

/** Link and class of a failed URL, undefined where it is none any more. Cost: one read. */
export function failedUrl(records: Records, state: State, key: Key): FailedUrl | undefined {
  const handle = state.urls.findKey(key)
  if (handle < 0) return undefined
  const rest = state.urls.word(handle, URL_WORD.rest)
  if (stateOf(rest) !== URL_STATE.failed) return undefined
  const segment = segmentOf(rest)
  const position = state.urls.word(handle, URL_WORD.position)
  const event = readEvent(records, segment, position)
  const found = linkOf(event, key, segment, position)
  const link = found.depth === depthOf(rest) ? found : { ...found, depth: depthOf(rest) }
  // Of a URL that failed with its host the address still names where its link stands.
  if (event.kind === KIND.failed) return { link, reason: reasonOf(event.reason), hostReason: undefined }
  const host = state.hosts.findKey(keyOf(hostOf(link.url)))
  return { link, reason: 'host.bad', hostReason: reasonOf(host === 0 ? 0 : state.hosts.get(host, HOST.badReason)) }
}

/** Records that these failed URLs are pending again, and that their hosts are no longer bad. */
export function reopen(shard: Shard, links: readonly Link[], now: Now): void {
  const groups: LinkGroup[] = groupByHost(links)
  for (const { host, hostKey } of groups) {
    const id = shard.state.hosts.findKey(hostKey)
    for (const event of clearHost(shard.state, id, host, now.shardMs)) apply(shard, event, now)
  }
  apply(shard, { kind: KIND.reopened, groups }, now)
}

/** What makes a host one that may be contacted again: not bad, and its failures forgotten. */
function clearHost(state: State, id: number, host: string, nowMs: number): CrawlEvent[] {
  if (id === 0) return []
  const events: CrawlEvent[] = []
  if (state.hosts.getMs(id, HOST.badUntilMs) > 0) {
    // The reason stays: other URLs that failed with the host may still be asked for by it.
    const reason = state.hosts.get(id, HOST.badReason)
    events.push({ kind: KIND.badhost, host, reason, untilMs: 0, keys: [], isLast: false })
  }
  if (state.hosts.get(id, HOST.backoffLevel) > 0) {
    events.push({ kind: KIND.delay, host, reason: 0, untilMs: nowMs, level: 0 })
  }
  return events
}

/** Brings back what failed with hosts whose badness has expired. Cost: a look at every host, a read per URL. */
export function reviveExpired(shard: Shard, now: Now): number {
  const { state, events } = shard
  if (!hasExpired(state, now.shardMs)) return 0
  let reopened = 0
  let links: Link[] = []
  const flush = (): void => {
    if (links.length > 0) reopen(shard, links, now)
    reopened += links.length
    links = []
  }
  for (const key of failedKeys(state)) {
    const failed = failedUrl(events, state, key)
    if (failed?.reason !== 'host.bad' || !isExpired(state, failed.link, now.shardMs)) continue
    links.push(failed.link)
    if (links.length === REOPENED_PER_RECORD_MAX) flush()
  }
  flush()
  return reopened
}

function hasExpired(state: State, nowMs: number): boolean {
  for (let host = 1; host <= state.hosts.count; host++) {
    const untilMs = state.hosts.getMs(host, HOST.badUntilMs)
    if (untilMs > 0 && untilMs <= nowMs && state.hosts.get(host, HOST.failed) > 0) return true
  }
  return false
}

function isExpired(state: State, link: Link, nowMs: number): boolean {
  const id = state.hosts.findKey(keyOf(hostOf(link.url)))
  // A host cleared by an earlier link of it is not bad any more: its other URLs come back too.
  return id !== 0 && state.hosts.getMs(id, HOST.badUntilMs) <= nowMs
}
