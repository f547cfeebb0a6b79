/**
 * The facts of a page under construction: links made canonical and told apart, each look-up bounded by the page.
 *
 * Invariant: a spelling is resolved once; `indexByUrl` has every URL of `links`, and the page's own as `SKIPPED`.
 */

import assert from 'node:assert'
import { IN_LINK } from './bytes.ts'
import { type CanonicalUrl, canonicalUrl, type UrlRefusal } from './canonical.ts'
import type { LinkKind, Refresh, RefusedLink } from './facts.ts'
import { enterLink, findLink, forgetLinks, hashOfRange, type KnownLinks, noKnownLinks } from './known-links.ts'
import { flatText, type Page, valueText } from './page.ts'
import { type Resolver, resolve, resolvePlain, resolverFor } from './resolver.ts'
import { ROBOTS_ALLOW_ALL, type RobotsDirectives } from './robots-meta.ts'
import type { Tag } from './tag.ts'

/** Index of what is known and not in the list: refused links and the page itself. */
const SKIPPED = -1

/** A raw link may be this many times longer than a URL: escapes and references shrink. Longer ones are not decoded. */
const RAW_FACTOR_MAX = 8

export type CollectOptions = {
  readonly linksMax: number
  readonly urlBytesMax: number
  readonly resources: boolean
  readonly keepRefused: boolean
  readonly rewrite: ((url: string) => string) | undefined
}

export type Collection = {
  readonly options: CollectOptions
  /** The page's own URL, and its canonical form. */
  readonly url: string
  readonly own: string
  resolver: Resolver
  /** Whether anything was resolved against the base, so that another base would change it. */
  isBaseUsed: boolean
  readonly links: { url: string; kind: LinkKind; nofollow: boolean }[]
  /** The links' spellings in the page → index. */
  readonly known: KnownLinks
  readonly indexByUrl: Map<string, number>
  linksCut: number
  readonly refused: Record<UrlRefusal, number>
  readonly refusedLinks: RefusedLink[]
  readonly resources: Set<string>
  canonical: string | undefined
  /** null: the page reloads itself, which also settles the matter. */
  refresh: Refresh | null | undefined
  title: string | undefined
  robots: RobotsDirectives
}

/** Pages are read one at a time, so all share the room for spellings. */
const KNOWN = noKnownLinks()

/** A collection for the page at `url` (absolute, http or https), whose links refer to that URL until a base is known. */
export function emptyCollection(url: string, encoding: string, options: CollectOptions): Collection {
  const resolver = resolverFor(url, encoding, options.urlBytesMax)
  assert(resolver.plain !== undefined, `${url} is no absolute http or https URL`)
  const own = rewritten(options, resolver.base)
  forgetLinks(KNOWN)
  return {
    options,
    url,
    own,
    resolver,
    isBaseUsed: false,
    links: [],
    known: KNOWN,
    indexByUrl: new Map([[own, SKIPPED]]),
    linksCut: 0,
    refused: { syntax: 0, scheme: 0, 'too-long': 0 },
    refusedLinks: [],
    resources: new Set(),
    canonical: undefined,
    refresh: undefined,
    title: undefined,
    robots: ROBOTS_ALLOW_ALL,
  }
}

function rewritten(options: CollectOptions, url: string): string {
  return options.rewrite === undefined ? url : options.rewrite(url)
}

/** Adds the link in attribute `id` of a tag. */
export function addTagLink(
  into: Collection,
  page: Page,
  tag: Tag,
  id: number,
  kind: LinkKind,
  nofollow: boolean,
): void {
  const { known } = into
  const start = tag.start[id]
  const isHarmless = (tag.classes[id] & IN_LINK.special) === 0
  const end = isHarmless ? tag.hash[id] : tag.end[id]
  const hash = hashOfRange(page.bytes, start, end)
  const entry = findLink(known, page.bytes, start, end, hash)
  if (entry >= 0) {
    if (!nofollow) follow(into, known.index[entry])
    return
  }
  const { urlBytesMax } = into.options
  const isPlain = isHarmless && end - start <= urlBytesMax
  const url = isPlain ? resolvePlain(into.resolver, flatText(page, start, end), tag.classes[id]) : undefined
  const isShort = url !== undefined && url.length <= urlBytesMax
  const canonical = isShort ? { url } : resolveRaw(into, page, start, end)
  into.isBaseUsed = true
  if ('refused' in canonical && into.options.keepRefused)
    keepRefused(into, flatPrefix(into, page, start, end), canonical.refused)
  enterLink(known, start, end, hash, addLink(into, canonical, kind, nofollow))
}

function follow(into: Collection, index: number): void {
  if (index !== SKIPPED) into.links[index].nofollow = false
}

function resolveRaw(into: Collection, page: Page, start: number, end: number): CanonicalUrl {
  const rawMax = into.options.urlBytesMax * RAW_FACTOR_MAX
  if (end - start <= rawMax) return resolve(into.resolver, valueText(page, start, end))
  // Too long to be a URL; asked only for the reason.
  return canonicalUrl(flatText(page, start, start + rawMax + 1), undefined, 'utf-8', into.options.urlBytesMax)
}

/** Adds a link found elsewhere than in an attribute of its own. */
export function addHref(into: Collection, href: string, kind: LinkKind, nofollow: boolean): string | undefined {
  const canonical = resolve(into.resolver, href)
  into.isBaseUsed = true
  if ('refused' in canonical && into.options.keepRefused) keepRefused(into, href, canonical.refused)
  addLink(into, canonical, kind, nofollow)
  return 'url' in canonical ? rewritten(into.options, canonical.url) : undefined
}

/** @returns the link's index, `SKIPPED` if it is not in the list */
function addLink(into: Collection, canonical: CanonicalUrl, kind: LinkKind, nofollow: boolean): number {
  if ('refused' in canonical) {
    into.refused[canonical.refused]++
    return SKIPPED
  }
  const url = rewritten(into.options, canonical.url)
  const known = into.indexByUrl.get(url)
  if (known !== undefined) {
    if (!nofollow) follow(into, known)
    return known
  }
  if (into.links.length >= into.options.linksMax) {
    into.linksCut++
    return SKIPPED
  }
  into.indexByUrl.set(url, into.links.length)
  return into.links.push({ url, kind, nofollow }) - 1
}

function flatPrefix(into: Collection, page: Page, start: number, end: number): string {
  return valueText(page, start, Math.min(end, start + into.options.urlBytesMax))
}

function keepRefused(into: Collection, href: string, reason: UrlRefusal): void {
  if (into.refusedLinks.length < into.options.linksMax) into.refusedLinks.push({ href, reason })
}

/** Adds an image, a script and the like; what is not crawlable is no loss. */
export function addResource(into: Collection, href: string): void {
  if (!into.options.resources || into.resources.size >= into.options.linksMax || href === '') return
  const canonical = resolve(into.resolver, href)
  into.isBaseUsed = true
  if ('url' in canonical) into.resources.add(rewritten(into.options, canonical.url))
}
