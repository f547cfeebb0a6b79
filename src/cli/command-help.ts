/** The help of one command. */
import type { Command, Option } from './command.ts'
import { WIDTH, wrap } from './text.ts'

type Options = Readonly<Record<string, Option>>

/** @param settings  the options of the crawl, where the command takes them */
export function commandHelp(command: Command, own: Options, settings: Options): string {
  const names = command.positionals.map(({ name, isMany, isRequired }) => {
    const shown = isMany ? `${name}...` : name
    return isRequired ? shown : `[${shown}]`
  })
  const groups = [{ title: 'Options', options: own }]
  if (command.takesSettings) groups.push({ title: 'Options of the crawl', options: settings })
  let text = `Usage: crawler ${[command.name, ...names].join(' ')} [options]\n\n${command.summary}.\n`
  for (const { title, options } of groups) text += `\n${title}:\n${optionLines(options)}`
  return `${text}\nExamples:\n${command.examples.map((line) => `  ${line}\n`).join('')}`
}

/** Name and value left, help right; a name too long for its column stands on a line of its own. */
function optionLines(options: Options): string {
  const nameWidth = 26
  let text = ''
  for (const [name, option] of Object.entries(options)) {
    const { value, help } = option
    const shown = value === undefined && option.isOn ? `[no-]${name}` : name
    const left = value === undefined ? `  --${shown}` : `  --${shown} ${value}`
    const lines = wrap(help, WIDTH - nameWidth - 2)
    text += left.length <= nameWidth ? `${left.padEnd(nameWidth)}  ` : `${left}\n${' '.repeat(nameWidth + 2)}`
    text += `${lines.join(`\n${' '.repeat(nameWidth + 2)}`)}\n`
  }
  return text
}
