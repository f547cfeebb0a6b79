/**
 * How a crawl is going, on stderr: on a terminal one line rewritten each second, elsewhere a line every ten seconds, so
 * that the output of a long crawl stays small.
 */
import { URL_STATE } from '../core/state.ts'
import type { RunningCrawl } from '../crawl/running.ts'
import { bytes, count, cut, plural, rate } from './text.ts'

const TERMINAL_MS = 1000
const FILE_MS = 10_000
/** The rate shown is that of this long, so that it is neither nervous nor out of date. */
const RATE_WINDOW_MS = 10_000

export interface Progress {
  /** Prints a line above the progress. */
  note(text: string): void
  /** Ends the progress; the line on a terminal is taken away. */
  end(): void
}

interface Sample {
  readonly atMs: number
  readonly pages: number
}

export function showProgress(crawl: RunningCrawl, isQuiet: boolean): Progress {
  const isTerminal = process.stderr.isTTY === true
  const samples: Sample[] = [{ atMs: performance.now(), pages: crawl.shard.state.pages }]
  const clear = isTerminal && !isQuiet ? '\r\x1b[K' : ''
  const show = (): void => {
    const line = progressLine(crawl, samples)
    if (!isTerminal) process.stderr.write(`${line}\n`)
    else process.stderr.write(clear + cut(line, Math.max(20, (process.stderr.columns ?? 80) - 1)))
  }
  const timer = isQuiet ? undefined : setInterval(show, isTerminal ? TERMINAL_MS : FILE_MS)
  timer?.unref()
  return {
    note: (text) => process.stderr.write(`${clear}${text}\n`),
    end: () => {
      clearInterval(timer)
      process.stderr.write(clear)
    },
  }
}

function progressLine(crawl: RunningCrawl, samples: Sample[]): string {
  const { state, totals, frontier } = crawl.shard
  const now = { atMs: performance.now(), pages: state.pages }
  const first = samples[0]
  samples.push(now)
  while (samples.length > 2 && samples[1].atMs <= now.atMs - RATE_WINDOW_MS) samples.shift()
  const pagesPerSecond = ((now.pages - first.pages) * 1000) / Math.max(1, now.atMs - first.atMs)
  // Hosts in the schedule are due now or later; what is due now is taken in the next turn.
  const waiting = state.processing.count < state.settings.concurrency ? frontier.due.size : 0
  return [
    `${count(now.pages)} pages`,
    `${rate(pagesPerSecond)}/s`,
    `${count(state.counts[URL_STATE.pending])} pending`,
    `${count(state.processing.count)} in flight`,
    `${count(state.counts[URL_STATE.failed])} failed`,
    bytes(totals.bytes),
    `${plural(waiting, 'host')} waiting`,
  ].join('  ')
}

/** What is over sooner shows nothing, milliseconds. */
const SHORT_MS = 2000

export interface ScanProgress {
  readonly on: (done: number, doneMax: number) => void
  /** Takes the line away. */
  readonly end: () => void
}

/**
 * Says how far something long is: on a terminal in one line, elsewhere in a line every ten seconds.
 * @param what  such as `replaying`
 */
export function scanProgress(what: string): ScanProgress {
  const isTerminal = process.stderr.isTTY === true
  const startedMs = performance.now()
  let shownMs = isTerminal ? startedMs + SHORT_MS - TERMINAL_MS : startedMs
  let isShown = false
  return {
    on: (done, doneMax) => {
      const nowMs = performance.now()
      if (nowMs - shownMs < (isTerminal ? TERMINAL_MS : FILE_MS)) return
      shownMs = nowMs
      isShown = true
      const text = `${what} ${Math.floor((done / Math.max(1, doneMax)) * 100)} %`
      process.stderr.write(isTerminal ? `\r${text}\x1b[K` : `${text}\n`)
    },
    end: () => {
      if (isShown && isTerminal) process.stderr.write('\r\x1b[K')
      isShown = false
    },
  }
}

export interface ReplayProgress {
  readonly onReplay: (done: number, doneMax: number) => void
  /** Takes the line away. */
  readonly end: () => void
}

/** The same for a long replay. */
export function replayProgress(doing = 'replaying'): ReplayProgress {
  const { on: onReplay, end } = scanProgress(doing)
  return { onReplay, end }
}
