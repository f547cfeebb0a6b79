/**
 * From an answer to what a crawler follows: the one door of this folder for whoever has fetched a page.
 *
 * Invariant: what is returned shares no memory with the body.
 */
import { URL_BYTES_MAX } from './canonical.ts'
import { type Charset, detectCharset } from './charset.ts'
import { addHref, type Collection, type CollectOptions, emptyCollection } from './collect.ts'
import { setCanonical, setRefresh } from './elements.ts'
import type { PageFacts } from './facts.ts'
import { headerValues, type PageHeaders } from './headers.ts'
import { parseLinkHeader } from './link-header.ts'
import { markupOf, mimeTypeOf } from './mime.ts'
import { pageOf } from './page.ts'
import { relationOf, relWords } from './rel.ts'
import { resolverFor } from './resolver.ts'
import { withRobotsHeader } from './robots-meta.ts'
import { scanPage } from './scan.ts'

/** Links kept of one page. The largest honest pages have a few thousand. */
const LINKS_MAX = 10_000

export type ExtractOptions = {
  /** Links and resources kept of a page. Default: `LINKS_MAX`. */
  readonly linksMax?: number
  /** Longest URL, bytes; longer links are refused. Default: `URL_BYTES_MAX`. */
  readonly urlBytesMax?: number
  /** Whether resources are listed. Default: false. */
  readonly resources?: boolean
  /** Whether refused links are listed. Default: false, they are counted. */
  readonly keepRefused?: boolean
  /** Our product token, for what a page asks of one robot. Default: none. */
  readonly robotsAgent?: string
  /** The crawl's rules of URL equality, applied to every canonical URL. Default: none. */
  readonly rewrite?: (url: string) => string
}

/**
 * Reads the links and other facts of a page.
 *
 * A body that is neither HTML nor XHTML by its Content-Type (or, without one, by its first bytes) has no links but those
 * of its headers. XHTML is read by HTML's rules, except that any tag may close itself and CDATA sections are text.
 *
 * @param body     the body, content encodings removed; not changed, and not kept
 * @param headers  the answer's header fields
 * @param url      absolute URL of the answer (the last one of a chain of redirects)
 * Errors: none for any body; an assertion if `url` is no absolute http or https URL. Cost: linear in the body, see scan.ts.
 */
export function extractLinks(
  body: Uint8Array,
  headers: PageHeaders,
  url: string,
  options: ExtractOptions = {},
): PageFacts {
  const type = headerValues(headers, 'content-type').join(', ')
  const markup = markupOf(body, mimeTypeOf(type))
  const context = {
    url,
    headers,
    robotsAgent: (options.robotsAgent ?? '').toLowerCase(),
    options: collectOptions(options),
  }
  if (markup === 'none') return factsOf(startCollection(context, undefined, 'utf-8'), undefined, undefined)

  let charset: Charset | { readonly encoding: string; readonly source: 'meta' } = detectCharset(body, type)
  let hasEncoding = charset.source === 'bom' || charset.source === 'header'
  let base: string | undefined
  for (;;) {
    const into = startCollection(context, base, charset.encoding)
    const page = pageOf(body, charset.encoding)
    const isXml = markup === 'xhtml'
    const { robotsAgent } = context
    const restart = scanPage({ page, into, robotsAgent, isXml, hasBase: base !== undefined, hasEncoding })
    if (restart === undefined) return factsOf(into, charset.encoding, charset.source)
    base = restart.base ?? base
    if (restart.encoding === undefined) continue
    charset = { encoding: restart.encoding, source: 'meta' }
    hasEncoding = true
  }
}

type Context = {
  readonly url: string
  readonly headers: PageHeaders
  readonly robotsAgent: string
  readonly options: CollectOptions
}

function collectOptions(options: ExtractOptions): CollectOptions {
  return {
    linksMax: options.linksMax ?? LINKS_MAX,
    urlBytesMax: options.urlBytesMax ?? URL_BYTES_MAX,
    resources: options.resources ?? false,
    keepRefused: options.keepRefused ?? false,
    rewrite: options.rewrite,
  }
}

/** A collection that has what the headers say. Links in headers refer to the answer's URL, not to the page's base. */
function startCollection(context: Context, base: string | undefined, encoding: string): Collection {
  const { url, headers, robotsAgent, options } = context
  const into = emptyCollection(url, encoding, options)
  for (const value of headerValues(headers, 'x-robots-tag'))
    into.robots = withRobotsHeader(into.robots, value, robotsAgent)
  for (const link of headerValues(headers, 'link').flatMap(parseLinkHeader)) {
    const words = relWords(link.rel)
    const relation = words.length === 0 ? 'none' : relationOf(words, link.type)
    if (relation === 'followed') addHref(into, link.href, 'header', words.includes('nofollow'))
    if (relation === 'canonical') setCanonical(into, link.href)
  }
  const refresh = headerValues(headers, 'refresh')[0]
  if (refresh !== undefined) setRefresh(into, refresh)
  if (base !== undefined) into.resolver = resolverFor(base, encoding, options.urlBytesMax)
  into.isBaseUsed = false
  return into
}

function factsOf(
  into: Collection,
  encoding: string | undefined,
  encodingSource: PageFacts['encodingSource'],
): PageFacts {
  // A page that asks not to be followed asks it of all its links, wherever it says so.
  if (!into.robots.follow) for (const link of into.links) link.nofollow = true
  const { links, linksCut, refused, refusedLinks, canonical, title, robots } = into
  const resources = [...into.resources]
  const refresh = into.refresh ?? undefined
  const base = into.resolver.base
  return {
    ...{ links, linksCut, refused, refusedLinks, resources, canonical, refresh, base },
    ...{ encoding, encodingSource, title, robots },
  }
}
