/**
 * A crawl in the foreground: what `start` and `resume` have in common. Signals stop it, progress and a summary go to
 * stderr, the figures to stdout, and how it ended is the exit code.
 */
import { firstTroubleIn } from '../crawl/first-trouble.ts'
import type { CrawlEnd, CrawlListener } from '../crawl/running.ts'
import type { OpenCrawl } from '../crawl/starting.ts'
import type { Status } from '../crawl/status.ts'
import type { Arguments } from './command.ts'
import type { CrawlLog } from './crawl-log.ts'
import { EXIT } from './errors.ts'
import { type Progress, type ReplayProgress, showProgress } from './progress.ts'
import { withLogs, withPast } from './reading.ts'
import { type CrawlFigures, summaryOf } from './summary.ts'
import { escapeLine, jsonLine, withoutUserinfo } from './text.ts'

export interface Foreground {
  readonly open: OpenCrawl
  readonly args: Arguments
  readonly root: string
  readonly log: CrawlLog
  readonly listener: NotingListener
  /** `resume-finished`: there was nothing left to do. */
  readonly act: 'start' | 'resume' | 'resume-finished'
}

/** Passes what the crawl says on to the log and, but for information, to the terminal. */
export interface NotingListener extends CrawlListener {
  /** Prints a line; with a progress running, above that. */
  note: (text: string) => void
}

export function listenerOf(log: CrawlLog, onReplay?: ReplayProgress['onReplay']): NotingListener {
  const listener: NotingListener = {
    note: (text) => process.stderr.write(`${text}\n`),
    onMessage: (level, text, facts) => {
      log.write(level, text, facts)
      if (level !== 'info') listener.note(`crawler: ${escapeLine(withoutUserinfo(text))}`)
    },
    ...(onReplay === undefined ? {} : { onReplay }),
  }
  return listener
}

/** Runs an open crawl and closes it. @returns the exit code. Errors: what the disk or the log threw. */
export async function crawlToItsEnd(foreground: Foreground): Promise<number> {
  const { open, args, log, listener, root, act } = foreground
  const { crawl } = open
  const startedMs = performance.now()
  const pagesBefore = crawl.shard.state.pages
  const forgetSignals = stopOnSignals(foreground)
  const progress = showProgress(crawl, args.isQuiet)
  listener.note = progress.note
  let end: CrawlEnd
  try {
    end = await crawl.run()
  } catch (error) {
    log.write('error', 'failed', { error: error instanceof Error ? error.message : String(error) })
    await closeQuietly(open)
    throw error
  } finally {
    endProgress(listener, progress)
  }
  await open.close()
  forgetSignals()
  const kept = end.kind === 'disk-full' ? onDisk(open) : undefined
  const pages = kept?.pages ?? crawl.shard.state.pages
  const figures: CrawlFigures = {
    end: { ...end, status: kept?.status ?? end.status },
    root,
    act,
    runMs: performance.now() - startedMs,
    pages,
    newPages: pages - pagesBefore,
    reasons: crawl.reasons(),
    firstTrouble: pages > 0 ? undefined : withLogs(open.layout, firstTroubleIn),
  }
  return conclude(foreground, figures)
}

/** After a full disk memory may know more than the log could keep: then what counts is what is there. */
function onDisk({ layout }: OpenCrawl): { readonly status: Status; readonly pages: number } | undefined {
  try {
    return withPast(layout, ({ status, state }) => ({ status, pages: state.pages }))
  } catch {
    // It is said on the next occasion: `resume` looks at the log before all else.
    return undefined
  }
}

function endProgress(listener: NotingListener, progress: Progress): void {
  progress.end()
  listener.note = (text) => process.stderr.write(`${text}\n`)
}

/** After a failure the error itself is what counts, not what closing says. */
async function closeQuietly(open: OpenCrawl): Promise<void> {
  try {
    await open.close()
  } catch {
    // The lock and the files go with the process.
  }
}

function conclude({ args, log }: Foreground, figures: CrawlFigures): number {
  const { end, act } = figures
  const elapsedMs = Math.round(performance.now())
  log.write('info', 'end', {
    kind: end.kind,
    reason: end.reason,
    elapsedMs,
    ...end.status,
    reasons: Object.fromEntries(figures.reasons),
  })
  const code = exitCodeOf(figures)
  // Quiet is for what goes well.
  const isTrouble = code === EXIT.diskFull || (code === EXIT.error && act !== 'resume-finished')
  const isWanted = !args.isQuiet || isTrouble
  if (isWanted) process.stderr.write(`${summaryOf(figures)}\n`)
  if (args.isJson) process.stdout.write(`${jsonLine({ ...end.status, elapsedMs })}\n`)
  return code
}

function exitCodeOf({ end, act, pages }: CrawlFigures): number {
  if (end.kind === 'disk-full') return EXIT.diskFull
  if (!end.status.finished) return EXIT.stopped
  if (act === 'resume-finished') return EXIT.done
  return pages > 0 ? EXIT.done : EXIT.error
}

/** Opens a crawl. A signal meanwhile ends the process: nothing is under way that an opening does not mend. */
export async function openInForeground(opening: () => Promise<OpenCrawl>): Promise<OpenCrawl> {
  const onSignal = (): void => process.exit(EXIT.stopped)
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    return await opening()
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * The first signal stops the crawl in order; the second ends the process at once, which loses nothing: what was written
 * is with the operating system, and URLs in flight return to pending when the log is next opened.
 */
function stopOnSignals({ open, log, listener, args }: Foreground): () => void {
  let isStopping = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(EXIT.stopped)
    isStopping = true
    log.write('info', 'stop', { signal })
    if (!args.isQuiet) listener.note(`crawler: ${signal}, stopping; once more stops at once`)
    open.crawl.stop(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}
