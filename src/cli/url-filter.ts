/** Which URLs of a crawl are wanted: `--state`, `--class` and `--match`, as `urls` and `export` take them. */
import { nearestName } from '../core/nearest-name.ts'
import { REASONS, type Reason } from '../core/reasons.ts'
import { URL_STATE } from '../core/state.ts'
import { isClass, type UrlFilter } from '../crawl/urls.ts'
import { textOf, textsOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { usageError } from './errors.ts'
import { expressionOf } from './reading.ts'

/** Errors: USAGE. */
export function filterOf(args: Arguments): UrlFilter {
  return {
    states: statesOf(textsOf(args, 'state')),
    class: classOf(textOf(args, 'class')),
    match: expressionOf('match', textOf(args, 'match')),
  }
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
