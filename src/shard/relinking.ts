/**
 * URLs to be looked at again, because a shorter way to them was found or the rules have become wider. A stored page's links
 * are read again from its body, without a request; a URL that was refused is pending again where the rules allow it now.
 */
import { type Key, keyFromWords, keyOf } from '../base/md5.ts'
import { scopeRefusal } from '../core/claim.ts'
import { type CrawlEvent, type FetchedEvent, type Link, NO_FINDINGS } from '../core/event.ts'
import type { Now } from '../core/frontier.ts'
import { KIND } from '../core/kind.ts'
import { reachable } from '../core/reach.ts'
import { REASONS } from '../core/reasons.ts'
import { settingsOfHost } from '../core/settings.ts'
import { depthOf, type State, segmentOf, URL_WORD } from '../core/state.ts'
import { hostOf, originOf } from '../core/url.ts'
import { apply, observe } from './applying.ts'
import { linkOf, readEvent } from './link-source.ts'
import { bodyOf, readPage } from './pages.ts'
import { decodeBody, linksOf } from './reading.ts'
import type { Shard } from './shard-parts.ts'

/** Pages read again in one turn. */
const PAGES_PER_TURN_MAX = 8
/** Refused URLs judged again in one turn: mostly many of one record. */
const REFUSED_PER_TURN_MAX = 256

/** The record that a URL's state comes from. Many refused URLs share one, which is read once. */
interface Place {
  readonly segment: number
  readonly position: number
  readonly event: CrawlEvent
}

export function relinkNext(shard: Shard, now: Now): void {
  const { relinks } = shard.state
  let pages = 0
  let place: Place | undefined
  for (let left = REFUSED_PER_TURN_MAX; left > 0 && pages < PAGES_PER_TURN_MAX && relinks.count > 0; left--) {
    const key = keyFromWords(relinks.firstWord(0), relinks.firstWord(1), relinks.firstWord(2), relinks.firstWord(3))
    place = placeOf(shard, key, place)
    const { event } = place
    if (event.kind === KIND.fetched) {
      pages++
      const { attempt, location } = event
      observe(shard, { kind: 'relink', link: attempt.link, links: linksAgain(shard, event), location }, now)
    } else judgeAgain(shard, key, place, now)
  }
}

function placeOf(shard: Shard, key: Key, last: Place | undefined): Place {
  const { urls } = shard.state
  const handle = urls.findKey(key)
  const segment = segmentOf(urls.word(handle, URL_WORD.rest))
  const position = urls.word(handle, URL_WORD.position)
  if (last?.segment === segment && last.position === position) return last
  return { segment, position, event: readEvent(shard.events, segment, position) }
}

function linksAgain(shard: Shard, { attempt, stored, location }: FetchedEvent): ReturnType<typeof linksOf>['links'] {
  if (stored === undefined || location !== '' || attempt.status >= 300) return []
  const page = readPage(shard.pages, stored.page, shard.env.decodeContent)
  if (page === undefined) return []
  const { settings } = shard.state
  const body = bodyOf(shard.pages, page, shard.env.decodeContent)
  return linksOf(
    decodeBody(page.headers, body, settings, shard.env.decodeContent).bytes,
    page.headers,
    attempt.link.url,
    settings,
  ).links
}

/**
 * A URL that was refused. `reopened` comes first: a death before `relinked` leaves a pending URL in the queue of those to
 * be looked at, for which only `relinked` is written then.
 */
function judgeAgain(shard: Shard, key: Key, { event, segment, position }: Place, now: Now): void {
  const { urls } = shard.state
  const found = linkOf(event, key, segment, position)
  const depth = depthOf(urls.word(urls.findKey(key), URL_WORD.rest))
  const link: Link = { ...found, depth }
  if (event.kind === KIND.refused && isAllowedNow(shard.state, link, event.reason)) {
    const host = hostOf(link.url)
    const group = { host, hostKey: keyOf(host), isPreferred: false, links: [link] }
    apply(shard, { kind: KIND.reopened, groups: [group] }, now)
  }
  apply(shard, { kind: KIND.relinked, link, ...NO_FINDINGS }, now)
}

/** Whether what refused a URL would not refuse it now. What else is against it its claim will say. */
function isAllowedNow(state: State, link: Link, reason: number): boolean {
  if (scopeRefusal(state, link) !== undefined) return false
  const host = hostOf(link.url)
  if (reason === REASONS['robots.denied'] || reason === REASONS['robots.unreachable']) {
    return !settingsOfHost(state.settings, host).robots
  }
  if (reason !== REASONS['address.forbidden']) return true
  const id = state.hosts.findKey(keyOf(host))
  return id === 0 || reachable(state, originOf(link.url), state.hosts.addresses(id)).length > 0
}
