/** `check URL`: what the crawl would do with a URL, by its rules of this moment. */
import { keyOf } from '../base/md5.ts'
import { scopeOf } from '../core/admission.ts'
import type { LinkSource } from '../core/claim.ts'
import { ROBOTS } from '../core/event.ts'
import { delayOf, settingsFor } from '../core/frontier.ts'
import { HOST } from '../core/hosts.ts'
import { reachable } from '../core/reach.ts'
import { isAllowed } from '../core/robots.ts'
import { admits } from '../core/scope.ts'
import { type State, stateOf, URL_STATE_NAMES, URL_WORD } from '../core/state.ts'
import { hostOf, normalizeUrl, originOf, pathOf } from '../core/url.ts'

export interface UrlCheck {
  /** Canonical, as the crawl knows it. */
  readonly url: string
  /** State in this crawl, '' where it is unknown. */
  readonly state: string
  /** `admitted`, or the reason why it would be turned away. */
  readonly scope: string
  /** `allowed`, `denied`, `unknown` (not fetched yet), `held`, `unreachable`, `ignored`. */
  readonly robots: string
  /** Addresses known; empty where the name was not looked up yet. */
  readonly addresses: readonly string[]
  readonly addressesAllowed: readonly string[]
  /** The host is bad until then; ''. */
  readonly badUntil: string
  /** No contact before; '' where it may be contacted. */
  readonly blockedUntil: string
  readonly delayMs: number
}

const VERDICTS = ['unknown', 'allowed', 'rules', 'held', 'unreachable'] as const

/** @returns the check, or why the text is no URL that could be crawled */
export function checkUrl(
  state: State,
  source: LinkSource,
  text: string,
  nowMs: number,
): UrlCheck | { readonly refused: string } {
  const { settings, hosts } = state
  const canonical = normalizeUrl(text, { rules: settings.urlRules, urlBytesMax: settings.urlBytesMax })
  if (!('url' in canonical)) return { refused: canonical.refused }
  const { url } = canonical
  const handle = state.urls.findKey(keyOf(url))
  const refusal = admits(scopeOf(settings), url, 1, (key) => state.scopeKeys.findKey(keyOf(key)) >= 0)
  const host = hosts.findKey(keyOf(hostOf(url)))
  const addresses = host === 0 ? [] : hosts.addresses(host)
  return {
    url,
    state: handle < 0 ? '' : URL_STATE_NAMES[stateOf(state.urls.word(handle, URL_WORD.rest))],
    scope: refusal ?? 'admitted',
    robots: robotsOf(state, source, host, url, nowMs),
    addresses,
    addressesAllowed: reachable(state, originOf(url), addresses),
    badUntil: host === 0 ? '' : instantAfter(hosts.getMs(host, HOST.badUntilMs), nowMs),
    blockedUntil: host === 0 ? '' : instantAfter(hosts.getMs(host, HOST.blockedUntilMs), nowMs),
    delayMs: host === 0 ? settings.delayMs : delayOf(state, host),
  }
}

function instantAfter(atMs: number, nowMs: number): string {
  return atMs > nowMs ? new Date(atMs).toISOString() : ''
}

function robotsOf(state: State, source: LinkSource, host: number, url: string, nowMs: number): string {
  if (host === 0) return state.settings.robots ? 'unknown' : 'ignored'
  const settings = settingsFor(state, host)
  if (!settings.robots) return 'ignored'
  const { hosts } = state
  const isHttps = url.startsWith('https:')
  const verdict = (hosts.get(host, HOST.robotsVerdicts) >>> (isHttps ? 8 : 0)) & 0xff
  const untilMs = hosts.getMs(host, isHttps ? HOST.robotsHttpsUntilMs : HOST.robotsHttpUntilMs)
  if (untilMs <= nowMs) return 'unknown'
  if (verdict !== ROBOTS.rules) return VERDICTS[verdict] ?? 'unknown'
  const segment = hosts.get(host, isHttps ? HOST.robotsHttpsSegment : HOST.robotsHttpSegment)
  const position = hosts.get(host, isHttps ? HOST.robotsHttpsPosition : HOST.robotsHttpPosition)
  return isAllowed(source.robots(segment, position), settings.robotsAgent, pathOf(url)) ? 'allowed' : 'denied'
}
