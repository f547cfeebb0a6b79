/**
 * From what a user wrote to settings, and the check of settings that come from elsewhere (a record, a program).
 *
 * Invariant: nothing is guessed. A value that is not understood, or out of bounds, is a problem that names the key, the
 * value and what is right; all problems of an input are found at once.
 */
import { nearestName } from './nearest-name.ts'
import { fileKeyOf, OPTION_KEYS, SETTING_OPTIONS, type SettingOption } from './setting-options.ts'
import { HOST_KEYS, type Settings } from './settings.ts'
import { DURATION_FORM, parseDurationMs, parseSizeBytes, SIZE_FORM } from './units.ts'
import { URL_RULES_DEFAULT } from './url-rules.ts'

/** One thing wrong with an input. */
export interface SettingProblem {
  /** Where: the key as the user wrote it, e.g. `bodyMax` or `hosts.a.test.delay`. */
  readonly key: string
  /** A whole sentence with key, value and what is right. */
  readonly message: string
}

export interface SettingInput {
  readonly settings: Partial<Settings>
  readonly problems: readonly SettingProblem[]
}

/**
 * Reads options as flags, environment or a configuration file give them: file keys (`bodyMax`), values as text or typed.
 * A key whose value is undefined counts as not given.
 *
 * @returns the settings chosen, without defaults (see `resolveSettings`), and everything that is wrong
 */
export function readOptions(input: Readonly<Record<string, unknown>>): SettingInput {
  return readKeys(input, '', (key) => OPTION_KEYS.get(key), [...OPTION_KEYS.keys()])
}

/**
 * Checks whole settings: every key there, none unknown, every value of its kind and within its bounds.
 *
 * @returns [] where all is right
 */
export function validateSettings(settings: unknown): readonly SettingProblem[] {
  if (!isObject(settings)) return [{ key: '', message: `Settings must be an object, not ${shown(settings)}.` }]
  const names = Object.keys(SETTING_OPTIONS)
  const missing = names.filter((name) => settings[name] === undefined)
  const problems: SettingProblem[] = missing.map((key) => ({ key, message: `"${key}" is missing.` }))
  for (const [key, value] of Object.entries(settings)) {
    if (!Object.hasOwn(SETTING_OPTIONS, key)) problems.push(unknownKey(key, key, names))
    else if (value !== undefined) problems.push(...checkTyped(key as keyof Settings, value))
  }
  return problems
}

/** A value that was read unchanged is of its type; text that still had to be parsed is not. */
function checkTyped(key: keyof Settings, value: unknown): readonly SettingProblem[] {
  if (key === 'hosts') return checkTypedHosts(value)
  const read = readValue(SETTING_OPTIONS[key], value, key)
  if ('problems' in read) return read.problems
  if (JSON.stringify(read.value) === JSON.stringify(value)) return []
  return [{ key, message: `"${key}" is ${shown(value)}; it must be ${JSON.stringify(read.value)}.` }]
}

function checkTypedHosts(value: unknown): readonly SettingProblem[] {
  if (!isObject(value)) return [problemOf('hosts', value, HOSTS_FORM)]
  const problems: SettingProblem[] = []
  for (const [pattern, own] of Object.entries(value)) {
    if (!HOST_PATTERN.test(pattern)) problems.push(problemOf('hosts', pattern, HOST_PATTERN_FORM))
    if (!isObject(own)) problems.push(problemOf(`hosts.${pattern}`, own, HOSTS_FORM))
    else problems.push(...checkTypedHost(own, `hosts.${pattern}.`))
  }
  return problems
}

function checkTypedHost(own: Readonly<Record<string, unknown>>, prefix: string): readonly SettingProblem[] {
  const problems: SettingProblem[] = []
  for (const [key, value] of Object.entries(own)) {
    if (!isHostKey(key)) problems.push(unknownKey(prefix + key, key, HOST_KEYS))
    else problems.push(...checkTyped(key, value).map((problem) => ({ ...problem, key: prefix + problem.key })))
  }
  return problems
}

type Read = { readonly value: unknown } | { readonly problems: readonly SettingProblem[] }

