/**
 * "Prescan a byte stream to determine its encoding" (HTML 13.2.3.3): finds the declaration in the first bytes of a page
 * without reading the page.
 *
 * Invariant: never looks beyond `end`; a construct that is cut there ends the search.
 */
import { encodingOf } from './labels.ts'

/** As far as the standard has a user agent look before it reads the page. */
const PRESCAN_BYTES = 1024

type Cursor = { readonly text: string; at: number }

type Attribute = { readonly name: string; readonly value: string }

const SPACE = /[\t\n\f\r ]/
const LETTER = /[A-Za-z]/

/** The encoding that a page declares in its first `PRESCAN_BYTES`, or undefined. Cost: linear. */
export function prescan(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1')
  if (text.startsWith('<\0?\0x\0')) return 'utf-16le'
  if (text.startsWith('\0<\0?\0x')) return 'utf-16be'
  return declaredInMarkup({ text, at: 0 }) ?? declaredInXml(text)
}

function declaredInMarkup(cursor: Cursor): string | undefined {
  const { text } = cursor
  for (;;) {
    cursor.at = text.indexOf('<', cursor.at)
    if (cursor.at < 0) return undefined
    if (text.startsWith('<!--', cursor.at)) skipTo(cursor, '-->', cursor.at + 2)
    else if (isMeta(text, cursor.at)) {
      cursor.at += 5
      const encoding = declaredInMeta(cursor)
      if (encoding !== undefined) return encoding
    } else if (LETTER.test(text[cursor.at + (text[cursor.at + 1] === '/' ? 2 : 1)] ?? '')) {
      while (cursor.at < text.length && !/[\t\n\f\r >]/.test(text[cursor.at])) cursor.at++
      while (nextAttribute(cursor) !== undefined) {}
    } else if ('!/?'.includes(text[cursor.at + 1] ?? ' ')) skipTo(cursor, '>', cursor.at)
    else cursor.at++
    if (cursor.at >= text.length) return undefined
  }
}

function skipTo(cursor: Cursor, mark: string, from: number): void {
  const markAt = cursor.text.indexOf(mark, from)
  cursor.at = markAt < 0 ? cursor.text.length : markAt + mark.length
}

function isMeta(text: string, at: number): boolean {
  return /^<meta[\t\n\f\r /]/i.test(text.slice(at, at + 6))
}

/** Steps for one meta element: `charset` decides, else `content` if `http-equiv` says it is a content type. */
function declaredInMeta(cursor: Cursor): string | undefined {
  const seen = new Set<string>()
  let isPragma = false
  let needsPragma: boolean | undefined
  let label: string | undefined
  for (let attribute = nextAttribute(cursor); attribute !== undefined; attribute = nextAttribute(cursor)) {
    if (seen.has(attribute.name)) continue
    seen.add(attribute.name)
    if (attribute.name === 'http-equiv') isPragma ||= attribute.value === 'content-type'
    else if (attribute.name === 'charset') {
      label = attribute.value
      needsPragma = false
    } else if (attribute.name === 'content' && label === undefined) {
      label = charsetInContent(attribute.value)
      if (label !== undefined) needsPragma = true
    }
  }
  // A tag that the end of the bytes cuts declares nothing.
  if (cursor.at > cursor.text.length || needsPragma === undefined || (needsPragma && !isPragma)) return undefined
  return label === undefined ? undefined : declaredEncoding(label)
}

/** A declaration that could be read as ASCII cannot mean UTF-16; x-user-defined is an old way to say windows-1252. */
export function declaredEncoding(label: string): string | undefined {
  const encoding = encodingOf(label)
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return 'utf-8'
  return encoding === 'x-user-defined' ? 'windows-1252' : encoding
}

/** "Extracting a character encoding from a meta element": the label behind `charset=`, if it is one. */
export function charsetInContent(content: string): string | undefined {
  const found = /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*))/i.exec(content)
  const label = found?.[1] ?? found?.[2] ?? found?.[3]
  return label === undefined || encodingOf(label) === undefined ? undefined : label
}

/** "Get an attribute": in lower case; undefined at the end of the tag. At the end of the bytes `at` lies beyond it. */
function nextAttribute(cursor: Cursor): Attribute | undefined {
  const { text } = cursor
  while (SPACE.test(text[cursor.at] ?? '') || text[cursor.at] === '/') cursor.at++
  if (text[cursor.at] === '>') return undefined
  const nameAt = cursor.at
  while (cursor.at < text.length && !/[\t\n\f\r />]/.test(text[cursor.at])) {
    if (text[cursor.at] === '=' && cursor.at > nameAt) break
    cursor.at++
  }
  const name = text.slice(nameAt, cursor.at).toLowerCase()
  while (SPACE.test(text[cursor.at] ?? '')) cursor.at++
  if (cursor.at >= text.length) return cut(cursor)
  if (text[cursor.at] !== '=') return { name, value: '' }
  cursor.at++
  while (SPACE.test(text[cursor.at] ?? '')) cursor.at++
  const value = attributeValue(cursor)
  return value === undefined ? cut(cursor) : { name, value: value.toLowerCase() }
}

function cut(cursor: Cursor): undefined {
  cursor.at = cursor.text.length + 1
}

function attributeValue(cursor: Cursor): string | undefined {
  const { text } = cursor
  const quote = text[cursor.at]
  const start = quote === '"' || quote === "'" ? cursor.at + 1 : cursor.at
  let end = start
  if (start > cursor.at) end = text.indexOf(quote, start)
  else while (end < text.length && !/[\t\n\f\r >]/.test(text[end])) end++
  if (end < 0 || end >= text.length) return undefined
  cursor.at = start > cursor.at ? end + 1 : end
  return text.slice(start, end)
}

/** "Get an XML encoding": `<?xml … encoding="…"?>` at the very start. */
function declaredInXml(text: string): string | undefined {
  const declaration = /^<\?xml([^>]*)>/.exec(text)?.[1]
  const found =
    declaration === undefined ? null : /encoding[\0-\x20]*=[\0-\x20]*(["'])([^\0-\x20]*?)\1/.exec(declaration)
  return found === null ? undefined : utf8ForUtf16(encodingOf(found[2]))
}

function utf8ForUtf16(encoding: string | undefined): string | undefined {
  return encoding === 'utf-16le' || encoding === 'utf-16be' ? 'utf-8' : encoding
}
