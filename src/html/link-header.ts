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
    // The link itself may hold commas and semicolons, so parameters begin behind it.
    at = endOfParameters(value, close + 1)
    const link = { href: value.slice(open + 1, close), rel: '', type: '', ...parametersOf(value.slice(close + 1, at)) }
    if (link.anchor === undefined) links.push({ href: link.href, rel: link.rel, type: link.type })
  }
}

/** Position of the comma that ends a link's parameters, or the end. */
function endOfParameters(value: string, at: number): number {
  let isQuoted = false
  for (; at < value.length; at++) {
    const character = value[at]
    if (character === '"') isQuoted = !isQuoted
    else if (character === '\\' && isQuoted) at++
    else if (character === ',' && !isQuoted) break
  }
  return at
}

type Parameters = { rel?: string; type?: string; anchor?: string }

function parametersOf(text: string): Parameters {
  const parameters: Parameters = {}
  for (const part of splitOutsideQuotes(text, ';')) {
    const equalsAt = part.indexOf('=')
    const name = (equalsAt < 0 ? part : part.slice(0, equalsAt)).trim().toLowerCase()
    if ((name !== 'rel' && name !== 'type' && name !== 'anchor') || name in parameters) continue
    const value = equalsAt < 0 ? '' : part.slice(equalsAt + 1).trim()
    parameters[name] = value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/gs, '$1')
  }
  return parameters
}
