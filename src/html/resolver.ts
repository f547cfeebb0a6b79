/**
 * Links of one page to canonical URLs. Plain forms (most links of most pages) are put together from the base's parts;
 * all others go through the URL class.
 *
 * Invariant: `resolvePlain` answers only where its answer is that of `canonicalUrl` (property-tested).
 */
import { IN_LINK, LINK_CLASS } from './bytes.ts'
import { type CanonicalUrl, canonicalUrl } from './canonical.ts'

export type Resolver = {
  /** Absolute URL that relative links refer to, without fragment. */
  readonly base: string
  readonly encoding: string
  readonly urlBytesMax: number
  /** Parts of a base in canonical form; undefined for any other base, for which nothing relative is plain. */
  readonly plain: PlainBase | undefined
}

type PlainBase = {
  readonly origin: string
  /** The base without its query. */
  readonly path: string
  /** The base's directory, its parent, and so on up to the root; made as `../` asks for them. */
  readonly directories: string[]
}

/** A resolver for links that stand in a page with this base URL and encoding. */
export function resolverFor(base: string, encoding: string, urlBytesMax: number): Resolver {
  const canonical = canonicalUrl(base, undefined, 'utf-8', Number.MAX_SAFE_INTEGER)
  const plain = 'url' in canonical ? plainBase(canonical.url) : undefined
  return { base: 'url' in canonical ? canonical.url : base, encoding, urlBytesMax, plain }
}

function plainBase(url: string): PlainBase {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2)
  const queryAt = url.indexOf('?', pathAt)
  const path = queryAt < 0 ? url : url.slice(0, queryAt)
  return { origin: url.slice(0, pathAt), path, directories: [path.slice(0, path.lastIndexOf('/') + 1)] }
}

/**
 * Resolves a link whose characters are known to be harmless.
 *
 * @param href     without fragment and without anything `special`
 * @param classes  the joined `IN_LINK` classes of its characters
 * @returns undefined where the form is not plain
 */
export function resolvePlain(resolver: Resolver, href: string, classes: number): string | undefined {
  const { plain } = resolver
  const hasDotSegment = (classes & IN_LINK.dot) !== 0 && href.includes('/.')
  if (href.startsWith('http')) {
    const absolute = (classes & IN_LINK.colon) !== 0 && !hasDotSegment && isPlainAbsolute(href)
    if (absolute) return href
  }
  if (plain === undefined) return undefined
  if (href.startsWith('/')) return hasDotSegment || href[1] === '/' ? undefined : plain.origin + href
  if ((classes & IN_LINK.colon) !== 0) return undefined
  if (href === '') return resolver.base
  if (href.startsWith('?')) return plain.path + href
  if (href.startsWith('.')) return resolveDotted(plain, href)
  return hasDotSegment ? undefined : plain.directories[0] + href
}

/** Whether an absolute link is canonical as it stands: its origin is (asked once per origin), and its path is plain. */
function isPlainAbsolute(href: string): boolean {
  const slashesAt = href[4] === ':' ? 5 : 6
  if (!href.startsWith('//', slashesAt) || href[slashesAt - 1] !== ':') return false
  const pathAt = href.indexOf('/', slashesAt + 2)
  if (pathAt < 0) return false
  const origin = href.slice(0, pathAt + 1)
  return isCanonicalOrigin(origin)
}

/** Origins remembered, over all pages: most pages link to the same few. */
const ORIGINS_MAX = 4096

const isCanonicalByOrigin = new Map<string, boolean>()

function isCanonicalOrigin(origin: string): boolean {
  let isCanonical = isCanonicalByOrigin.get(origin)
  if (isCanonical === undefined) {
    const canonical = canonicalUrl(origin)
    isCanonical = 'url' in canonical && canonical.url === origin
    if (isCanonicalByOrigin.size >= ORIGINS_MAX) isCanonicalByOrigin.clear()
    isCanonicalByOrigin.set(origin, isCanonical)
  }
  return isCanonical
}

/** `../../x`, `./x`: climbs the base's directories; anything else that begins with a dot is left to the URL class. */
function resolveDotted(base: PlainBase, href: string): string | undefined {
  let at = 0
  let level = 0
  for (;;) {
    if (href.startsWith('../', at)) {
      at += 3
      level++
    } else if (href.startsWith('./', at)) at += 2
    else break
  }
  if (href[at] === '.' || href.includes('/.', at)) return undefined
  return directoryAt(base, level) + href.slice(at)
}

function directoryAt(base: PlainBase, level: number): string {
  const { directories, origin } = base
  while (directories.length <= level) {
    const child = directories[directories.length - 1]
    if (child.length === origin.length + 1) return child
    directories.push(child.slice(0, child.lastIndexOf('/', child.length - 2) + 1))
  }
  return directories[level]
}

/**
 * Resolves any link, character references already decoded.
 *
 * Cost: nothing but a concatenation for plain forms, else about a microsecond.
 */
export function resolve(resolver: Resolver, href: string): CanonicalUrl {
  const hashAt = href.indexOf('#')
  const end = hashAt < 0 ? href.length : hashAt
  const classes = end <= resolver.urlBytesMax ? classesOf(href, end) : IN_LINK.special
  if ((classes & IN_LINK.special) === 0) {
    const url = resolvePlain(resolver, href.slice(0, end), classes)
    if (url !== undefined && url.length <= resolver.urlBytesMax) return { url }
  }
  return canonicalUrl(href, resolver.base, resolver.encoding, resolver.urlBytesMax)
}

function classesOf(href: string, end: number): number {
  let classes = 0
  for (let at = 0; at < end; at++) {
    const unit = href.charCodeAt(at)
    // Here an ampersand is an ampersand: references are decoded.
    if (unit !== 0x26) classes |= unit < 0x80 ? LINK_CLASS[unit] : IN_LINK.special
  }
  return classes
}
