/** The text of a stored body: whether it has one, and in which encoding a browser would read it. */
import { detectCharset } from './charset.ts'
import { decodeText } from './decode.ts'
import { headerValues, type PageHeaders } from './headers.ts'
import { markupOf, mimeTypeOf } from './mime.ts'

/** Media types whose bodies are text. */
const TEXT_TYPES = /^(?:text\/|application\/(?:(?:[\w.-]+\+)?(?:json|xml)|javascript|ecmascript)$|image\/svg\+xml$)/

/** @param contentType  media type without parameters, lower case */
export function isTextType(contentType: string): boolean {
  return TEXT_TYPES.test(contentType)
}

/** @param body  without content encodings. Cost: linear. */
export function textOfBody(body: Uint8Array, headers: PageHeaders): string {
  return decodeText(body, detectCharset(body, headerValues(headers, 'content-type')[0]).encoding)
}

/** Whether a body has elements: HTML, by its type or its first bytes, or XML of any kind. */
export function hasElements(body: Uint8Array, headers: PageHeaders): boolean {
  const type = mimeTypeOf(headerValues(headers, 'content-type').join(', '))
  return markupOf(body, type) !== 'none' || (type !== undefined && /[/+]xml$/.test(type.essence))
}
