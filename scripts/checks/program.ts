/** The program under test as its users run it: a process of its own, with arguments, streams and an exit code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
const MAIN = join(ROOT, 'src', 'cli', 'main.ts')

export interface ProgramOptions {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Command put before it, such as `setpriv …`. */
  readonly before?: readonly string[]
}

export interface Program {
  readonly child: ChildProcess
  readonly pid: number
  /** What it printed so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** Exit code, or the signal's name, once it has ended and its streams are read. */
  readonly ended: Promise<number | string>
  /** Whether it has ended already. */
  readonly hasEnded: () => boolean
}

/** Starts `crawler` with these arguments. */
export function startProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  const [command, ...rest] = [...(options.before ?? []), process.execPath, MAIN, ...args]
  const child = spawn(command, rest, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: Buffer[] = []
  const error: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => void out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => void error.push(chunk))
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
  })
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  return {
    child,
    pid: child.pid as number,
    stdout: () => Buffer.concat(out).toString(),
    stderr: () => Buffer.concat(error).toString(),
    ended,
    hasEnded: () => hasEnded,
  }
}

export interface Run {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/** Runs `crawler` to its end. */
export async function runProgram(args: readonly string[], options: ProgramOptions = {}): Promise<Run> {
  const program = startProgram(args, options)
  const code = await program.ended
  return { code, stdout: program.stdout(), stderr: program.stderr() }
}
