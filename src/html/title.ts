/** The text of a `title` element. */
import { decodeHTML } from 'entities/decode'
import { decodedText, type Page } from './page.ts'

/** Bytes of the element that are looked at, and characters that are kept. */
const TITLE_BYTES_MAX = 8 * 1024
const TITLE_LENGTH_MAX = 1024

/** Decoded, references resolved, blanks stripped and collapsed as `document.title` has it. */
export function titleText(page: Page, start: number, end: number): string {
  const text = decodeHTML(decodedText(page, start, Math.min(end, start + TITLE_BYTES_MAX)))
  const collapsed = text.replace(/[\t\n\f\r ]+/g, ' ').trim()
  return collapsed.length <= TITLE_LENGTH_MAX ? collapsed : collapsed.slice(0, TITLE_LENGTH_MAX)
}
