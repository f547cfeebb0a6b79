/** `urls [DIR]`: the URLs of a crawl, one a line, in the order of the log: see crawl/urls.ts. */
import { nearestName } from '../core/nearest-name.ts'
import { REASONS, type Reason } from '../core/reasons.ts'
import { URL_STATE } from '../core/state.ts'
import { forEachTurnedAway, type TurnedAwayLink } from '../crawl/turned-away.ts'
import { forEachUrl, isClass, type UrlFilter } from '../crawl/urls.ts'
import { textOf, textsOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { Output } from './output.ts'
import { crawlNamed, expressionOf, withLogs, withPast } from './reading.ts'
import { jsonLine } from './text.ts'

export async function run(args: Arguments): Promise<number> {
  const filter: UrlFilter = {
    states: statesOf(textsOf(args, 'state')),
    class: classOf(textOf(args, 'class')),
    match: expressionOf('match', textOf(args, 'match')),
  }
  const { layout, crawl } = crawlNamed(args)
  const isTurnedAway = args.values['turned-away'] === true
  if (isTurnedAway && filter.states !== undefined)
    throw usageError('Links that were turned away have no state.', 'Leave out --state.')
  if (isTurnedAway && !crawl.settings.keepRefused) {
    process.stderr.write(
      'crawler: this crawl counts the links it turns away but does not keep them; --keep-refused does\n',
    )
  }
  const output = new Output()
  if (isTurnedAway) {
    withLogs(layout, ({ events, end }) =>
      forEachTurnedAway(events, end, (link) => {
        if (passes(link, filter)) output.line(args.isJson ? jsonLine({ ...link, state: 'turned-away' }) : link.url)
      }),
    )
  } else {
    withPast(layout, (past) =>
      forEachUrl(past, filter, args.isJson, (line) => output.line(args.isJson ? jsonLine(line) : line.url)),
    )
  }
  output.flush()
  return EXIT.done
}

function passes(link: TurnedAwayLink, { class: wanted, match }: UrlFilter): boolean {
  return (wanted === undefined || isClass(link.class, wanted)) && (match === undefined || match.test(link.url))
}

function statesOf(names: readonly string[]): ReadonlySet<number> | undefined {
  if (names.length === 0) return undefined
  const states = new Set<number>()
  for (const name of names.flatMap((text) => text.split(','))) {
    const state = (URL_STATE as Readonly<Record<string, number>>)[name]
    if (state === undefined) throw usageError(...unknownWord('state', name, Object.keys(URL_STATE)))
    states.add(state)
  }
  return states
}

/** A class or a group of classes, as `retry` takes it too. Errors: USAGE. */
export function classOf(word: string | undefined): string | undefined {
  if (word === undefined) return undefined
  const words = Object.keys(REASONS) as Reason[]
  if (words.some((reason) => isClass(reason, word))) return word
  throw usageError(...unknownWord('class', word, words))
}

function unknownWord(option: string, word: string, known: readonly string[]): [string, string] {
  const near = nearestName(word, known)
  const hint = near === undefined ? `It must be one of ${known.join(', ')}.` : `Did you mean ${near}?`
  return [`--${option} is ${JSON.stringify(word)}; there is no such ${option}.`, hint]
}
