/**
 * Which links belong to the crawl: scope, depth, include, exclude, extensions.
 *
 * Invariant: the answer depends on the settings, the URL, its depth and the seeds' keys alone. URLs come in canonical form
 * (see url.ts) and are not parsed: this runs for every link of every page.
 * Callers: admission.ts, once per host of a page (`admitsHost`) and once per link (`admitsPrefix`, `admitsPath`).
 */
import { getDomain } from 'tldts'
import type { UrlRefusal } from '../html/canonical.ts'
import type { Refusal } from './reasons.ts'
import { changeSettings, hostPatternOf, type Scope, type Settings } from './settings.ts'
import { hostOf, pathOf } from './url.ts'

/** What the seeds open, as keys to remember: all three of each seed, because the scope may change on resume. */
export interface ScopeKeys {
  readonly host: string
  readonly domain: string
  readonly prefix: string
}

/** Whether some seed opened this key. */
export type IsScopeKeyKnown = (key: string) => boolean

/** Rules for the links to one host, or to all hosts that the settings say nothing special about. */
export interface PathRules {
  readonly depthMax: number
  readonly urlBytesMax: number
  readonly include: readonly RegExp[]
  readonly exclude: readonly RegExp[]
  /** In lower case, without dot. */
  readonly skipExtensions: ReadonlySet<string>
}

export interface CompiledScope {
  readonly scope: Scope
  readonly rules: PathRules
  readonly hosts: Settings['hosts']
  /** By pattern of `hosts`. */
  readonly rulesByPattern: ReadonlyMap<string, PathRules>
}

/**
 * The keys that a seed opens. The prefix is the seed's directory: `http://a.test/x/y?q` opens `a.test/x/`. Neither the
 * scheme nor, for a domain, the port counts.
 */
export function scopeKeysOf(url: string): ScopeKeys {
  const host = hostOf(url)
  const path = pathOf(url)
  const queryAt = path.indexOf('?')
  const directory = path.slice(0, path.lastIndexOf('/', queryAt < 0 ? path.length : queryAt) + 1)
  return { host: hostKeyOf(host), domain: domainKeyOf(host), prefix: prefixKeyOf(host, directory) }
}

/** Prepares the rules; expressions must be valid (see `validateSettings`). */
export function compileScope(settings: Settings): CompiledScope {
  const { scope, hosts } = settings
  const rulesByPattern = new Map(
    Object.keys(hosts).map((pattern) => [pattern, pathRulesFrom(changeSettings(settings, hosts[pattern]))]),
  )
  return { scope, rules: pathRulesFrom(settings), hosts, rulesByPattern }
}

/** The rules for links to a host; ask once per host. */
export function rulesOfHost(compiled: CompiledScope, host: string): PathRules {
  if (compiled.rulesByPattern.size === 0) return compiled.rules
  const pattern = hostPatternOf(compiled.hosts, host)
  return pattern === undefined ? compiled.rules : compiled.rulesByPattern.get(pattern)!
}

/**
 * Why no link to a host can belong to the crawl, or undefined; ask once per host.
 *
 * @param host  `URL.host` of a canonical URL
 * Cost: below a microsecond; with scope `domain` a look-up in the public suffix list, about two.
 */
export function admitsHost(compiled: CompiledScope, host: string, isKnown: IsScopeKeyKnown): Refusal | undefined {
  switch (compiled.scope) {
    case 'any':
      return undefined
    case 'host':
      return isKnown(hostKeyOf(host)) ? undefined : 'scope.host'
    case 'domain':
      return isKnown(domainKeyOf(host)) ? undefined : 'scope.domain'
    case 'prefix': // The path decides; a host without seeds needs no look at it.
      return isKnown(hostKeyOf(host)) ? undefined : 'scope.prefix'
  }
}

