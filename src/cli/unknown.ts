/** What is said of a URL that the crawl does not have, or has no page of. */
import type { TurnedAwayLink } from '../crawl/urls.ts'
import { EXIT } from './errors.ts'
import { escapeLine, jsonLine, shellWord } from './text.ts'

/** A URL that is none of the crawl's. @returns the exit code */
export function reportUnknown(url: string, root: string, isJson: boolean, away?: TurnedAwayLink): number {
  const hint = `\`crawler check ${shellWord(url)} --dir ${shellWord(root)}\` says what the rules say of it.`
  const facts = away === undefined ? { url } : { url, class: away.class ?? '', from: away.from ?? '' }
  const how =
    away === undefined ? '.' : `: it was turned away${away.from === null ? '' : ` on ${away.from}`}, ${away.class}.`
  return report('URL_UNKNOWN', `${url} is no URL of the crawl in ${root}${how}`, hint, isJson, facts)
}

/** A URL without a stored page. @returns the exit code */
export function reportNoPage(url: string, state: string, root: string, isJson: boolean): number {
  const hint = `\`crawler explain ${shellWord(url)} --dir ${shellWord(root)}\` says why.`
  return report('URL_NO_PAGE', `${url} is ${state}; no page of it is stored.`, hint, isJson, { url, state })
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
