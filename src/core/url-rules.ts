/**
 * The crawl's own rules of URL equality, applied after the canonical form. All are off by default, because each of them
 * is wrong for some site; they are fixed when a crawl is created, since a URL's key depends on them.
 *
 * Invariant: applying the rules twice gives what applying them once gives.
 */
import { normalizeEscapes } from '../html/canonical.ts'

export type UrlRules = {
  /** Query parameters to drop, by name; a name ending in `*` is a prefix (`utm_*`). Case-sensitive. Default: none. */
  readonly dropQueryParameters: readonly string[]
  /** Path parameters to drop (`jsessionid` drops `;jsessionid=1F`), case-insensitive. Default: none. */
  readonly dropPathParameters: readonly string[]
  /** File names that stand for their directory (`index.html`), case-sensitive. Default: none. */
  readonly indexFiles: readonly string[]
  /** Whether `/x?` is `/x`. Default: false. */
  readonly dropEmptyQuery: boolean
  /** Whether parameters are sorted by name, equal names keeping their order. Default: false. */
  readonly sortQuery: boolean
  /** Whether `/a/` is `/a` (never the root). Default: false. */
  readonly dropTrailingSlash: boolean
  /** Whether `www.a.test` is `a.test`. Default: false. */
  readonly dropWww: boolean
}

export const URL_RULES_DEFAULT: UrlRules = {
  dropQueryParameters: [],
  dropPathParameters: [],
  indexFiles: [],
  dropEmptyQuery: false,
  sortQuery: false,
  dropTrailingSlash: false,
  dropWww: false,
}

/**
 * Applies the rules to a canonical URL.
 *
 * A rule may uncover work for another (`/index.html/` with its slash dropped), so they run until nothing changes. That
 * ends: every rule but sorting shortens the URL, and sorting what is sorted changes nothing.
 */
export function applyUrlRules(url: string, rules: UrlRules): string {
  for (;;) {
    const next = applyOnce(url, rules)
    if (next === url) return url
    url = next
  }
}

function applyOnce(url: string, rules: UrlRules): string {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2)
  const queryAt = url.indexOf('?', pathAt)
  const origin = url.slice(0, pathAt)
  const path = queryAt < 0 ? url.slice(pathAt) : url.slice(pathAt, queryAt)
  const query = queryAt < 0 ? '' : url.slice(queryAt)
  const edited = editedOrigin(origin, rules) + editedPath(path, rules) + editedQuery(query, rules)
  if (edited === url) return url
  // Dropping `;x` from `..;x` leaves a dot segment, and dropping `www.` may leave no host; only the parser knows.
  const parsed = URL.parse(edited)
  return parsed === null ? url : normalizeEscapes(parsed.href)
}

function editedOrigin(origin: string, rules: UrlRules): string {
  return rules.dropWww ? origin.replace(/^(https?:\/\/)www\.(?=[^.:]+\.[^.:])/, '$1') : origin
}

function editedPath(path: string, rules: UrlRules): string {
  let edited = rules.dropPathParameters.length === 0 ? path : withoutPathParameters(path, rules.dropPathParameters)
  const fileAt = edited.lastIndexOf('/') + 1
  if (rules.indexFiles.includes(edited.slice(fileAt))) edited = edited.slice(0, fileAt)
  // `//` at the end of an origin would make the next segment a host.
  return rules.dropTrailingSlash && edited.length > 1 && edited.endsWith('/') ? edited.slice(0, -1) : edited
}

function withoutPathParameters(path: string, names: readonly string[]): string {
  const lower = names.map((name) => name.toLowerCase())
  return path.replace(/;([^;/=]*)(?:=[^;/]*)?/g, (parameter, name: string) =>
    lower.includes(name.toLowerCase()) ? '' : parameter,
  )
}

function editedQuery(query: string, rules: UrlRules): string {
  if (query === '') return query
  let parameters = query.slice(1).split('&')
  if (rules.dropQueryParameters.length > 0) {
    parameters = parameters.filter((parameter) => !isDropped(nameOf(parameter), rules.dropQueryParameters))
  }
  if (rules.sortQuery) parameters.sort((a, b) => compare(nameOf(a), nameOf(b)))
  const edited = '?' + parameters.join('&')
  const isEmptied = edited === '?' && (query !== '?' || rules.dropEmptyQuery)
  return isEmptied ? '' : edited
}

function nameOf(parameter: string): string {
  const equalsAt = parameter.indexOf('=')
  return equalsAt < 0 ? parameter : parameter.slice(0, equalsAt)
}

function isDropped(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
}

/** By code unit, not by locale: the order is part of a URL's key. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
