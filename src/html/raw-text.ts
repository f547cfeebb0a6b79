/**
 * Where markup stops being markup: comments and the elements whose content is text (HTML 13.2.5.2 to 13.2.5.31, 13.2.5.41
 * to 13.2.5.52).
 *
 * Invariant: what has no end ends with the page, and is searched once, so that a scan stays linear.
 */
import { DASH, EXCLAMATION, GREATER, LESS, LOWER, SLASH, TAG_NAME_BYTE } from './bytes.ts'
import type { Page } from './page.ts'

/** Position of the end tag that closes the text of element `name`, or the page's length. `</titlex` closes no title. */
export function endOfRawText(page: Page, at: number, name: string): number {
  const { bytes, length } = page
  for (; at < length; at++) {
    while (bytes[at] !== LESS) at++
    if (bytes[at + 1] === SLASH && isName(bytes, at + 2, name)) return at
  }
  return length
}

/** Whether a tag's name, up to its end, is this one. At the end of the page no name has ended. */
function isName(bytes: Uint8Array, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++)
    if (LOWER[bytes[at + index]] !== name.charCodeAt(index)) return false
  return TAG_NAME_BYTE[bytes[at + name.length]] === 0
}

type ScriptState = 'plain' | 'escaped' | 'double-escaped'

/**
 * Position of the end tag that closes a script, or the page's length. Within `<!-- … -->` a `<script` hides the next
 * `</script` (the escaped states).
 */
export function endOfScript(page: Page, at: number): number {
  const { bytes, length } = page
  let state: ScriptState = 'plain'
  for (; at < length; at++) {
    if (state === 'plain') while (bytes[at] !== LESS) at++
    if (bytes[at] === LESS) {
      if (bytes[at + 1] === SLASH && isName(bytes, at + 2, 'script')) {
        if (state !== 'double-escaped') return Math.min(at, length)
        state = 'escaped'
      } else if (state === 'plain') {
        // The dashes that open may be those that close: `<!-->`. So the search goes on with them.
        if (bytes[at + 1] === EXCLAMATION && isDashes(bytes, at + 2)) state = 'escaped'
      } else if (state === 'escaped' && isName(bytes, at + 1, 'script')) state = 'double-escaped'
    } else if (bytes[at] === DASH && bytes[at + 1] === DASH && bytes[at + 2] === GREATER && at + 2 < length)
      state = 'plain'
  }
  return length
}

function isDashes(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === DASH && bytes[at + 1] === DASH
}

/** Position behind the comment whose `<!--` stands at `at`, or the page's length. */
export function endOfComment(page: Page, at: number): number {
  const { bytes, length } = page
  at += 4
  if (bytes[at] === GREATER) return at + 1
  if (bytes[at] === DASH && bytes[at + 1] === GREATER) return at + 2
  for (; at < length; at++) {
    if (bytes[at] !== DASH || bytes[at + 1] !== DASH) continue
    at += 2
    while (bytes[at] === DASH) at++
    if (bytes[at] === GREATER) return at + 1
    if (bytes[at] === EXCLAMATION && bytes[at + 1] === GREATER) return at + 2
    at--
  }
  return length
}

/** Position behind the next `>`; beyond the page's length if there is none. */
export function behindGreater(page: Page, at: number): number {
  const { bytes } = page
  while (bytes[at] !== GREATER) at++
  return at + 1
}

/** Position behind the CDATA section whose text begins at `at`, or the page's length. */
export function endOfCdata(page: Page, at: number): number {
  const end = page.bytes.subarray(0, page.length).indexOf(']]>', at, 'latin1')
  return end < 0 ? page.length : end + 3
}
