/**
 * DIR/crawler.log: what the process did, JSON lines by pino. For people who look for a cause; nothing depends on it.
 *
 * Invariant: nothing secret is written: no header values, no cookies, no user names or passwords of URLs.
 */
import { pino } from 'pino'
import type { Settings } from '../core/settings.ts'
import { withoutUserinfo } from './text.ts'

export type Level = 'info' | 'warn' | 'error'
export type Facts = Readonly<Record<string, unknown>>

export interface CrawlLog {
  write(level: Level, text: string, facts?: Facts): void
}

/** The file is opened with the first line: until the crawl's directory is ours nothing may be written there. */
export function createCrawlLog(path: string): CrawlLog {
  let logger: ReturnType<typeof openLogger> | undefined
  return {
    write: (level, text, facts = {}) => {
      try {
        logger ??= openLogger(path)
        logger[level](redacted(facts), withoutUserinfo(text))
      } catch {
        // A log that cannot be written (a full disk) is no reason to stop; the crawl says itself what is wrong.
      }
    },
  }
}

function openLogger(path: string) {
  const destination = pino.destination({ dest: path, sync: true, append: true, mkdir: false })
  destination.on('error', () => {})
  return pino({ base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

function redacted(facts: Facts): Facts {
  return JSON.parse(withoutUserinfo(JSON.stringify(facts))) as Facts
}

/** Settings as they may be shown: of headers only the names. */
export function shownSettings(settings: Settings): Facts {
  const hosts = Object.entries(settings.hosts).map(([pattern, own]) => [
    pattern,
    own.header === undefined ? own : { ...own, header: own.header.map(nameOnly) },
  ])
  return { ...settings, header: settings.header.map(nameOnly), hosts: Object.fromEntries(hosts) as Facts }
}

function nameOnly(header: string): string {
  return `${header.slice(0, header.indexOf(':'))}: ***`
}
