/**
 * Foreign content: what stands within `<svg>` and `<math>`, where `<title>`, `<style>` and `<script>` are elements like
 * others and `<![CDATA[` opens text (HTML 13.2.6.5).
 *
 * The scanner builds no tree, so it knows the open elements only from the outermost foreign one inwards. That is enough
 * for all documents whose elements are balanced. For an end tag that has no partner there, HTML's own names are taken to
 * close an element outside, all others are ignored.
 *
 * Invariant: `open` is empty outside foreign content; its first element is `svg` or `math`.
 */

export type Namespace = 'html' | 'svg' | 'math'

type OpenElement = {
  readonly name: string
  readonly space: Namespace
  /** Where HTML may stand again: `html` any of it, `text` any tag but MathML's two own. */
  readonly integration: 'html' | 'text' | undefined
}

export type Foreign = { readonly open: OpenElement[] }

/** Deeper elements are read as siblings of the deepest, as browsers do at 512; drawings nest far less. Bounds the cost of an end tag. */
const DEPTH_MAX = 64

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}

/** Start tags that end foreign content, whatever is open. */
const BREAKOUT = words(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ' +
    'ol p pre ruby s small span strong strike sub sup table tt u ul var',
)

const VOID = words(
  'area base basefont bgsound br col embed frame hr img image input keygen link meta param source track wbr',
)

/** HTML elements that are open around foreign content often enough to believe a stray end tag. */
const HTML_CONTAINERS = words(
  'a abbr address article aside b bdi bdo big blockquote button caption center cite code dd del details dfn dialog dir ' +
    'div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hgroup i ins kbd label legend li ' +
    'main mark menu nav nobr noscript object ol optgroup option p pre q s samp section select small span strike strong ' +
    'sub summary sup table tbody td template tfoot th thead time tr tt u ul var',
)

const TEXT_INTEGRATION = words('mi mo mn ms mtext')
const SVG_INTEGRATION = words('foreignobject desc title')

function top(foreign: Foreign): OpenElement | undefined {
  return foreign.open[foreign.open.length - 1]
}

/** Whether `<![CDATA[` opens a section here. */
export function allowsCdata(foreign: Foreign): boolean {
  const current = top(foreign)
  return current !== undefined && current.space !== 'html'
}

/** What the scanner knows of a start tag beyond its name. */
export type StartTag = {
  readonly name: string
  readonly isSelfClosing: boolean
  /** Whether it has one of the attributes `color`, `face`, `size`: they make a `font` HTML. */
  readonly hasFontAttribute: boolean
  /** Value of the attribute `encoding`: it makes an `annotation-xml` hold HTML. */
  readonly encoding: string
}

/**
 * Takes a start tag and says to which namespace its element belongs; also opens foreign content at `svg` and `math`.
 *
 * @param isRaw  whether the scanner itself skips the element's content and end tag, so that it is never open here
 */
export function startTag(foreign: Foreign, tag: StartTag, isRaw: boolean): Namespace {
  const current = top(foreign)
  if (current !== undefined && !takesHtml(current, tag.name)) {
    const isBreakout = BREAKOUT.has(tag.name) || (tag.name === 'font' && tag.hasFontAttribute)
    if (!isBreakout) {
      if (!tag.isSelfClosing) push(foreign, tag.name, current.space, tag.encoding)
      return current.space
    }
    leave(foreign)
  }
  if (tag.name === 'svg' || tag.name === 'math') {
    if (!tag.isSelfClosing) push(foreign, tag.name, tag.name, '')
    return tag.name
  }
  if (foreign.open.length > 0 && !isRaw && !VOID.has(tag.name)) push(foreign, tag.name, 'html', '')
  return 'html'
}

function takesHtml(current: OpenElement, name: string): boolean {
  if (current.space === 'html' || current.integration === 'html') return true
  if (current.integration === 'text') return name !== 'mglyph' && name !== 'malignmark'
  return current.name === 'annotation-xml' && name === 'svg'
}

function push(foreign: Foreign, name: string, space: Namespace, encoding: string): void {
  if (foreign.open.length < DEPTH_MAX)
    foreign.open.push({ name, space, integration: integrationOf(name, space, encoding) })
}

function integrationOf(name: string, space: Namespace, encoding: string): OpenElement['integration'] {
  if (space === 'svg' && SVG_INTEGRATION.has(name)) return 'html'
  if (space === 'math' && TEXT_INTEGRATION.has(name)) return 'text'
  const isAnnotation = space === 'math' && name === 'annotation-xml'
  return isAnnotation && /^(?:text\/html|application\/xhtml\+xml)$/i.test(encoding) ? 'html' : undefined
}

/** Closes foreign elements up to the next that takes HTML. */
function leave(foreign: Foreign): void {
  for (let current = top(foreign); current !== undefined && current.space !== 'html'; current = top(foreign)) {
    if (current.integration !== undefined) return
    foreign.open.pop()
  }
}

/** Takes an end tag and says to which namespace the element belongs that it closes; `html` also for one outside. */
export function endTag(foreign: Foreign, name: string): Namespace {
  const { open } = foreign
  const isForeign = open.length > 0 && open[open.length - 1].space !== 'html'
  if (isForeign && (name === 'br' || name === 'p')) {
    leave(foreign)
    return 'html'
  }
  for (let at = open.length - 1; at >= 0; at--) {
    const element = open[at]
    if (!isForeign && element.space !== 'html') return 'html'
    if (element.name === name) {
      open.length = at
      return element.space
    }
  }
  if (!HTML_CONTAINERS.has(name)) return open[0]?.space ?? 'html'
  open.length = 0
  return 'html'
}
