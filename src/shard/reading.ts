/**
 * From an answer to facts: decodes the body, reads its links. Effects end here; what comes out is an observation.
 * No DOM: the scanner reads bytes.
 */
import { hash } from 'node:crypto'
import type { FoundLink } from '../core/observation.ts'
import { REASONS } from '../core/reasons.ts'
import type { Settings } from '../core/settings.ts'
import { normalizeUrl } from '../core/url.ts'
import { applyUrlRules, URL_RULES_DEFAULT } from '../core/url-rules.ts'
import type { DecodeContent } from '../env/content.ts'
import type { FetchAnswer } from '../env/web.ts'
import { extractLinks } from '../html/extract-links.ts'
import { headerValues, type PageHeaders } from '../html/headers.ts'

/** Characters kept of a media type (RFC 6838 allows 127 for each half). */
const MEDIA_TYPE_CHARS_MAX = 255

/** An answer reduced to what the crawl decides on, with the body still in hand. */
export interface ReadAnswer {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  /** As received. */
  readonly body: Uint8Array
  readonly decodedBytes: number
  readonly contentType: string
  readonly location: string | undefined
  readonly retryAfterMs: number | undefined
  readonly links: readonly FoundLink[]
  readonly turnedAway: ReadonlyArray<readonly [number, number]>
  readonly isTruncated: boolean
}

/** Reads an answer to a request for `url`. Cost: decoding and one scan of the body. */
export function readAnswer(
  url: string,
  answer: FetchAnswer,
  settings: Settings,
  decode: DecodeContent,
  wallMs: number,
): ReadAnswer {
  const { status, headers, body } = answer
  const contentType = headerValues(headers, 'content-type')[0] ?? ''
  const isRedirect = status >= 300 && status < 400
  const hasLinks = status >= 200 && status < 300 && body.length > 0
  const content = decodeBody(headers, body, settings, decode)
  const found = hasLinks ? linksOf(content.bytes, headers, url, settings) : { links: [], turnedAway: [] }
  return {
    status,
    headers,
    body,
    decodedBytes: content.bytes.length,
    contentType: contentType.split(';', 1)[0].trim().toLowerCase().slice(0, MEDIA_TYPE_CHARS_MAX),
    location: isRedirect ? locationOf(headers, url, settings) : undefined,
    retryAfterMs: retryAfterMs(headerValues(headers, 'retry-after')[0], wallMs),
    links: found.links,
    turnedAway: found.turnedAway,
    isTruncated: answer.truncated || content.truncated,
  }
}

/** The body without its content encodings. */
export function decodeBody(
  headers: PageHeaders,
  body: Uint8Array,
  settings: Pick<Settings, 'bodyBytesMax' | 'ratioMax'>,
  decode: DecodeContent,
): { readonly bytes: Uint8Array; readonly truncated: boolean } {
  const encoding = headerValues(headers, 'content-encoding').join(', ')
  if (encoding === '') return { bytes: body, truncated: false }
  return decode(body, encoding, { decodedBytesMax: settings.bodyBytesMax, ratioMax: settings.ratioMax })
}

/** Links of a body, canonical by the crawl's rules, and what was turned away by reason number. */
export function linksOf(
  bytes: Uint8Array,
  headers: PageHeaders,
  url: string,
  settings: Settings,
): { readonly links: readonly FoundLink[]; readonly turnedAway: ReadonlyArray<readonly [number, number]> } {
  const { urlRules, linksMax, urlBytesMax, robotsAgent } = settings
  const options = { linksMax, urlBytesMax, robotsAgent }
  const rewrite = isPlain(urlRules) ? undefined : (canonical: string) => applyUrlRules(canonical, urlRules)
  const facts = extractLinks(bytes, headers, url, rewrite === undefined ? options : { ...options, rewrite })
  const turnedAway: Array<readonly [number, number]> = []
  if (facts.linksCut > 0) turnedAway.push([REASONS['budget.links'], facts.linksCut])
  if (facts.refused.scheme > 0) turnedAway.push([REASONS['scheme.forbidden'], facts.refused.scheme])
  if (facts.refused.syntax > 0) turnedAway.push([REASONS['url.invalid'], facts.refused.syntax])
  if (facts.refused['too-long'] > 0) turnedAway.push([REASONS['url.length'], facts.refused['too-long']])
  return { links: facts.links, turnedAway }
}

function isPlain(rules: Settings['urlRules']): boolean {
  return rules === URL_RULES_DEFAULT || JSON.stringify(rules) === JSON.stringify(URL_RULES_DEFAULT)
}

function locationOf(headers: PageHeaders, base: string, settings: Settings): string | undefined {
  const location = headerValues(headers, 'location')[0]
  if (location === undefined) return undefined
  const { urlRules: rules, urlBytesMax } = settings
  const canonical = normalizeUrl(location, { base, rules, urlBytesMax })
  return 'url' in canonical ? canonical.url : undefined
}

/** Retry-After in both of its forms, milliseconds from now; undefined where it is none of them (RFC 9110, 10.2.3). */
export function retryAfterMs(value: string | undefined, wallMs: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) || /^[\d.+-]+$/.test(text) ? undefined : Math.max(0, atMs - wallMs)
}

/** SHA-256 as 32 latin1 characters. */
export function sha256(body: Uint8Array): string {
  return hash('sha256', body, 'binary')
}
