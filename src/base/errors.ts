/**
 * Operating errors: thrown once, printed once, each with a stable code, the facts and a hint.
 *
 * A programmer's error is an `assert`; an outcome of the world (timeout, 404) is a value, never thrown.
 */

/** What to do next. Keys are the stable codes; docs and scripts may rely on them. */
export const HINTS = {
  LOG_CORRUPT:
    'Valid records follow the damage, so nothing was cut. `crawler verify DIR --repair` sets the damaged files aside and goes on from what is left.',
  LOG_NEWER: 'This log was written by a newer version of crawler. Update crawler and try again.',
  LOG_FULL: 'Compact the crawl, or go on in another directory.',
  DISK_FULL: 'Nothing is lost. Free some space and run `crawler resume`.',
  DISK_FAILED: 'Nothing written before is lost. Check the disk, then run `crawler resume`.',
  DISK_DENIED: 'Check the permissions of the directory, or choose another one with --dir.',
  DISK_MISSING: 'Check the path.',
  DIR_IN_USE: 'Another process is crawling here. `crawler status` shows it.',
  DIR_HOLDS_CRAWL: 'Run `crawler resume` to go on with it, or choose another directory with --dir.',
  DIR_NO_CRAWL: 'Run `crawler start URL` to begin one, or `crawler list` to see the crawls there are.',
  FORK_REFUSED: 'Name a directory that does not exist yet.',
  FORK_UNFINISHED: 'Remove the directory and fork again; the crawl it comes from is as it was.',
  UNTIL_UNREACHABLE: 'Name a later instant.',
  USAGE: 'Run `crawler --help`.',
} as const

export type ErrorCode = keyof typeof HINTS

export class CrawlError extends Error {
  readonly code: ErrorCode
  /** Facts for people and for `--json`: paths, segment, offset, pid. Never secrets. */
  readonly facts: Readonly<Record<string, string | number>>
  readonly hint: string

  constructor(code: ErrorCode, message: string, facts: Readonly<Record<string, string | number>> = {}, hint?: string) {
    super(message)
    this.name = 'CrawlError'
    this.code = code
    this.facts = facts
    this.hint = hint ?? HINTS[code]
  }
}
