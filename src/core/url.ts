/**
 * URLs as the crawl knows them: one spelling per page, and the parts that queues, clocks and requests need.
 *
 * Invariant: every URL inside the crawl came through `normalizeUrl` or the page resolver and is its own canonical form;
 * the functions below rely on it and do not parse.
 */
import { type CanonicalUrl, canonicalUrl, URL_BYTES_MAX } from '../html/canonical.ts'
import { applyUrlRules, URL_RULES_DEFAULT, type UrlRules } from './url-rules.ts'

export type NormalizeOptions = {
  /** Absolute URL that relative links refer to. Default: none, only absolute links resolve. */
  readonly base?: string
  /** The crawl's rules of equality. Default: `URL_RULES_DEFAULT`, which change nothing. */
  readonly rules?: UrlRules
  /** Encoding of the page the link stands in; its query is encoded in it. Default: `utf-8`. */
  readonly encoding?: string
  /** Longest canonical URL, bytes. Default: `URL_BYTES_MAX`. */
  readonly urlBytesMax?: number
}

/**
 * Canonical URL of a link, a seed, a redirect's target or a sitemap's entry.
 *
 * @returns `{ url }`, or `{ refused }` with the reason why it is not crawlable
 * Errors: none thrown. Cost: about a microsecond. Idempotent: a `url` returned is returned unchanged.
 */
export function normalizeUrl(href: string, options: NormalizeOptions = {}): CanonicalUrl {
  const { base, rules = URL_RULES_DEFAULT, encoding, urlBytesMax = URL_BYTES_MAX } = options
  const canonical = canonicalUrl(href, base, encoding, urlBytesMax)
  if ('refused' in canonical || rules === URL_RULES_DEFAULT) return canonical
  return { url: applyUrlRules(canonical.url, rules) }
}

/** Where the host begins in a canonical URL: behind `http://` or `https://`. */
function hostAt(url: string): number {
  return url.charCodeAt(4) === 0x3a ? 7 : 8
}

/** Name and non-default port (`URL.host`) of a canonical URL: the unit of queue, delay and badness. May share memory with `url`. */
export function hostOf(url: string): string {
  const start = hostAt(url)
  return url.slice(start, url.indexOf('/', start))
}

/** Name without port (`URL.hostname`, an IPv6 address in its brackets): the unit of resolution and placement. */
export function hostnameOf(url: string): string {
  const host = hostOf(url)
  const portAt = host.lastIndexOf(':')
  return portAt < 0 || host.endsWith(']') ? host : host.slice(0, portAt)
}

/** Scheme and host (`URL.origin`): the unit of connections and robots.txt. */
export function originOf(url: string): string {
  return url.slice(0, url.indexOf('/', hostAt(url)))
}

/** Path and query, as the request line takes them. */
export function pathOf(url: string): string {
  return url.slice(url.indexOf('/', hostAt(url)))
}
