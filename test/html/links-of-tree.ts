/**
 * The reference: a page's links by way of a whole tree, built by parse5 with scripting off.
 *
 * Links come in the order in which the parser makes the elements. That is the order of the tags; the order of the tree
 * differs where the standard moves elements out of tables.
 */
import { defaultTreeAdapter, html, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { normalizeEscapes } from '../../src/html/canonical.ts'
import { relationOf, relWords } from '../../src/html/rel.ts'

export type TreeLinks = { readonly links: string[]; readonly title: string | undefined; readonly base: string }

/** Links to follow, each once, in the order of their tags; never the page itself. */
export function linksOfTree(page: string, url: string): TreeLinks {
  const made: Tree.Element[] = []
  const treeAdapter = {
    ...defaultTreeAdapter,
    createElement(...args: Parameters<typeof defaultTreeAdapter.createElement>): Tree.Element {
      const element = defaultTreeAdapter.createElement(...args)
      made.push(element)
      return element
    },
  }
  parse(page, { scriptingEnabled: false, treeAdapter })
  const elements = made.filter(isInDocument)
  const base = baseOf(elements, url)
  const own = absolute(url, url)
  const links = new Set<string>()
  for (const element of elements) {
    const href = linkOf(element)
    const link = href === undefined ? undefined : absolute(href, base)
    if (link !== undefined && link !== own) links.add(link)
  }
  return { links: [...links], title: titleOf(elements), base }
}

/** What stands in a template hangs on a fragment of its own. */
function isInDocument(element: Tree.Element): boolean {
  let node: Tree.Node = element
  while ('parentNode' in node && node.parentNode !== null) node = node.parentNode
  return node.nodeName === '#document'
}

function attribute(element: Tree.Element, name: string, prefix = ''): string | undefined {
  return element.attrs.find((each) => each.name === name && (each.prefix ?? '') === prefix)?.value
}

function baseOf(elements: readonly Tree.Element[], url: string): string {
  const isHtml = (each: Tree.Element) => each.tagName === 'base' && each.namespaceURI === html.NS.HTML
  const base = elements.find((each) => isHtml(each) && attribute(each, 'href') !== undefined)
  const parsed = base === undefined ? null : URL.parse(attribute(base, 'href') ?? '', url)
  return parsed === null || parsed.protocol === 'data:' || parsed.protocol === 'javascript:' ? url : parsed.href
}

function linkOf(element: Tree.Element): string | undefined {
  const { tagName, namespaceURI } = element
  if (namespaceURI === html.NS.SVG && tagName === 'a')
    return attribute(element, 'href') ?? attribute(element, 'href', 'xlink')
  if (namespaceURI !== html.NS.HTML) return undefined
  if (tagName === 'a' || tagName === 'area') return attribute(element, 'href')
  if (tagName === 'iframe' || tagName === 'frame') return attribute(element, 'src')
  if (tagName !== 'link') return undefined
  const words = relWords(attribute(element, 'rel') ?? '')
  const isFollowed = words.length > 0 && relationOf(words, attribute(element, 'type') ?? '') === 'followed'
  return isFollowed ? attribute(element, 'href') : undefined
}

function absolute(href: string, base: string): string | undefined {
  const parsed = URL.parse(href, base)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined
  parsed.hash = ''
  parsed.username = ''
  parsed.password = ''
  const link = normalizeEscapes(parsed.href)
  return link.length > 2048 ? undefined : link
}

function titleOf(elements: readonly Tree.Element[]): string | undefined {
  const title = elements.find((each) => each.tagName === 'title' && each.namespaceURI === html.NS.HTML)
  const text = title?.childNodes.map((node) => ('value' in node ? node.value : '')).join('')
  return text?.replace(/[\t\n\f\r ]+/g, ' ').trim()
}
