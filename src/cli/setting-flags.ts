/** The settings of a crawl as options of the command line: see core/setting-options.ts. */
import { LATER_OPTIONS, SETTING_OPTIONS, type SettingOption } from '../core/setting-options.ts'
import { DEFAULTS, type Settings } from '../core/settings.ts'
import type { Option } from './command.ts'

/** The settings as options of the command line; those that only a file can hold are left out. */
export function settingOptions(): Readonly<Record<string, Option>> {
  const options: Record<string, Option> = {}
  for (const [key, setting] of Object.entries(SETTING_OPTIONS) as Array<[keyof Settings, SettingOption]>) {
    if (setting.kind === 'rules' || setting.kind === 'hosts' || LATER_OPTIONS.has(key)) continue
    const shown = defaultOf(setting, DEFAULTS[key])
    const option = optionOf(setting)
    options[setting.option] = {
      ...option,
      help: shown === '' ? option.help : `${option.help} (default ${shown})`,
      ...(DEFAULTS[key] === true ? { isOn: true as const } : {}),
    }
  }
  return options
}

function optionOf(setting: SettingOption): Option {
  const { help } = setting
  switch (setting.kind) {
    case 'flag':
      return { type: 'flag', help }
    case 'texts':
      return { type: 'texts', value: 'TEXT', help }
    case 'expressions':
      return { type: 'texts', value: 'RE', help }
    case 'word':
      return { type: 'text', value: setting.words.join('|'), help }
    default:
      return { type: 'text', value: VALUE_NAMES[setting.kind as keyof typeof VALUE_NAMES], help }
  }
}

const VALUE_NAMES = { duration: 'TIME', size: 'SIZE', count: 'N', number: 'X', text: 'TEXT' } as const

const MS: ReadonlyArray<readonly [number, string]> = [
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]
const BYTES: ReadonlyArray<readonly [number, string]> = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
]

/** A default as it would be written; '' where there is nothing to say. */
function defaultOf(setting: SettingOption, value: Settings[keyof Settings]): string {
  if (typeof value !== 'number') return typeof value === 'string' ? value : ''
  if (setting.kind === 'duration') return withUnit(value, MS, 'ms')
  return setting.kind === 'size' ? withUnit(value, BYTES, '') : String(value)
}

/** In the largest unit that leaves no fraction. */
function withUnit(value: number, units: ReadonlyArray<readonly [number, string]>, small: string): string {
  const unit = units.find(([size]) => value >= size && value % size === 0)
  return unit === undefined ? `${value}${value === 0 ? '' : small}` : `${value / unit[0]}${unit[1]}`
}
