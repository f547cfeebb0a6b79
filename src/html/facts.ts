/** What a page says that a crawler wants to know; the scanner's result. */
import type { UrlRefusal } from './canonical.ts'
import type { CharsetSource } from './charset.ts'
import type { RobotsDirectives } from './robots-meta.ts'

/** What a link stood in: `frame` is frame and iframe, `link` a link element, `header` the Link header, `refresh` either kind. */
export type LinkKind = 'a' | 'area' | 'frame' | 'link' | 'refresh' | 'header'

/** A link to another page. Its `url` shares no memory with the page, so it may be kept for hours. */
export type Link = {
  readonly url: string
  /** Of the first place where the page has it. */
  readonly kind: LinkKind
  /** Whether the page asks robots not to follow it, in every place where it has it. */
  readonly nofollow: boolean
}

export type RefusedLink = { readonly href: string; readonly reason: UrlRefusal }

/** Where the page sends its reader by itself, and after how many seconds. */
export type Refresh = { readonly url: string; readonly delaySeconds: number }

export type PageFacts = {
  /** Canonical URLs to follow, each once, in the order of the page, headers first; never the page itself. */
  readonly links: readonly Link[]
  /** Other links met after `linksMax` were found; one that is spelled in two ways counts twice. */
  readonly linksCut: number
  /** Links that are not crawlable, by reason; the same spelling counts once. */
  readonly refused: Readonly<Record<UrlRefusal, number>>
  /** Those links as written, cut at 2,048 characters; [] unless asked for. */
  readonly refusedLinks: readonly RefusedLink[]
  /** Images, scripts, styles, media: canonical URLs, each once; [] unless asked for. */
  readonly resources: readonly string[]
  /** The address the page wants to be known by. */
  readonly canonical: string | undefined
  /** Undefined also where the page only reloads itself. */
  readonly refresh: Refresh | undefined
  /** What relative links of the page refer to. */
  readonly base: string
  /** Name of the Encoding Standard in lower case; undefined for what is no markup. */
  readonly encoding: string | undefined
  /** Where the encoding is from; `meta` is a declaration beyond the prescan. */
  readonly encodingSource: CharsetSource | 'meta' | undefined
  /** Text of the first title, blanks collapsed, at most 1,024 characters. */
  readonly title: string | undefined
  readonly robots: RobotsDirectives
}
