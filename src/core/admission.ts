/**
 * Admission: which of the links found become URLs of the crawl. One `Admission` serves one record.
 *
 * A link is turned away (counted by reason), known already (listed for the link graph, perhaps a shorter way), or
 * admitted: then it stands in exactly one group of the record. Runs a hundred times a page: no URL class, one md5 and
 * one table search a link that is in scope.
 */
import { type Key, keyFromWords, keyOf, keyWordsOf } from '../base/md5.ts'
import { openedOriginOf } from './address.ts'
import type { Findings, Link, LinkGroup, ShorterWay } from './event.ts'
import { openedOriginKey } from './reach.ts'
import { REASONS } from './reasons.ts'
import {
  admitsHost,
  admitsPath,
  admitsPrefix,
  type CompiledScope,
  compileScope,
  type PathRules,
  rulesOfHost,
  scopeKeysOf,
} from './scope.ts'
import type { Settings } from './settings.ts'
import { depthOf, type State, stateOf, URL_RELINK, URL_STATE, URL_WORD } from './state.ts'
import { hostOf } from './url.ts'

interface HostInPage {
  readonly host: string
  readonly hostKey: Key
  /** Reason number for which all of its links are turned away; 0 = none. */
  readonly refusal: number
  readonly rules: PathRules
  readonly links: Link[]
  readonly preferred: Link[]
}

const compiledScopes = new WeakMap<Settings, CompiledScope>()
const compiledPreferences = new WeakMap<Settings, readonly RegExp[]>()

/** The compiled rules of some settings; compiled once per settings object. */
export function scopeOf(settings: Settings): CompiledScope {
  let compiled = compiledScopes.get(settings)
  if (compiled === undefined) {
    compiled = compileScope(settings)
    compiledScopes.set(settings, compiled)
  }
  return compiled
}

/** Whether some limit of depth is in force, for all hosts or for some. */
export function hasDepthLimit({ rules, rulesByPattern }: CompiledScope): boolean {
  if (rules.depthMax !== Number.POSITIVE_INFINITY) return true
  for (const own of rulesByPattern.values()) if (own.depthMax !== Number.POSITIVE_INFINITY) return true
  return false
}

function isPreferred(settings: Settings, url: string): boolean {
  let expressions = compiledPreferences.get(settings)
  if (expressions === undefined) {
    expressions = settings.prefer.map((source) => new RegExp(source))
    compiledPreferences.set(settings, expressions)
  }
  return expressions.some((expression) => expression.test(url))
}

const NO_CHAIN: readonly Key[] = []

/** Bytes of links one record admits: with all else it stays below the 4 MiB of a record. The rest is budget.links. */
const LINK_BYTES_MAX = 2 * 1024 * 1024
/** Bytes of a link beside its URL, at most. */
const LINK_OVERHEAD_BYTES = 32
/** Bytes of URLs turned away that a record lists; further ones are counted only. */
const TURNED_AWAY_BYTES_MAX = 512 * 1024

export class Admission {
  readonly #state: State
  readonly #scope: CompiledScope
  readonly #hosts = new Map<string, HostInPage>()
  readonly #known: Key[] = []
  readonly #shorter: ShorterWay[] = []
  readonly #turnedAway = new Map<number, number>()
  readonly #turnedAwayUrls: Array<readonly [number, string]> = []
  readonly #scopeKeys = new Set<Key>()
  readonly #hasDepthLimit: boolean
  #linkBytes = 0
  #turnedAwayBytes = 0
  /** Seeds admitted by this record, which may name one twice; a page's links come without duplicates. */
  readonly #seeds = new Set<string>()

  constructor(state: State) {
    this.#state = state
    this.#scope = scopeOf(state.settings)
    this.#hasDepthLimit = hasDepthLimit(this.#scope)
  }

  /** Counts links that the scanner cut. */
  turnAway(reason: number, count: number): void {
    this.#turnedAway.set(reason, (this.#turnedAway.get(reason) ?? 0) + count)
  }

  /** A link found on the page `from`, `depth` links from a seed; a redirect's target carries its chain. */
  addLink(url: string, depth: number, from: Key, chain: readonly Key[] = NO_CHAIN): void {
    const host = this.#hostInPage(hostOf(url))
    const refusal = host.refusal !== 0 ? host.refusal : this.#pathRefusal(url, depth, host.rules)
    if (refusal !== 0) return this.refuse(refusal, url)
    this.#add(host, url, depth, from, false, chain)
  }

