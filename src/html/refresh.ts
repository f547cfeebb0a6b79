/** The Refresh header and `<meta http-equiv=refresh>`: HTML's "shared declarative refresh steps" (4.2.5.3). */

export type RefreshValue = {
  /** As written, at most what fits in a safe integer. */
  readonly delaySeconds: number
  /** The link; undefined where the value only reloads the page. */
  readonly href: string | undefined
}

const DELAY = /^[\t\n\f\r ]*(?:([0-9]+)|(?=\.))[0-9.]*/
const SEPARATOR = /^(?:[\t\n\f\r ]*[;,]|[\t\n\f\r ])[\t\n\f\r ]*/
const URL_WORD = /^url[\t\n\f\r ]*=[\t\n\f\r ]*/i

/** Parses `5; url='x'`; undefined for what the standard ignores. Cost: linear. */
export function parseRefresh(value: string): RefreshValue | undefined {
  const delay = DELAY.exec(value)
  if (delay === null) return undefined
  const delaySeconds = Math.min(Number(delay[1] ?? 0), Number.MAX_SAFE_INTEGER)
  const rest = value.slice(delay[0].length)
  if (rest === '') return { delaySeconds, href: undefined }
  const separator = SEPARATOR.exec(rest)
  if (separator === null) return undefined
  const target = rest.slice(separator[0].length)
  return { delaySeconds, href: target === '' ? undefined : unquoted(target) }
}

/** Takes off `url=` and quotes; what begins like `url=` and goes on otherwise is a link as it stands. */
function unquoted(target: string): string {
  const word = URL_WORD.exec(target)
  if (word === null && /^u/i.test(target)) return target
  const href = word === null ? target : target.slice(word[0].length)
  const quote = href[0]
  if (quote !== '"' && quote !== "'") return href
  const end = href.indexOf(quote, 1)
  return end < 0 ? href.slice(1) : href.slice(1, end)
}
