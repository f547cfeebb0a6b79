/**
 * What goes wrong, as people and scripts see it: one message with a hint on stderr, one exit code, with `--json` one
 * line on stdout as well.
 */
import { MalformedValue } from '../base/bytes.ts'
import { CrawlError, type ErrorCode } from '../base/errors.ts'
import { escapeLines, jsonLine, withoutUserinfo } from './text.ts'

/** Exit codes, frozen: see the README. */
export const EXIT = {
  done: 0,
  /** An error, or not one page was had, or the URL is unknown. */
  error: 1,
  /** A wrong option, or a time or file that cannot be read. */
  usage: 2,
  /** Stopped by a limit or a signal with work left. */
  stopped: 3,
  corrupt: 4,
  inUse: 5,
  diskFull: 6,
} as const

const EXIT_OF: Readonly<Partial<Record<ErrorCode, number>>> = {
  USAGE: EXIT.usage,
  UNTIL_UNREACHABLE: EXIT.usage,
  FORK_REFUSED: EXIT.usage,
  LOG_CORRUPT: EXIT.corrupt,
  DIR_IN_USE: EXIT.inUse,
  DISK_FULL: EXIT.diskFull,
}

/** A mistake of the command line, of a configuration file or of the environment. */
export function usageError(message: string, hint?: string): CrawlError {
  return new CrawlError('USAGE', message, {}, hint)
}

/** Prints an error. @returns the exit code */
export function reportError(thrown: unknown, isJson: boolean): number {
  const error = toCrawlError(thrown)
  if (error === undefined) return reportBug(thrown, isJson)
  const message = withoutUserinfo(error.message)
  const { code, hint, facts } = error
  if (isJson) process.stdout.write(`${jsonLine({ error: { code, message, hint, facts } })}\n`)
  process.stderr.write(`crawler: ${escapeLines(message)}\n${indented(hint)}`)
  return EXIT_OF[code] ?? EXIT.error
}

function indented(hint: string): string {
  if (hint === '') return ''
  return escapeLines(hint)
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('')
}

/** A programmer's error: the stack is what can be done about it. */
function reportBug(thrown: unknown, isJson: boolean): number {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const hint = 'This is a fault of crawler. What was written is safe: `crawler resume` goes on.'
  if (isJson) process.stdout.write(`${jsonLine({ error: { code: 'INTERNAL', message, hint, facts: {} } })}\n`)
  const stack = thrown instanceof Error ? (thrown.stack ?? message) : message
  process.stderr.write(`crawler: ${escapeLines(withoutUserinfo(stack))}\n${indented(hint)}`)
  return EXIT.error
}

const DISK_FULL_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG']
const DENIED_CODES: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS']

/** Errors of the system and of damaged values as CrawlErrors; undefined for anything else. */
function toCrawlError(thrown: unknown): CrawlError | undefined {
  if (thrown instanceof CrawlError) return thrown
  if (thrown instanceof MalformedValue)
    return new CrawlError('LOG_CORRUPT', `A record cannot be read: ${thrown.message}.`)
  if (!(thrown instanceof Error)) return undefined
  const { code, path } = thrown as NodeJS.ErrnoException
  const facts = path === undefined ? {} : { path }
  if (DISK_FULL_CODES.includes(code)) return new CrawlError('DISK_FULL', thrown.message, facts)
  if (DENIED_CODES.includes(code)) return new CrawlError('DISK_DENIED', thrown.message, facts)
  if (code === 'ENOENT' || code === 'ENOTDIR') return new CrawlError('DISK_MISSING', thrown.message, facts)
  return undefined
}
