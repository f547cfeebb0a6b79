/**
 * The settings a user chose: flags over `CRAWLER_*` variables over the configuration file. Defaults come after.
 *
 * Invariant: nothing that was written is passed over in silence. What is not understood is refused, all of it at once.
 */
import { readFileSync } from 'node:fs'
import { parse as parseYaml } from 'yaml'
import { nearestName } from '../core/nearest-name.ts'
import { readOptions, type SettingInput } from '../core/setting-input.ts'
import { fileKeyOf, LATER_OPTIONS, OPTION_KEYS, SETTING_OPTIONS } from '../core/setting-options.ts'
import { CHANGEABLE, type Settings } from '../core/settings.ts'
import type { Arguments } from './command.ts'
import { usageError } from './errors.ts'

const PREFIX = 'CRAWLER_'
/** Variables that are no settings. */
const OTHER_VARIABLES: readonly string[] = ['CRAWLER_DIR', 'CRAWLER_CONFIG', 'CRAWLER_SEGMENT_BYTES']

/**
 * @returns the settings chosen, without defaults. Errors: USAGE with one line per problem.
 */
export function chosenSettings(args: Arguments): Partial<Settings> {
  const problems: string[] = []
  const path = (args.values.config as string | undefined) ?? process.env.CRAWLER_CONFIG
  const file = path === undefined ? undefined : readOptions(readConfig(path))
  const environment = readOptions(variables(problems))
  const flags = readOptions(flagsOf(args))
  problems.push(...messagesOf(file, (key, message) => `${path}: ${message.replace(/^"[^"]*"/, JSON.stringify(key))}`))
  problems.push(...messagesOf(environment, (key, message) => renamed(message, key, variableOf(key))))
  problems.push(...messagesOf(flags, (key, message) => renamed(message, key, `--${optionOf(key)}`)))
  const chosen = { ...file?.settings, ...environment.settings, ...flags.settings }
  for (const key of LATER_OPTIONS) {
    if (chosen[key] !== undefined) problems.push(`${optionOf(SETTING_OPTIONS[key].option)} is not there yet.`)
  }
  if (problems.length > 0) throw usageError(problems.join('\n'))
  return chosen
}

function messagesOf(input: SettingInput | undefined, say: (key: string, message: string) => string): string[] {
  return (input?.problems ?? []).map(({ key, message }) => say(key, message))
}

function renamed(message: string, key: string, name: string): string {
  return message.startsWith(`"${key}"`) ? name + message.slice(key.length + 2) : message
}

/** Reads a configuration file: JSON is YAML. Errors: USAGE. */
function readConfig(path: string): Readonly<Record<string, unknown>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(
      `The configuration ${path} cannot be read: ${(error as Error).message}`,
      'Check the path after --config.',
    )
  }
  let config: unknown
  try {
    config = parseYaml(text)
  } catch (error) {
    throw usageError(
      `The configuration ${path} is neither JSON nor YAML: ${(error as Error).message}`,
      'Mend the file.',
    )
  }
  if (config === null || config === undefined) return {}
  if (typeof config !== 'object' || Array.isArray(config)) {
    throw usageError(`The configuration ${path} must hold names and values, such as {"delay": "2s"}.`, 'Mend the file.')
  }
  return config as Readonly<Record<string, unknown>>
}

/** The settings among the variables of the environment, by file key. Lists have one entry a line. */
function variables(problems: string[]): Record<string, unknown> {
  const chosen: Record<string, unknown> = {}
  const known = [...OPTION_KEYS.keys()].map(variableOf)
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith(PREFIX) || OTHER_VARIABLES.includes(name) || value === undefined) continue
    const key = keyOfVariable(name)
    const setting = OPTION_KEYS.get(key)
    if (setting !== undefined) {
      const { kind } = SETTING_OPTIONS[setting]
      chosen[key] = kind === 'texts' || kind === 'expressions' ? value.split('\n').filter((line) => line !== '') : value
      continue
    }
    // What nothing here resembles is somebody else's: containers get CRAWLER_PORT and the like from their surroundings.
    const near = nearestName(
      name.slice(PREFIX.length),
      known.map((each) => each.slice(PREFIX.length)),
    )
    if (near !== undefined) problems.push(`The variable ${name} is unknown; did you mean ${PREFIX}${near}?`)
  }
  return chosen
}

function keyOfVariable(name: string): string {
  return fileKeyOf(name.slice(PREFIX.length).toLowerCase().replaceAll('_', '-'))
}

function variableOf(key: string): string {
  return PREFIX + optionOf(key).toUpperCase().replaceAll('-', '_')
}

/** `bodyMax` → `body-max`. */
function optionOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function flagsOf(args: Arguments): Record<string, unknown> {
  const chosen: Record<string, unknown> = {}
  for (const key of OPTION_KEYS.keys()) chosen[key] = args.values[optionOf(key)]
  return chosen
}

/** Refuses changes of what a crawl was built by. A value equal to the crawl's own is no change. Errors: USAGE. */
export function refuseFixed(current: Settings, changes: Readonly<Partial<Settings>>): void {
  const keys = Object.keys(changes) as Array<keyof Settings>
  const fixed = keys.filter(
    (key) => !CHANGEABLE.includes(key) && JSON.stringify(changes[key]) !== JSON.stringify(current[key]),
  )
  if (fixed.length === 0) return
  const lines = fixed.map(
    (key) => `--${SETTING_OPTIONS[key].option} was fixed when the crawl began: ${shown(current[key])}.`,
  )
  throw usageError(lines.join('\n'), 'Leave it out, or start another crawl with --dir.')
}

function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
