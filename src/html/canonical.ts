/**
 * The canonical form of a link: what WHATWG URL makes of it, made comparable.
 *
 * Invariant: the result is ASCII, has scheme http or https, no userinfo and no fragment, and is its own canonical form.
 * Callers: the page resolver (resolver.ts) for forms it cannot settle by itself, and core/url.ts, which adds the crawl's rules.
 */
import { encodeQueryOf } from './encode.ts'

/** Longest URL a crawl handles, in bytes of its canonical form. Servers and proxies refuse more anyway. */
export const URL_BYTES_MAX = 2048

/** A raw link may be longer than its canonical form (dot segments, line breaks), but not by more than this factor. */
const RAW_FACTOR_MAX = 8

/**
 * Why a link is not crawlable: `syntax` no URL by the standard, `scheme` neither http nor https, `too-long` longer
 * than the limit in force.
 */
export type UrlRefusal = 'syntax' | 'scheme' | 'too-long'

export type CanonicalUrl = { readonly url: string } | { readonly refused: UrlRefusal }

const SYNTAX = { refused: 'syntax' } as const
const SCHEME = { refused: 'scheme' } as const
const TOO_LONG = { refused: 'too-long' } as const

/** A scheme at the start of a raw link; leading controls and blanks are not part of a URL. */
const SCHEME_AT_START = /^[\0-\x20]*([a-z][a-z0-9+.-]*):/i

/**
 * Escapes of unreserved characters (RFC 3986 2.3): letters, digits, `-`, `.`, `_`, `~`; and escapes with lower-case hex digits.
 */
const ESCAPE = /%[0-9a-f]{2}/gi
const HEX_DIGIT = /[0-9a-f]/i
const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * Resolves a link and brings it into canonical form.
 *
 * The form is the WHATWG serialisation without userinfo and fragment, with percent escapes normalised as RFC 3986
 * 6.2.2.1 and 6.2.2.2 say: hex digits in upper case, escapes of unreserved characters decoded.
 *
 * @param href      the link as it stands in the page, character references already decoded
 * @param base      absolute URL that relative links refer to; without it only absolute links resolve
 * @param encoding  the page's encoding (a name of the Encoding Standard), in which its query is written; default utf-8
 * @param urlBytesMax  longest canonical URL, bytes
 * Errors: none thrown. Cost: one WHATWG parse, about a microsecond.
 */
export function canonicalUrl(
  href: string,
  base?: string,
  encoding = 'utf-8',
  urlBytesMax = URL_BYTES_MAX,
): CanonicalUrl {
  const raw = withoutFragment(href)
  if (raw.length > urlBytesMax * RAW_FACTOR_MAX) return hasForeignScheme(raw) ? SCHEME : TOO_LONG
  const parsed = URL.parse(encoding === 'utf-8' ? raw : encodeQueryOf(raw, encoding), base)
  if (parsed === null) return hasForeignScheme(raw) ? SCHEME : SYNTAX
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return SCHEME
  const url = normalizeEscapes(serialized(parsed))
  return url.length > urlBytesMax ? TOO_LONG : { url }
}

/** Keeps the `#`: it guards a blank before it, which would be stripped at the end of the string but belongs to the path. */
function withoutFragment(href: string): string {
  const hashAt = href.indexOf('#')
  return hashAt < 0 ? href : href.slice(0, hashAt + 1)
}

function serialized(parsed: URL): string {
  let url = parsed.href
  if (parsed.username !== '' || parsed.password !== '') {
    // The first `@` ends the userinfo: within it they are escaped. (`search` would not tell `?` from nothing.)
    url = parsed.protocol + '//' + url.slice(url.indexOf('@') + 1)
  }
  return url.endsWith('#') ? url.slice(0, -1) : url
}

function hasForeignScheme(raw: string): boolean {
  const scheme = SCHEME_AT_START.exec(raw.slice(0, 256))?.[1]?.toLowerCase()
  return scheme !== undefined && scheme !== 'http' && scheme !== 'https'
}

/**
 * Normalises percent escapes of a serialised URL; idempotent.
 *
 * A decoded character may not become part of a new escape: in `%%37%32` decoding would give `%72`, which is an `r`.
 * So an escape right behind a lone percent sign, or behind one and a hex digit, stays as it is.
 */
export function normalizeEscapes(url: string): string {
  return url.includes('%') ? url.replace(ESCAPE, normalizedEscape) : url
}

function normalizedEscape(triplet: string, at: number, url: string): string {
  const decoded = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
  if (!UNRESERVED.test(decoded)) return triplet.toUpperCase()
  const isBehindPercent = url[at - 1] === '%' || (url[at - 2] === '%' && HEX_DIGIT.test(url[at - 1]))
  return isBehindPercent ? triplet.toUpperCase() : decoded
}
