/** `crawler --help`: short, by group, with three examples. */
import { COMMANDS } from './commands.ts'
import { table } from './text.ts'

const GROUPS = { Crawl: 'Crawl', Look: 'Look at a crawl', Keep: 'Go back and check' } as const

const END = `
All take --dir DIR (default logs/default) and --json. \`crawler COMMAND --help\` lists a command's options.

Examples:
  crawler start https://example.org/ --depth 3
  crawler status
  crawler urls --state failed --json
`

export function mainHelp(): string {
  const rows = COMMANDS.map(({ name, summary }) => [`  ${name}`, summary])
  const lines = table(rows)
  let text = 'Usage: crawler COMMAND [options]\n\nA web crawler that cannot lose its place and can be rewound.\n'
  for (const group of Object.keys(GROUPS) as Array<keyof typeof GROUPS>) {
    const own = lines.filter((_, i) => COMMANDS[i].group === group)
    text += `\n${GROUPS[group]}:\n${own.join('\n')}\n`
  }
  return text + END
}
