/** The links of a `srcset` attribute (HTML 4.8.4.2.2): commas are separators only where the standard has them so. */

/**
 * @returns the candidates' links in order, descriptors left out; at most `countMax`
 * Cost: linear.
 */
export function srcsetLinks(value: string, countMax: number): string[] {
  const links: string[] = []
  let at = 0
  while (links.length < countMax) {
    at = skip(value, at, /[^\t\n\f\r ,]/g)
    if (at >= value.length) break
    const end = skip(value, at, /[\t\n\f\r ]/g)
    const link = value.slice(at, end).replace(/,+$/, '')
    links.push(link)
    // A link that ends in a comma has no descriptors.
    at = link.length < end - at ? end : endOfDescriptors(value, end)
  }
  return links
}

function skip(value: string, at: number, to: RegExp): number {
  to.lastIndex = at
  return to.exec(value)?.index ?? value.length
}

/** Descriptors end at a comma outside parentheses. */
function endOfDescriptors(value: string, at: number): number {
  let isInParentheses = false
  for (; at < value.length; at++) {
    const character = value[at]
    if (character === '(') isInParentheses = true
    else if (character === ')') isInParentheses = false
    else if (character === ',' && !isInParentheses) return at + 1
  }
  return at
}
