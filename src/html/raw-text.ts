/**
 * Where markup stops being markup: comments and the elements whose content is text (HTML 13.2.5.2 to 13.2.5.31, 13.2.5.41
 * to 13.2.5.52).
 *
 * Invariant: what has no end ends with the page, and is searched once, so that a scan stays linear.
 */

/** Matches the end tag of an element with raw text; `</titlex` is none. */
const END_TAG_BY_NAME: ReadonlyMap<string, RegExp> = new Map(
  ['title', 'textarea', 'style', 'xmp', 'iframe', 'noembed', 'noframes'].map((name) => [
    name,
    new RegExp(`</${name}[\\t\\n\\f\\r />]`, 'gi'),
  ]),
)

/** Position of the end tag that closes the text of element `name`, or the text's length. */
export function endOfRawText(text: string, at: number, name: string): number {
  const endTag = END_TAG_BY_NAME.get(name)
  return endTag === undefined ? text.length : firstMatch(endTag, text, at)
}

function firstMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.index ?? text.length
}

const SCRIPT_MARK = /<\/script[\t\n\f\r />]|<!--/gi
const ESCAPED_MARK = /<\/?script[\t\n\f\r />]|-->/gi
const DOUBLE_ESCAPED_MARK = /<\/script[\t\n\f\r />]|-->/gi

/**
 * Position of the end tag that closes a script, or the text's length. Within `<!-- … -->` a `<script` hides the next
 * `</script` (the escaped states).
 */
export function endOfScript(text: string, at: number): number {
  let mark = SCRIPT_MARK
  for (;;) {
    mark.lastIndex = at
    const found = mark.exec(text)
    if (found === null) return text.length
    at = mark.lastIndex
    const isEndTag = found[0].startsWith('</')
    if (isEndTag && mark !== DOUBLE_ESCAPED_MARK) return found.index
    if (isEndTag) mark = ESCAPED_MARK
    else if (found[0].endsWith('->')) mark = SCRIPT_MARK
    else if (found[0] === '<!--') {
      // The dashes that open may be those that close: `<!-->`.
      at -= 2
      mark = ESCAPED_MARK
    } else mark = DOUBLE_ESCAPED_MARK
  }
}

/** Position behind the comment whose `<!--` stands at `at`, or the text's length. */
export function endOfComment(text: string, at: number): number {
  const start = at + 4
  if (text[start] === '>') return start + 1
  if (text.startsWith('->', start)) return start + 2
  for (let dashes = text.indexOf('--', start); dashes >= 0; dashes = text.indexOf('--', dashes)) {
    dashes += 2
    while (text[dashes] === '-') dashes++
    if (text[dashes] === '>') return dashes + 1
    if (text.startsWith('!>', dashes)) return dashes + 2
  }
  return text.length
}

/** Position behind the next `mark`, or the text's length. */
export function behind(text: string, mark: string, at: number): number {
  const found = text.indexOf(mark, at)
  return found < 0 ? text.length : found + mark.length
}
