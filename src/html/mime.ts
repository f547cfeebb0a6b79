/**
 * The Content-Type header (MIME Sniffing 4.4, Fetch "extract a MIME type") and what a page is when there is none.
 */

export type MimeType = {
  /** `text/html`, in lower case. */
  readonly essence: string
  /** Value of the first parameter `charset`, as written; undefined without one. */
  readonly charset: string | undefined
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * Parses a Content-Type value; of several joined by commas the last valid one counts.
 *
 * @returns undefined when no part is a MIME type. Cost: linear.
 */
export function mimeTypeOf(value: string): MimeType | undefined {
  let found: MimeType | undefined
  for (const part of splitOutsideQuotes(value, ',')) {
    const [essence, ...parameters] = splitOutsideQuotes(part, ';')
    const [type, subtype, more] = essence.trim().split('/')
    if (!TOKEN.test(type) || subtype === undefined || !TOKEN.test(subtype) || more !== undefined) continue
    found = { essence: essence.trim().toLowerCase(), charset: charsetIn(parameters) }
  }
  return found
}

function charsetIn(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const equalsAt = parameter.indexOf('=')
    if (equalsAt < 0 || parameter.slice(0, equalsAt).trimStart().toLowerCase() !== 'charset') continue
    const value = unquoted(parameter.slice(equalsAt + 1))
    if (value !== '') return value
  }
  return undefined
}

/** A quoted value ends at its quote; what follows it is ignored. */
function unquoted(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.?)*)/s.exec(value)
  return quoted === null ? value.trim() : quoted[1].replace(/\\(.)/gs, '$1')
}

/** Splits at a separator that stands in no quoted string. */
export function splitOutsideQuotes(value: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < value.length; at++) {
    const character = value[at]
    if (character === '"') isQuoted = !isQuoted
    else if (character === '\\' && isQuoted) at++
    else if (character === separator && !isQuoted) {
      parts.push(value.slice(start, at))
      start = at + 1
    }
  }
  parts.push(value.slice(start))
  return parts
}

/** How a body is to be read: as HTML, as XML with HTML's names, or not at all. */
export type Markup = 'html' | 'xhtml' | 'none'

/** Types that say nothing about the body (MIME Sniffing 5). */
const UNKNOWN: ReadonlySet<string> = new Set(['unknown/unknown', 'application/unknown', '*/*'])

/** Starts that make an unlabelled body HTML (MIME Sniffing 7.1); behind a tag name stands a blank or `>`. */
const HTML_START =
  /^[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|^[\t\n\f\r ]*<!--/i

/** Bytes that sniffing looks at. */
const SNIFFED_BYTES = 1445

/** What kind of markup a body is, by its type or, without one, by its first bytes. */
export function markupOf(bytes: Uint8Array, type: MimeType | undefined): Markup {
  if (type?.essence === 'text/html') return 'html'
  if (type?.essence === 'application/xhtml+xml') return 'xhtml'
  if (type !== undefined && !UNKNOWN.has(type.essence)) return 'none'
  return HTML_START.test(Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1')) ? 'html' : 'none'
}
