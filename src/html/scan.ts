/**
 * The scanner: goes through a page's markup as the WHATWG tokenizer does, but looks only into the tags that matter.
 *
 * Invariant: every byte is visited a bounded number of times, whatever the page; nothing is built but facts. A page is
 * scanned again at most twice: when a `base` or a charset declaration turns up behind what depends on it.
 */
import { DASH, EXCLAMATION, GREATER, IS_LETTER, LESS, QUESTION, SLASH, TAG_NAME_BYTE } from './bytes.ts'
import type { Collection } from './collect.ts'
import { attributeText, encodingOfMeta, has, onAnchor, onFrame, onLink, onMeta, onResource } from './elements.ts'
import { allowsCdata, endTag, type Foreign, startTag } from './foreign.ts'
import { ATTRIBUTE, hashStep, idOf, TAG, TAGS } from './names.ts'
import { flatText, type Page } from './page.ts'
import { behindGreater, endOfCdata, endOfComment, endOfRawText, endOfScript } from './raw-text.ts'
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
  const { bytes, length } = page
  const { open } = scan.foreign
  for (let at = 0; at < length; ) {
    while (bytes[at] !== LESS) at++
    if (at >= length) return
    const isEndTag = bytes[at + 1] === SLASH
    const nameAt = isEndTag ? at + 2 : at + 1
    if (IS_LETTER[bytes[nameAt]] === 0) {
      // `</>` is nothing, `</` before anything else but a letter opens a bogus comment: both end with `>`.
      at = isEndTag ? behindGreater(page, nameAt) : onDeclaration(scan, at)
      continue
    }
    let nameEnd = nameAt
    let hash = 0
    for (let lower = TAG_NAME_BYTE[bytes[nameEnd]]; lower !== 0; lower = TAG_NAME_BYTE[bytes[nameEnd]]) {
      hash = hashStep(hash, lower)
      nameEnd++
    }
    if (isEndTag && open.length + templates.length > 0) closeElement(scan, nameAt, nameEnd)
    const id = isEndTag ? 0 : idOf(TAGS, bytes, nameAt, nameEnd, hash)
    if (isEndTag || (id === 0 && open.length === 0)) {
      at = bytes[nameEnd] === GREATER ? nameEnd + 1 : skipTag(bytes, nameEnd)
      continue
    }
    const end = readTag(bytes, nameEnd, tag)
    if (end > length) return
    const isForeign = open.length > 0 || id === TAG.svg || id === TAG.math
    at = isForeign ? onForeignTag(scan, nameAt, nameEnd, id, end) : onHtmlTag(scan, id, end)
    if (scan.restart !== undefined) return
  }
}

const RAW_NAMES: ReadonlySet<number> = new Set([
  ...[TAG.script, TAG.style, TAG.title, TAG.textarea, TAG.xmp, TAG.iframe, TAG.noembed, TAG.noframes],
])

function onForeignTag(scan: Scan, nameAt: number, nameEnd: number, id: number, end: number): number {
  const { page, tag, into } = scan
  const name = flatText(page, nameAt, nameEnd).toLowerCase()
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
      return endOfScript(scan.page, end)
    case TAG.title:
      return onTitle(scan, end)
    case TAG.plaintext:
      return scan.page.length
    case TAG.template:
      openTemplate(scan)
      return end
    default:
      return RAW_NAMES.has(id) ? endOfRawText(scan.page, end, TAGS.names[id]) : end
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
  const end = endOfRawText(scan.page, at, 'title')
  if (scan.into.title === undefined && scan.inertCount === 0) scan.into.title = titleText(scan.page, at, end)
  return end
}

/** A template's content is inert, unless it is a declarative shadow root, which is shown. */
function openTemplate(scan: Scan): void {
  const isShadow = /^(?:open|closed)$/i.test(attributeText(scan.page, scan.tag, ATTRIBUTE.shadowrootmode))
  scan.templates.push(!isShadow)
  if (!isShadow) scan.inertCount++
}

/** An end tag where it matters; one that the page's end cuts does no harm, for nothing follows. */
function closeElement(scan: Scan, nameAt: number, nameEnd: number): void {
  const name = flatText(scan.page, nameAt, nameEnd).toLowerCase()
  const space = scan.foreign.open.length > 0 ? endTag(scan.foreign, name) : 'html'
  if (space === 'html' && name === 'template' && scan.templates.pop() === true) scan.inertCount--
}

const CDATA = Buffer.from('[CDATA[')

/** What is opened by a `<` that opens no tag: a comment, a bogus one, a CDATA section, or nothing. */
function onDeclaration(scan: Scan, at: number): number {
  const { page } = scan
  const { bytes } = page
  if (bytes[at + 1] === QUESTION) return behindGreater(page, at + 2)
  if (bytes[at + 1] !== EXCLAMATION) return at + 1
  if (bytes[at + 2] === DASH && bytes[at + 3] === DASH) return endOfComment(page, at)
  const isCdata = CDATA.every((byte, index) => bytes[at + 2 + index] === byte)
  return isCdata && (scan.isXml || allowsCdata(scan.foreign)) ? endOfCdata(page, at + 9) : behindGreater(page, at + 2)
}