  /** A seed that the user gave opens its origin even where its address is private, if it names the address itself. */
  openOrigin(url: string): void {
    const origin = openedOriginOf(url)
    if (origin === undefined) return
    const key = keyOf(openedOriginKey(origin))
    if (this.#state.scopeKeys.findKey(key) < 0) this.#scopeKeys.add(key)
  }

  /** A seed, or what a seed redirected to: opens the scope, then is admitted unless it is excluded. */
  addSeed(url: string, depth: number, from: Key | undefined, chain: readonly Key[]): void {
    if (this.#seeds.has(url)) return
    this.#seeds.add(url)
    const keys = scopeKeysOf(url)
    for (const text of [keys.host, keys.domain, keys.prefix]) {
      const key = keyOf(text)
      if (this.#state.scopeKeys.findKey(key) < 0) this.#scopeKeys.add(key)
    }
    const name = hostOf(url)
    const refusal = admitsPath(rulesOfHost(this.#scope, name), url, 0)
    if (refusal !== undefined) return this.refuse(REASONS[refusal], url)
    // The scope was opened a moment ago, so what was refused for this host before need not be now.
    const before = this.#hosts.get(name)
    if (before !== undefined && before.refusal !== 0) this.#hosts.delete(name)
    this.#add(this.#hostInPage(name), url, depth, from, true, chain)
  }

  findings(): Findings {
    const groups: LinkGroup[] = []
    for (const { host, hostKey, links, preferred } of this.#hosts.values()) {
      if (preferred.length > 0) groups.push({ host, hostKey, isPreferred: true, links: preferred })
      if (links.length > 0) groups.push({ host, hostKey, isPreferred: false, links })
    }
    return {
      groups,
      known: this.#known,
      shorter: this.#shorter,
      turnedAway: [...this.#turnedAway],
      turnedAwayUrls: this.#turnedAwayUrls,
      scopeKeys: [...this.#scopeKeys],
    }
  }

  #hostInPage(host: string): HostInPage {
    let found = this.#hosts.get(host)
    if (found === undefined) {
      const refused = admitsHost(this.#scope, host, this.#isScopeKeyKnown)
      const refusal = refused === undefined ? 0 : REASONS[refused]
      const rules = rulesOfHost(this.#scope, host)
      found = { host, hostKey: keyOf(host), refusal, rules, links: [], preferred: [] }
      this.#hosts.set(host, found)
    }
    return found
  }

  readonly #isScopeKeyKnown = (text: string): boolean => {
    const key = keyOf(text)
    return this.#scopeKeys.has(key) || this.#state.scopeKeys.findKey(key) >= 0
  }

  /** Depth is not asked about here: a link that is too deep may still be a shorter way to a known URL. */
  #pathRefusal(url: string, depth: number, rules: PathRules): number {
    const refused =
      admitsPrefix(this.#scope, url, this.#isScopeKeyKnown) ??
      admitsPath(rules, url, Math.min(Math.max(depth, 1), rules.depthMax))
    return refused === undefined ? 0 : REASONS[refused]
  }

  /** A link turned away for `reason`: counted, and listed where the crawl keeps them. */
  refuse(reason: number, url: string): void {
    this.turnAway(reason, 1)
    if (!this.#state.settings.keepRefused || this.#turnedAwayBytes + url.length > TURNED_AWAY_BYTES_MAX) return
    this.#turnedAwayBytes += url.length
    this.#turnedAwayUrls.push([reason, url])
  }

  #add(
    host: HostInPage,
    url: string,
    depth: number,
    from: Key | undefined,
    seed: boolean,
    chain: readonly Key[],
  ): void {
    const { settings, urls } = this.#state
    const words = keyWordsOf(url)
    const key = keyFromWords(words[0], words[1], words[2], words[3])
    const handle = urls.find(words[0], words[1], words[2], words[3])
    if (handle >= 0) return this.#meetAgain(key, urls.word(handle, URL_WORD.rest), depth)
    if (!seed && depth > host.rules.depthMax) return this.refuse(REASONS.depth, url)
    this.#linkBytes += url.length + LINK_OVERHEAD_BYTES + chain.length * 16
    if (this.#linkBytes > LINK_BYTES_MAX) return this.refuse(REASONS['budget.links'], url)
    const link = { key, url, depth: Math.min(depth, 255), from, seed, chain }
    if (settings.order === 'priority' && isPreferred(settings, url)) host.preferred.push(link)
    else host.links.push(link)
  }

  /** A known URL: part of the link graph, and perhaps nearer to a seed than was thought. */
  #meetAgain(key: Key, rest: number, depth: number): void {
    if (this.#state.settings.graph) this.#known.push(key)
    const before = depthOf(rest)
    if (depth >= before) return
    // Links of a stored page were cut by the limit, or would have been had they been one deeper: read them again. A URL that
    // was refused for being too deep may not be too deep any more.
    const isFinal = stateOf(rest) === URL_STATE.done || stateOf(rest) === URL_STATE.refused
    const relink = this.#hasDepthLimit && isFinal && (rest & URL_RELINK) === 0
    this.#shorter.push({ key, depth, relink })
  }
}
