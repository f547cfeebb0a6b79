/** The Link header (RFC 8288): links that an answer has without being markup. */
import { splitOutsideQuotes } from './mime.ts'

export type HeaderLink = { readonly href: string; readonly rel: string; readonly type: string }

/** Parses a Link value; a link with an `anchor` is about another page and left out. Cost: linear. */
export function parseLinkHeader(value: string): HeaderLink[] {
  const links: HeaderLink[] = []
  let at = 0
  for (;;) {
    const open = value.indexOf('<', at)
    const close = open < 0 ? -1 : value.indexOf('>', open)
    if (close < 0) return links
    // The link itself may hold commas and semicolons, so parameters begin behind it; the next link ends them.
    const [parameters] = splitOutsideQuotes(value.slice(close + 1, nextLink(value, close)), ',')
    const link = {
      href: value.slice(open + 1, close),
      rel: '',
      type: '',
      anchor: undefined,
      ...parametersOf(parameters),
    }
    if (link.anchor === undefined) links.push({ href: link.href, rel: link.rel, type: link.type })
    at = close + 1
  }
}

function nextLink(value: string, at: number): number {
  const next = value.indexOf('<', at)
  return next < 0 ? value.length : next
}

function parametersOf(text: string): Record<string, string> {
  const parameters: Record<string, string> = {}
  for (const part of splitOutsideQuotes(text, ';')) {
    const equalsAt = part.indexOf('=')
    const name = (equalsAt < 0 ? part : part.slice(0, equalsAt)).trim().toLowerCase()
    if (!['rel', 'type', 'anchor'].includes(name) || name in parameters) continue
    const value = equalsAt < 0 ? '' : part.slice(equalsAt + 1).trim()
    parameters[name] = value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/gs, '$1')
  }
  return parameters
}