/** With scope `prefix`, why a URL lies below no seed's directory, or undefined; a question per directory. */
export function admitsPrefix(compiled: CompiledScope, url: string, isKnown: IsScopeKeyKnown): Refusal | undefined {
  if (compiled.scope !== 'prefix') return undefined
  const host = hostOf(url)
  const path = pathOf(url)
  const queryAt = path.indexOf('?')
  const end = queryAt < 0 ? path.length : queryAt
  for (let slashAt = 0; slashAt >= 0 && slashAt < end; slashAt = path.indexOf('/', slashAt + 1)) {
    if (isKnown(prefixKeyOf(host, path.slice(0, slashAt + 1)))) return undefined
  }
  return 'scope.prefix'
}

/**
 * Why a URL breaks the rules of its host, or undefined. Asks nothing about seeds, but a seed need not match `include`.
 *
 * @param depth  fewest links from a seed; 0 = a seed
 * Cost: tens of nanoseconds, and the expressions.
 */
export function admitsPath(rules: PathRules, url: string, depth: number): Refusal | undefined {
  if (url.length > rules.urlBytesMax) return 'url.length'
  if (depth > rules.depthMax) return 'depth'
  if (rules.skipExtensions.size > 0 && rules.skipExtensions.has(extensionOf(url))) return 'extension'
  if (isMatched(rules.exclude, url)) return 'exclude'
  const isIncluded = rules.include.length === 0 || depth === 0 || isMatched(rules.include, url)
  return isIncluded ? undefined : 'include'
}

/**
 * Why a link does not belong to the crawl, or undefined: all of the above, for a single URL. The scope comes first, so
 * that a link which leaves the crawl is called that; a seed (depth 0) is in scope by being one.
 */
export function admits(
  compiled: CompiledScope,
  url: string,
  depth: number,
  isKnown: IsScopeKeyKnown,
): Refusal | undefined {
  const host = hostOf(url)
  const outside =
    depth === 0 ? undefined : (admitsHost(compiled, host, isKnown) ?? admitsPrefix(compiled, url, isKnown))
  return outside ?? admitsPath(rulesOfHost(compiled, host), url, depth)
}

const REFUSAL_OF_URL = { syntax: 'url.invalid', scheme: 'scheme.forbidden', 'too-long': 'url.length' } as const

/** The reason of a link that has no canonical form. */
export function refusalOfUrl(refused: UrlRefusal): Refusal {
  return REFUSAL_OF_URL[refused]
}

function hostKeyOf(host: string): string {
  return 'host:' + host
}

/**
 * The registrable domain; private suffixes count, so that a seed at `me.github.io` does not open all of `github.io`. What
 * has no such domain (an address, `localhost`, a suffix itself) stands for itself, with its port.
 */
function domainKeyOf(host: string): string {
  return 'domain:' + (getDomain(host, { allowPrivateDomains: true }) ?? host)
}

function prefixKeyOf(host: string, directory: string): string {
  return 'prefix:' + host + directory
}

function pathRulesFrom(settings: Settings): PathRules {
  return {
    depthMax: settings.depthMax ?? Number.POSITIVE_INFINITY,
    urlBytesMax: settings.urlBytesMax,
    include: expressionsFrom(settings.include),
    exclude: expressionsFrom(settings.exclude),
    skipExtensions: new Set(settings.skipExtensions.map((extension) => extension.toLowerCase().replace(/^\./, ''))),
  }
}

function expressionsFrom(sources: readonly string[]): readonly RegExp[] {
  return sources.map((source) => new RegExp(source))
}

function isMatched(expressions: readonly RegExp[], url: string): boolean {
  for (const expression of expressions) if (expression.test(url)) return true
  return false
}

/** Behind the last dot of the file's name, in lower case; '' where there is none. */
function extensionOf(url: string): string {
  const queryAt = url.indexOf('?')
  const end = queryAt < 0 ? url.length : queryAt
  const dotAt = url.lastIndexOf('.', end)
  // Before the path's first slash stands the host, whose dots are no extension.
  const slashAt = url.lastIndexOf('/', end)
  return dotAt > slashAt && slashAt > url.indexOf('//') + 1 ? url.slice(dotAt + 1, end).toLowerCase() : ''
}
