/**
 * What a user asks of a page, by linkedom: elements by CSS selector, text, title. Ten times as slow as the link scanner:
 * for commands, never for the crawl's thread.
 *
 * linkedom builds the tree of the tags that are written: where a page leaves out `<body>`, `body > p` finds nothing.
 * Its `document.title` and `document.body` change a page that lacks them, so they are not used here.
 */
import { parseHTML } from 'linkedom'
import { CrawlError } from '../base/errors.ts'

/** What is wanted; `select` goes before `title`, and without all of them it is the text of the page. */
export interface DomQuery {
  /** CSS selector. */
  readonly select?: string
  /** Of the elements selected: this attribute's value, for those that have it. */
  readonly attr?: string
  /** Of the elements selected, or of the page: the text. */
  readonly text?: boolean
  readonly title?: boolean
}

/** As much of the DOM as is used here: the compiler knows no browser. */
interface Node {
  readonly nodeType: number
  readonly localName: string
  readonly data: string
  readonly childNodes: Iterable<Node>
}
interface Element extends Node {
  readonly outerHTML: string
  getAttribute(name: string): string | null
  closest(selector: string): Element | null
}
interface Document extends Node {
  querySelectorAll(selector: string): Iterable<Element>
}

/** Characters of what is selected: elements stand within elements, so that it may be the square of the page. */
const SELECTED_CHARACTERS_MAX = 128 * 1024 * 1024

const ELEMENT = 1
const TEXT = 3

/** Elements whose text is no part of what a reader sees. */
const UNSEEN: ReadonlySet<string> = new Set(['head', 'script', 'style', 'template', 'noscript', 'title'])
const PREFORMATTED: ReadonlySet<string> = new Set(['pre', 'textarea'])
/** Elements that a space divides. */
const CELLS: ReadonlySet<string> = new Set(['td', 'th'])
/** Elements that begin and end a line. */
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search ' +
    'section summary table tbody tfoot thead tr ul'
  ).split(' '),
)

/**
 * @param html  a whole page or a part of one, decoded
 * @returns one string for each element selected, in the order of the page (its HTML where neither `attr` nor `text` is
 *          asked for); one for text or title, none where there is no title
 * Errors: USAGE for a selector that is none, or that finds the page many times over.
 * Cost: about 0.3 ms a kilobyte.
 */
export function selectFrom(html: string, query: DomQuery): string[] {
  const { document } = parseHTML(html) as unknown as { readonly document: Document }
  if (query.select !== undefined) return showAll(select(document, query.select), query)
  if (query.attr !== undefined) throw new CrawlError('USAGE', '--attr needs --select.')
  return query.title ? titleOf(document) : [textOf(document)]
}

function select(document: Document, selector: string): Element[] {
  try {
    return [...document.querySelectorAll(selector)]
  } catch (error) {
    throw new CrawlError('USAGE', `"${selector}" is no CSS selector: ${(error as Error).message}`)
  }
}

/** Errors: USAGE where it comes to more than can be shown. */
function showAll(elements: readonly Element[], query: DomQuery): string[] {
  const shown: string[] = []
  let characters = 0
  for (const element of elements) {
    for (const part of show(element, query)) {
      shown.push(part)
      characters += part.length
    }
    if (characters > SELECTED_CHARACTERS_MAX) {
      const message = `"${query.select}" finds elements within elements, more than 128 million characters of them.`
      throw new CrawlError('USAGE', message, {}, 'Choose a selector for the inner ones.')
    }
  }
  return shown
}

function show(element: Element, { attr, text }: DomQuery): string[] {
  if (attr === undefined) return [text ? textOf(element) : element.outerHTML]
  const value = element.getAttribute(attr)
  return value === null ? [] : [value]
}

/** The first title that is the page's and not a drawing's. */
function titleOf(document: Document): string[] {
  const title = select(document, 'title').find((element) => element.closest('svg') === null)
  if (title === undefined) return []
  return [
    [...title.childNodes]
      .map((node) => node.data)
      .join('')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
}

/** Text as read: white space collapsed, a line for each block, no empty lines; `pre` as it is. */
function textOf(root: Node): string {
  const text = new TextLines()
  const open: OpenNode[] = [{ node: root, children: root.childNodes[Symbol.iterator](), isPreformatted: false }]
  // No recursion: what a page nests a hundred thousand deep would end it.
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { done, value: child } = top.children.next()
    if (done) {
      if (BLOCKS.has(top.node.localName)) text.endLine()
      open.pop()
    } else if (child.nodeType === TEXT) text.add(child.data, top.isPreformatted)
    else if (child.nodeType === ELEMENT && !UNSEEN.has(child.localName)) open.push(enter(child, top, text))
  }
  text.endLine()
  return text.lines.join('\n')
}

interface OpenNode {
  readonly node: Node
  readonly children: Iterator<Node>
  readonly isPreformatted: boolean
}

function enter(node: Node, { isPreformatted }: OpenNode, text: TextLines): OpenNode {
  if (BLOCKS.has(node.localName)) text.endLine()
  else if (CELLS.has(node.localName)) text.add(' ', false)
  const children = node.childNodes[Symbol.iterator]()
  return { node, children, isPreformatted: isPreformatted || PREFORMATTED.has(node.localName) }
}

class TextLines {
  readonly lines: string[] = []
  private line = ''

  add(data: string, isPreformatted: boolean): void {
    if (!isPreformatted) {
      const words = data.replace(/[ \t\n\f\r]+/g, ' ')
      this.line += this.line === '' || this.line.endsWith(' ') ? words.trimStart() : words
      return
    }
    const [first, ...more] = data.split('\n')
    this.line += first
    for (const next of more) {
      this.lines.push(this.line)
      this.line = next
    }
  }

  endLine(): void {
    const line = this.line.trimEnd()
    if (line !== '') this.lines.push(line)
    this.line = ''
  }
}
