/**
 * The command line as data, parsed by yargs: values by option name, positionals by name. What is not known is refused,
 * with the name that is near.
 */
import yargs from 'yargs'
import { nearestName } from '../core/nearest-name.ts'
import type { Arguments, Command, Option } from './command.ts'
import { commandHelp } from './command-help.ts'
import { usageError } from './errors.ts'
import { settingOptions } from './setting-flags.ts'

const DIR_DEFAULT = 'logs/default'

const COMMON: Readonly<Record<string, Option>> = {
  json: { type: 'flag', help: 'Results as JSON on standard output' },
  help: { type: 'flag', help: 'This help' },
}
const DIR: Option = { type: 'text', value: 'DIR', help: `The crawl's directory (default ${DIR_DEFAULT})` }

/** The options of a command: its own, then those all have. */
function ownOptions(command: Command): Readonly<Record<string, Option>> {
  return command.name === 'list' ? { ...command.options, ...COMMON } : { ...command.options, dir: DIR, ...COMMON }
}

/** @returns the arguments, or the help of the command where that was asked for. Errors: USAGE. */
export function parseArguments(command: Command, argv: readonly string[]): Arguments | { readonly help: string } {
  const own = ownOptions(command)
  const settings = command.takesSettings ? settingOptions() : {}
  const parser = createParser(command, own, settings)
  let parsed: Record<string, unknown>
  try {
    parsed = parser.parse(withDashes(argv)) as Record<string, unknown>
  } catch (error) {
    throw usageError(sentence(error), helpHint(command))
  }
  if (parsed.help === true) return { help: commandHelp(command, own, settings) }
  const values: Record<string, string | readonly string[] | boolean | undefined> = {}
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '_' || name === '$0' || name === 'h' || name === 'q' || value === undefined) continue
    const option = own[name] ?? settings[name]
    if (option === undefined) throw unknownOption(command, name, value, [...Object.keys(own), ...Object.keys(settings)])
    values[name] = givenValue(option, name, value)
  }
  const positionals = readPositionals(command, (parsed._ as unknown[]).map(String))
  return { command, positionals, values, isJson: values.json === true, isQuiet: values.quiet === true }
}

/** yargs takes a lone `-` for no value of a list, where `--seeds -` means standard input. */
function withDashes(argv: readonly string[]): string[] {
  const words: string[] = []
  for (const word of argv) {
    const before = words.at(-1)
    if (word === '-' && before?.startsWith('--') && !before.includes('=')) words[words.length - 1] = `${before}=-`
    else words.push(word)
  }
  return words
}

function createParser(command: Command, own: Readonly<Record<string, Option>>, settings: typeof own) {
  const parser = yargs()
    .scriptName(`crawler ${command.name}`)
    .detectLocale(false)
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail(false)
    .alias('help', 'h')
    .parserConfiguration({
      'camel-case-expansion': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'strip-aliased': true,
    })
  if ('quiet' in own) parser.alias('quiet', 'q')
  for (const [name, option] of Object.entries({ ...settings, ...own })) {
    if (option.type === 'flag') parser.option(name, { type: 'boolean' })
    else parser.option(name, { type: option.type === 'text' ? 'string' : 'array', string: true, requiresArg: true })
  }
  return parser
}

/** Of an option given twice the last one counts; lists keep all. */
function givenValue(option: Option, name: string, value: unknown): string | readonly string[] | boolean {
  if (option.type === 'texts') return value === false ? [] : (Array.isArray(value) ? value : [value]).map(String)
  const last: unknown = Array.isArray(value) ? value.at(-1) : value
  if (option.type === 'flag') return last === true
  // yargs reads `--no-depth` as "depth: false".
  if (typeof last !== 'string') throw usageError(`--no-${name} is no option; --${name} takes a value.`)
  return last
}

function readPositionals(command: Command, given: readonly string[]): Record<string, readonly string[]> {
  const positionals: Record<string, readonly string[]> = {}
  let next = 0
  for (const { name, isMany, isRequired } of command.positionals) {
    const taken = isMany ? given.slice(next) : given.slice(next, next + 1)
    if (isRequired && taken.length === 0) throw usageError(`${name} is missing.`, helpHint(command))
    positionals[name] = taken
    next += taken.length
  }
  if (next < given.length)
    throw usageError(`${JSON.stringify(given[next])} is one argument too many.`, helpHint(command))
  return positionals
}

function unknownOption(command: Command, name: string, value: unknown, known: readonly string[]) {
  const near = nearestName(name, known)
  const shown = name.length === 1 ? `-${name}` : value === false ? `--no-${name}` : `--${name}`
  const hint = near === undefined ? helpHint(command) : `Did you mean --${near}?`
  return usageError(`${shown} is no option of \`crawler ${command.name}\`.`, hint)
}

function helpHint(command: Command): string {
  return `Run \`crawler ${command.name} --help\`.`
}

function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const missing = /^Not enough arguments following: (.+)$/.exec(text)?.[1]
  return missing === undefined ? text : `--${missing} needs a value.`
}

/** The directory of the crawl: `--dir`, the positional DIR, or `CRAWLER_DIR`. Errors: USAGE where two differ. */
export function dirOf(args: Arguments): string {
  const named = args.values.dir as string | undefined
  const positional = args.positionals.DIR?.[0]
  if (named !== undefined && positional !== undefined && named !== positional) {
    throw usageError(`Two directories are named: ${positional} and --dir ${named}.`, 'Name one.')
  }
  return named ?? positional ?? process.env.CRAWLER_DIR ?? DIR_DEFAULT
}

export function textOf(args: Arguments, name: string): string | undefined {
  return args.values[name] as string | undefined
}

export function textsOf(args: Arguments, name: string): readonly string[] {
  return (args.values[name] as readonly string[] | undefined) ?? []
}
