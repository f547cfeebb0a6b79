/** What is said of a URL that the crawl does not have, or has no page of. */
import type { NoPage } from '../crawl/get.ts'
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
export function reportNoPage({ url, state, compacted }: NoPage, root: string, isJson: boolean): number {
  const hint = `\`crawler explain ${shellWord(url)} --dir ${shellWord(root)}\` says why.`
  const gone = compacted === undefined ? '' : ` Pages that no longer counted on ${compacted} were compacted away.`
  return report('URL_NO_PAGE', `${url} is ${state}; no page of it is stored.${gone}`, hint, isJson, { url, state })
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
