/**
 * The scanner: goes through a page's markup as the WHATWG tokenizer does, but looks only into the tags that matter.
 *
 * Invariant: every byte is visited a bounded number of times, whatever the page; nothing is built but facts. A page is
 * scanned again at most twice: when a `base` or a charset declaration turns up behind what depends on it.
 */
import { EXCLAMATION, GREATER, IS_LETTER, SLASH, TAG_NAME_BYTE } from './bytes.ts'
import type { Collection } from './collect.ts'
import { attributeText, encodingOfMeta, has, onAnchor, onFrame, onLink, onMeta, onResource } from './elements.ts'
import { allowsCdata, endTag, type Foreign, startTag } from './foreign.ts'
import { ATTRIBUTE, hashStep, idOf, TAG, TAGS } from './names.ts'
import type { Page } from './page.ts'
import { behind, endOfComment, endOfRawText, endOfScript } from './raw-text.ts'
import { resolverFor } from './resolver.ts'
import { emptyTag, readTag, skipTag, type Tag } from './tag.ts'
import { titleText } from './title.ts'

export type Scan = {
  readonly page: Page
  readonly into: Collection
  readonly robotsAgent: string
  /** Whether the markup is XML: any tag may close itself, and CDATA sections stand anywhere. */
  readonly isXml: boolean
  readonly tag: Tag
  readonly foreign: Foreign
  /** Open templates, the innermost last: whether the content is inert. */
  readonly templates: boolean[]
  inertCount: number
  /** Whether the base is settled: by a `base` element, or by an earlier scan that saw one. */
  hasBase: boolean
  /** Whether the encoding is settled: only a guess and the prescan may be overruled. */
  hasEncoding: boolean
  /** Set when the page has to be read again with another base or encoding. */
  restart: { readonly base?: string; readonly encoding?: string } | undefined
}

export type ScanContext = Pick<Scan, 'page' | 'into' | 'robotsAgent' | 'isXml' | 'hasBase' | 'hasEncoding'>

/** Pages are scanned one at a time, so all share the room for the tag at hand. */
const TAG_READ = emptyTag()

/** Reads the page into `context.into`. Cost: linear, about a nanosecond or two a byte. */
export function scanPage(context: ScanContext): Scan['restart'] {
  const scan: Scan = {
    ...context,
    tag: TAG_READ,
    foreign: { open: [] },
    templates: [],
    inertCount: 0,
    restart: undefined,
  }
  walk(scan)
  return scan.restart
}

/** The walk itself: one long function, because a call or a look into `scan` for each tag would double its time. */
function walk(scan: Scan): void {
  const { page, tag, templates } = scan
  const { bytes, text } = page
  const { open } = scan.foreign
  const length = bytes.length
  for (let at = text.indexOf('<'); at >= 0 && at + 1 < length; at = text.indexOf('<', at)) {
    let nameAt = at + 1
    const isEndTag = bytes[nameAt] === SLASH
    if (isEndTag) nameAt++
    if (nameAt >= length || IS_LETTER[bytes[nameAt]] === 0) {
      at = isEndTag ? endOfBadEndTag(page, nameAt) : onDeclaration(scan, at, bytes[nameAt])
      continue
    }
    let nameEnd = nameAt
    let hash = 0
    for (let lower = 0; nameEnd < length; nameEnd++) {
      lower = TAG_NAME_BYTE[bytes[nameEnd]]
      if (lower === 0) break
      hash = hashStep(hash, lower)
    }
    if (isEndTag) {
      if (open.length > 0 || templates.length > 0) closeElement(scan, text.slice(nameAt, nameEnd).toLowerCase())
      at = nameEnd < length && bytes[nameEnd] === GREATER ? nameEnd + 1 : skipTag(page, nameEnd)
      continue
    }
    const id = idOf(TAGS, bytes, nameAt, nameEnd, hash)
    if (id === 0 && open.length === 0) {
      at = nameEnd < length && bytes[nameEnd] === GREATER ? nameEnd + 1 : skipTag(page, nameEnd)
      continue
    }
    const end = readTag(page, nameEnd, tag)
    if (end < 0) return
    const isForeign = open.length > 0 || id === TAG.svg || id === TAG.math
    at = isForeign ? onForeignTag(scan, nameAt, nameEnd, id, end) : onHtmlTag(scan, id, end)
    if (scan.restart !== undefined) return
  }
}

/** `</>` is nothing, `</` before anything else but a letter opens a comment. */
function endOfBadEndTag(page: Page, at: number): number {
  return at < page.bytes.length && page.bytes[at] === GREATER ? at + 1 : behind(page.text, '>', at)
}

const RAW_NAMES: ReadonlySet<number> = new Set([
  ...[TAG.script, TAG.style, TAG.title, TAG.textarea, TAG.xmp, TAG.iframe, TAG.noembed, TAG.noframes],
])

