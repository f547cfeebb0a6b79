/** What each kind of element gives to the facts of its page. */

import { addHref, addResource, addTagLink, type Collection } from './collect.ts'
import type { LinkKind } from './facts.ts'
import { ATTRIBUTE, TAG } from './names.ts'
import { type Page, valueText } from './page.ts'
import { charsetInContent, declaredEncoding } from './prescan.ts'
import { parseRefresh } from './refresh.ts'
import { relationOf, relWords } from './rel.ts'
import { resolve } from './resolver.ts'
import { withDirectives } from './robots-meta.ts'
import { srcsetLinks } from './srcset.ts'
import type { Tag } from './tag.ts'

/** Longest value of an attribute other than a link that is looked at, bytes. */
const VALUE_BYTES_MAX = 64 * 1024

export function has(tag: Tag, id: number): boolean {
  return (tag.present & (1 << id)) !== 0
}

/** The decoded value of an attribute, '' without one. */
export function attributeText(page: Page, tag: Tag, id: number): string {
  if (!has(tag, id)) return ''
  return valueText(page, tag.start[id], Math.min(tag.end[id], tag.start[id] + VALUE_BYTES_MAX))
}

function isNofollow(page: Page, tag: Tag): boolean {
  return has(tag, ATTRIBUTE.rel) && relWords(attributeText(page, tag, ATTRIBUTE.rel)).includes('nofollow')
}

/** `a`, `area`: HTML's links; SVG's may have the older `xlink:href`. */
export function onAnchor(into: Collection, page: Page, tag: Tag, kind: LinkKind, isSvg: boolean): void {
  const id = isSvg && !has(tag, ATTRIBUTE.href) ? ATTRIBUTE['xlink:href'] : ATTRIBUTE.href
  if (has(tag, id)) addTagLink(into, page, tag, id, kind, isNofollow(page, tag))
}

export function onFrame(into: Collection, page: Page, tag: Tag): void {
  if (has(tag, ATTRIBUTE.src)) addTagLink(into, page, tag, ATTRIBUTE.src, 'frame', false)
}

export function onLink(into: Collection, page: Page, tag: Tag): void {
  if (!has(tag, ATTRIBUTE.href)) return
  const words = relWords(attributeText(page, tag, ATTRIBUTE.rel))
  const relation = words.length === 0 ? 'none' : relationOf(words, attributeText(page, tag, ATTRIBUTE.type))
  if (relation === 'followed') addTagLink(into, page, tag, ATTRIBUTE.href, 'link', words.includes('nofollow'))
  if (relation === 'resource') addResource(into, attributeText(page, tag, ATTRIBUTE.href))
  if (relation === 'canonical') setCanonical(into, attributeText(page, tag, ATTRIBUTE.href))
  if (has(tag, ATTRIBUTE.imagesrcset)) addSrcset(into, attributeText(page, tag, ATTRIBUTE.imagesrcset))
}

/** The first canonical address that is a URL counts. */
export function setCanonical(into: Collection, href: string): void {
  if (into.canonical !== undefined || href.trim() === '') return
  const canonical = resolve(into.resolver, href)
  into.isBaseUsed = true
  if ('url' in canonical) into.canonical = into.options.rewrite?.(canonical.url) ?? canonical.url
}

/** The encoding that a `meta` element declares, or undefined. */
export function encodingOfMeta(page: Page, tag: Tag): string | undefined {
  if (has(tag, ATTRIBUTE.charset)) {
    const encoding = declaredEncoding(attributeText(page, tag, ATTRIBUTE.charset))
    if (encoding !== undefined) return encoding
  }
  if (attributeText(page, tag, ATTRIBUTE['http-equiv']).toLowerCase() !== 'content-type') return undefined
  const label = charsetInContent(attributeText(page, tag, ATTRIBUTE.content))
  return label === undefined ? undefined : declaredEncoding(label)
}

/** @param robotsAgent  our product token, in lower case */
export function onMeta(into: Collection, page: Page, tag: Tag, robotsAgent: string): void {
  const pragma = attributeText(page, tag, ATTRIBUTE['http-equiv']).toLowerCase()
  if (pragma === 'refresh') setRefresh(into, attributeText(page, tag, ATTRIBUTE.content))
  const name = attributeText(page, tag, ATTRIBUTE.name).trim().toLowerCase()
  if (name !== '' && (name === 'robots' || name === robotsAgent)) {
    into.robots = withDirectives(into.robots, attributeText(page, tag, ATTRIBUTE.content))
  }
}

/** The first refresh that the standard accepts counts, a mere reload too. */
export function setRefresh(into: Collection, value: string): void {
  if (into.refresh !== undefined) return
  const refresh = parseRefresh(value)
  if (refresh === undefined) return
  const url = refresh.href === undefined ? into.own : addHref(into, refresh.href, 'refresh', false)
  if (url !== undefined) into.refresh = url === into.own ? null : { url, delaySeconds: refresh.delaySeconds }
}

function addSrcset(into: Collection, value: string): void {
  for (const href of srcsetLinks(value, into.options.linksMax)) addResource(into, href)
}

/** The attributes of an element that name resources. */
const RESOURCE_ATTRIBUTES: ReadonlyMap<number, readonly number[]> = new Map([
  [TAG.img, [ATTRIBUTE.src, ATTRIBUTE.srcset]],
  [TAG.image, [ATTRIBUTE.src, ATTRIBUTE.srcset]],
  [TAG.source, [ATTRIBUTE.src, ATTRIBUTE.srcset]],
  [TAG.video, [ATTRIBUTE.src, ATTRIBUTE.poster]],
  [TAG.audio, [ATTRIBUTE.src]],
  [TAG.track, [ATTRIBUTE.src]],
  [TAG.embed, [ATTRIBUTE.src]],
  [TAG.object, [ATTRIBUTE.data]],
  [TAG.script, [ATTRIBUTE.src]],
])

const SVG_IMAGE = [ATTRIBUTE.href, ATTRIBUTE['xlink:href']]

/** Elements whose content is shown or run within the page; `input` only as an image. */
export function onResource(into: Collection, page: Page, tag: Tag, id: number, isSvg: boolean): void {
  if (isSvg) {
    const attribute = SVG_IMAGE.find((each) => has(tag, each))
    if (attribute !== undefined) addResource(into, attributeText(page, tag, attribute).trim())
    return
  }
  const isImageInput = id === TAG.input && attributeText(page, tag, ATTRIBUTE.type).toLowerCase() === 'image'
  for (const attribute of RESOURCE_ATTRIBUTES.get(id) ?? (isImageInput ? [ATTRIBUTE.src] : [])) {
    if (!has(tag, attribute)) continue
    if (attribute === ATTRIBUTE.srcset) addSrcset(into, attributeText(page, tag, attribute))
    else addResource(into, attributeText(page, tag, attribute).trim())
  }
}
