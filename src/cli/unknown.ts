/** What is said of a URL that the crawl does not have, or has no page of. */
import type { UrlCheck } from '../crawl/checking.ts'
import type { NoPage } from '../crawl/get.ts'
import type { TurnedAway } from '../crawl/turned-away.ts'
import { EXIT } from './errors.ts'
import { escapeLine, jsonLine, plural, shellWord } from './text.ts'

/** What can be said of a URL that is none of the crawl's. */
export interface UnknownUrl {
  /** How it was turned away on discovery, where the crawl keeps that. */
  readonly away?: TurnedAway | undefined
  /** What the rules say of it now. */
  readonly check?: UrlCheck | undefined
  /** The crawl counts the links it turns away, and does not keep them. */
  readonly isOnlyCounted?: boolean
}

/** A URL that is none of the crawl's. @returns the exit code */
export function reportUnknown(url: string, root: string, isJson: boolean, known: UnknownUrl = {}): number {
  const { away, check, isOnlyCounted = false } = known
  const facts: Record<string, string> = { url }
  let message = `${url} is no URL of the crawl in ${root}`
  if (away !== undefined) {
    Object.assign(facts, { class: away.class ?? '', from: away.from ?? '' })
    message += `: it was turned away${away.from === null ? '' : ` on ${away.from}`}, ${countsText(away.counts)}`
  }
  message += '.'
  const rule = check === undefined ? undefined : ruleOf(check)
  if (rule !== undefined) {
    facts.rule = rule
    message += rule === 'admitted' ? ' The rules would admit it now.' : ` By the rules of now it is refused: ${rule}.`
    if (rule !== 'admitted' && isOnlyCounted)
      message += ' If a page links to it, that is counted there by reason; --keep-refused would list it.'
  }
  const hint = `\`crawler check ${shellWord(url)} --dir ${shellWord(root)}\` says what the rules say of it.`
  return report('URL_UNKNOWN', message, hint, isJson, facts)
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, number]) => (number === 1 ? reason : `${reason} (${plural(number, 'time')})`))
    .join(', ')
}

/** The first rule that would refuse a URL; `admitted` where none would. */
function ruleOf({ scope, robots, addresses, addressesAllowed }: UrlCheck): string {
  if (scope !== 'admitted') return scope
  if (addresses.length > 0 && addressesAllowed.length === 0) return 'address.forbidden'
  return robots === 'denied' || robots === 'unreachable' ? `robots.${robots}` : 'admitted'
}

/** A URL without a stored page. @returns the exit code */
export function reportNoPage({ url, state, compacted }: NoPage, root: string, isJson: boolean): number {
  const hint = `\`crawler explain ${shellWord(url)} --dir ${shellWord(root)}\` says why.`
  const gone = compacted === undefined ? '' : ` Pages that no longer counted on ${compacted} were compacted away.`
  return report('URL_NO_PAGE', `${url} is ${state}; no page of it is stored.${gone}`, hint, isJson, { url, state })
}

/** A page that is asked for elements and has none. @returns the exit code */
export function reportNoElements(url: string, contentType: string, root: string, isJson: boolean): number {
  const type = contentType === '' ? 'of no known type' : contentType
  const hint = `\`crawler get ${shellWord(url)} --dir ${shellWord(root)}\` gives it as it is.`
  return report('URL_NO_ELEMENTS', `${url} is ${type}: neither HTML nor XML.`, hint, isJson, { url, contentType })
}

function report(
  code: string,
  message: string,
  hint: string,
  isJson: boolean,
  facts: Readonly<Record<string, string>>,
): number {
  if (isJson) process.stdout.write(`${jsonLine({ error: { code, message, hint, facts } })}\n`)
  process.stderr.write(`crawler: ${escapeLine(message)}\n  ${escapeLine(hint)}\n`)
  return EXIT.error
}
