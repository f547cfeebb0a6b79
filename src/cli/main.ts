#!/usr/bin/env node
/**
 * The program: finds the command, parses its arguments, runs it, prints what goes wrong, sets the exit code.
 *
 * Only the command that runs is loaded, so `--help` and a mistake answer at once.
 */
import { nearestName } from '../core/nearest-name.ts'
import { VERSION } from '../crawl/version.ts'
import { COMMANDS } from './commands.ts'
import { EXIT, reportError, usageError } from './errors.ts'

// Who reads us may go away (`| head`, a closed terminal): that is no failure, and there is nobody to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.error),
)
process.stderr.on('error', () => {})

async function run(argv: readonly string[]): Promise<number> {
  const at = commandAt(argv)
  const name = at < 0 ? undefined : argv[at]
  if (name === undefined) return runWithout(argv)
  if (name === 'help') return run([...argv.slice(at + 1), '--help'])
  const command = COMMANDS.find((candidate) => candidate.name === name)
  if (command === undefined) {
    const near = nearestName(name, NAMES)
    throw usageError(
      `${JSON.stringify(name)} is no command.`,
      near === undefined ? undefined : `Did you mean \`crawler ${near}\`?`,
    )
  }
  const { parseArguments } = await import('./arguments.ts')
  const args = parseArguments(command, [...argv.slice(0, at), ...argv.slice(at + 1)])
  if ('help' in args) return print(args.help)
  const { run: runCommand } = await command.load()
  return runCommand(args)
}

const NAMES = COMMANDS.map(({ name }) => name)

/** Place of the command: the first word that is none of the options before it, nor one of their values. */
function commandAt(argv: readonly string[]): number {
  const first = argv.findIndex((word) => !word.startsWith('-'))
  if (first <= 0) return first
  const known = argv.findIndex((word) => NAMES.includes(word))
  return known < 0 ? first : known
}

async function runWithout(argv: readonly string[]): Promise<number> {
  if (argv.includes('--version') || argv.includes('-V')) return print(`${VERSION}\n`)
  const { mainHelp } = await import('./help.ts')
  if (argv.includes('--help') || argv.includes('-h')) return print(mainHelp())
  const unknown = argv.find((word) => word !== '--json')
  if (unknown !== undefined) throw usageError(`${unknown} is no option of \`crawler\`.`)
  process.stderr.write(mainHelp())
  return EXIT.usage
}

function print(text: string): number {
  process.stdout.write(text)
  return EXIT.done
}

const argv = process.argv.slice(2)
let code: number
try {
  code = await run(argv)
} catch (error) {
  code = reportError(error, argv.includes('--json'))
}
// All is written and closed by now. Idle sockets or timers of a library are no reason to stay.
process.stdout.write('', () => process.exit(code))