function onForeignTag(scan: Scan, nameAt: number, nameEnd: number, id: number, end: number): number {
  const { page, tag, into } = scan
  const name = page.text.slice(nameAt, nameEnd).toLowerCase()
  const hasFontAttribute = has(tag, ATTRIBUTE.color) || has(tag, ATTRIBUTE.face) || has(tag, ATTRIBUTE.size)
  const encoding = name === 'annotation-xml' ? attributeText(page, tag, ATTRIBUTE.encoding) : ''
  const start = { name, isSelfClosing: tag.isSelfClosing, hasFontAttribute, encoding }
  const space = startTag(scan.foreign, start, RAW_NAMES.has(id))
  if (space === 'html') return id === 0 ? end : onHtmlTag(scan, id, end)
  if (space === 'math' || scan.inertCount > 0) return end
  if (id === TAG.a) onAnchor(into, page, tag, 'a', true)
  if (id === TAG.image) onResource(into, page, tag, id, true)
  return end
}

/** An HTML element that matters. @returns where to go on: behind the tag, or at the end tag of raw text */
function onHtmlTag(scan: Scan, id: number, end: number): number {
  if (scan.inertCount === 0) onLiveTag(scan, id)
  if (id === TAG.meta) settleEncoding(scan)
  if (scan.isXml && scan.tag.isSelfClosing) return end
  switch (id) {
    case TAG.script:
      return endOfScript(scan.page.text, end)
    case TAG.title:
      return onTitle(scan, end)
    case TAG.plaintext:
      return scan.page.bytes.length
    case TAG.template:
      openTemplate(scan)
      return end
    default:
      return RAW_NAMES.has(id) ? endOfRawText(scan.page.text, end, TAGS.names[id]) : end
  }
}

function onLiveTag(scan: Scan, id: number): void {
  const { into, page, tag } = scan
  if (id === TAG.a) onAnchor(into, page, tag, 'a', false)
  else if (id === TAG.area) onAnchor(into, page, tag, 'area', false)
  else if (id === TAG.link) onLink(into, page, tag)
  else if (id === TAG.meta) onMeta(into, page, tag, scan.robotsAgent)
  else if (id === TAG.base) onBase(scan)
  else if (id === TAG.frame || id === TAG.iframe) onFrame(into, page, tag)
  else if (into.options.resources) onResource(into, page, tag, id, false)
}

/** The first `base` with an address counts for all links, also for those before it. */
function onBase(scan: Scan): void {
  if (scan.hasBase || !has(scan.tag, ATTRIBUTE.href)) return
  scan.hasBase = true
  const { into } = scan
  const href = attributeText(scan.page, scan.tag, ATTRIBUTE.href)
  const parsed = URL.parse(href, into.url)
  if (parsed === null || parsed.protocol === 'data:' || parsed.protocol === 'javascript:') return
  if (into.isBaseUsed) scan.restart = { base: parsed.href }
  else into.resolver = resolverFor(parsed.href, into.resolver.encoding, into.options.urlBytesMax)
}

/** A declaration beyond the prescan overrules what is only a guess (HTML 13.2.3.4, "changing the encoding"). */
function settleEncoding(scan: Scan): void {
  const encoding = scan.hasEncoding ? undefined : encodingOfMeta(scan.page, scan.tag)
  if (encoding === undefined) return
  scan.hasEncoding = true
  if (encoding !== scan.page.encoding) scan.restart = { encoding }
}

function onTitle(scan: Scan, at: number): number {
  const end = endOfRawText(scan.page.text, at, 'title')
  if (scan.into.title === undefined && scan.inertCount === 0) scan.into.title = titleText(scan.page, at, end)
  return end
}

/** A template's content is inert, unless it is a declarative shadow root, which is shown. */
function openTemplate(scan: Scan): void {
  const isShadow = /^(?:open|closed)$/i.test(attributeText(scan.page, scan.tag, ATTRIBUTE.shadowrootmode))
  scan.templates.push(!isShadow)
  if (!isShadow) scan.inertCount++
}

function closeElement(scan: Scan, name: string): void {
  const space = scan.foreign.open.length > 0 ? endTag(scan.foreign, name) : 'html'
  if (space === 'html' && name === 'template' && scan.templates.pop() === true) scan.inertCount--
}

function onDeclaration(scan: Scan, at: number, next: number): number {
  const { text } = scan.page
  if (next === EXCLAMATION) {
    if (text.startsWith('--', at + 2)) return endOfComment(text, at)
    const isCdata = text.startsWith('[CDATA[', at + 2) && (scan.isXml || allowsCdata(scan.foreign))
    return isCdata ? behind(text, ']]>', at + 9) : behind(text, '>', at + 2)
  }
  return next === 0x3f ? behind(text, '>', at + 2) : at + 1
}