const HOSTS_FORM = 'an object from host patterns to settings, such as {"*.a.test": {"delay": "5s"}}'
const HOST_PATTERN_FORM = 'a host such as a.test, a.test:8080 or *.a.test, in lower case'
const HOST_PATTERN = /^(?:\*\.)?[^\s*/?#@A-Z]+$/

function readKeys(
  input: Readonly<Record<string, unknown>>,
  prefix: string,
  settingOf: (key: string) => keyof Settings | undefined,
  known: readonly string[],
): SettingInput {
  const settings: Record<string, unknown> = {}
  const problems: SettingProblem[] = []
  for (const [key, raw] of Object.entries(input)) {
    if (raw === undefined) continue
    const setting = settingOf(key)
    if (setting === undefined) {
      problems.push(unknownKey(prefix + key, key, known))
      continue
    }
    const read = readValue(SETTING_OPTIONS[setting], raw, prefix + key)
    if ('problems' in read) problems.push(...read.problems)
    else settings[setting] = read.value
  }
  return { settings, problems }
}

function readValue(option: SettingOption, raw: unknown, key: string): Read {
  switch (option.kind) {
    case 'duration':
    case 'size':
    case 'count':
      return readQuantity(option, raw, key)
    case 'number':
      return bounded(decimalOf(raw), option, 'a number', raw, key)
    case 'flag':
      return readFlag(raw, key)
    case 'word':
      return readWord(option.words, raw, key)
    case 'text':
      return typeof raw === 'string' && /^[^\0-\x1f\x7f]+$/.test(raw)
        ? { value: raw }
        : wrong(key, raw, 'a line of text')
    case 'texts':
      return readTexts(raw, option.form, option.isRight, key)
    case 'expressions':
      return readTexts(raw, 'a regular expression', isExpression, key)
    case 'rules':
      return readRules(raw, key)
    case 'hosts':
      return readHosts(raw, key)
  }
}

type QuantityOption = Extract<SettingOption, { kind: 'duration' | 'size' | 'count' }>

const QUANTITY_FORMS = { duration: DURATION_FORM, size: SIZE_FORM, count: 'a whole number' } as const

function readQuantity(option: QuantityOption, raw: unknown, key: string): Read {
  if (option.isNullable && (raw === null || raw === 'none')) return { value: null }
  return bounded(quantityOf(option.kind, raw), option, QUANTITY_FORMS[option.kind], raw, key)
}

function quantityOf(kind: QuantityOption['kind'], raw: unknown): number | undefined {
  if (typeof raw !== 'string' && typeof raw !== 'number') return undefined
  if (kind === 'duration') return parseDurationMs(raw)
  if (kind === 'size') return parseSizeBytes(raw)
  const number = decimalOf(raw)
  return Number.isSafeInteger(number) ? number : undefined
}

function decimalOf(raw: unknown): number | undefined {
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw : undefined
  return typeof raw === 'string' && /^\d+(?:\.\d+)?$/.test(raw) ? Number(raw) : undefined
}

type Bounds = { readonly min: number; readonly max: number }

function bounded(value: number | undefined, { min, max }: Bounds, form: string, raw: unknown, key: string): Read {
  if (value === undefined) return wrong(key, raw, form)
  if (value < min) return wrong(key, raw, `${form}, at least ${min}`)
  return value > max ? wrong(key, raw, `${form}, at most ${max}`) : { value }
}

function readFlag(raw: unknown, key: string): Read {
  if (typeof raw === 'boolean') return { value: raw }
  if (raw === 'true' || raw === '1') return { value: true }
  return raw === 'false' || raw === '0' ? { value: false } : wrong(key, raw, 'true or false')
}

function readWord(words: readonly string[], raw: unknown, key: string): Read {
  if (typeof raw === 'string' && words.includes(raw)) return { value: raw }
  const near = typeof raw === 'string' ? nearestName(raw, words) : undefined
  return wrong(key, raw, `one of ${words.join(', ')}` + (near === undefined ? '' : ` (did you mean "${near}"?)`))
}

/** A list, or a single text for a list of one. */
function readTexts(raw: unknown, form: string, isRight: (text: string) => boolean, key: string): Read {
  const list: readonly unknown[] = Array.isArray(raw) ? raw : [raw]
  const bad = list.filter((text) => typeof text !== 'string' || !isRight(text))
  return bad.length === 0 ? { value: list } : { problems: bad.map((text) => problemOf(key, text, form)) }
}

function isExpression(source: string): boolean {
  try {
    new RegExp(source)
    return true
  } catch {
    return false // The engine has no other way to ask.
  }
}

function readRules(raw: unknown, key: string): Read {
  if (!isObject(raw)) return wrong(key, raw, 'an object such as {"dropQueryParameters": ["utm_*"]}')
  const problems: SettingProblem[] = []
  for (const [name, value] of Object.entries(raw)) {
    if (!Object.hasOwn(URL_RULES_DEFAULT, name)) {
      problems.push(unknownKey(`${key}.${name}`, name, Object.keys(URL_RULES_DEFAULT)))
      continue
    }
    const isList = Array.isArray(URL_RULES_DEFAULT[name as keyof typeof URL_RULES_DEFAULT])
    const isRight = isList ? isTextList(value) : typeof value === 'boolean'
    if (!isRight) problems.push(problemOf(`${key}.${name}`, value, isList ? 'a list of names' : 'true or false'))
  }
  return problems.length === 0 ? { value: { ...URL_RULES_DEFAULT, ...raw } } : { problems }
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function readHosts(raw: unknown, key: string): Read {
  if (!isObject(raw)) return wrong(key, raw, HOSTS_FORM)
  const hosts: Array<[string, unknown]> = []
  const problems: SettingProblem[] = []
  for (const [pattern, own] of Object.entries(raw)) {
    if (!HOST_PATTERN.test(pattern)) problems.push(problemOf(key, pattern, HOST_PATTERN_FORM))
    else if (!isObject(own)) problems.push(problemOf(`${key}.${pattern}`, own, HOSTS_FORM))
    else {
      const read = readKeys(own, `${key}.${pattern}.`, hostKeyOf, HOST_OPTION_KEYS)
      hosts.push([pattern, read.settings])
      problems.push(...read.problems)
    }
  }
  return problems.length === 0 ? { value: Object.fromEntries(hosts) } : { problems }
}

const HOST_OPTION_KEYS: readonly string[] = HOST_KEYS.map((key) => fileKeyOf(SETTING_OPTIONS[key].option))

function hostKeyOf(key: string): keyof Settings | undefined {
  return HOST_OPTION_KEYS.includes(key) ? OPTION_KEYS.get(key) : undefined
}

function isHostKey(key: string): key is (typeof HOST_KEYS)[number] {
  return (HOST_KEYS as readonly string[]).includes(key)
}

function unknownKey(path: string, key: string, known: readonly string[]): SettingProblem {
  const near = nearestName(key, known)
  return { key: path, message: `"${path}" is unknown` + (near === undefined ? '.' : `; did you mean "${near}"?`) }
}

function wrong(key: string, value: unknown, form: string): Read {
  return { problems: [problemOf(key, value, form)] }
}

function problemOf(key: string, value: unknown, form: string): SettingProblem {
  return { key, message: `"${key}" is ${shown(value)}; it must be ${form}.` }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? text.slice(0, 77) + '…' : text
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
