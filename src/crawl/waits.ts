/** What a pending URL waits for: its own next attempt, its host, robots.txt, its turn in the host's queue. */
import type { Key } from '../base/md5.ts'
import { type CrawlEvent, ROBOTS, standingOf as standingOfLink } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import { SUSPECT_DEATHS } from '../core/waiting.ts'
import type { OpenedLog } from '../log/opened.ts'
import { readEvent } from '../shard/link-source.ts'
import { instant } from './explained-event.ts'
import type { HostHistory } from './host-history.ts'
import type { HistoryItem } from './url-history.ts'

export interface Wait {
  readonly what: string
  /** ISO 8601 UTC; null where nobody can know. */
  readonly until: string | null
}

/** Where a pending URL stands among those of its host. */
export interface Standing {
  /**
   * `returned`: it came back from an attempt, and goes before the queue as soon as it is due; `preferred`, `queued`: in
   * one of the queues; `suspect`: the process died so often while it was in flight that it is claimed last and alone.
   */
  readonly class: 'returned' | 'preferred' | 'queued' | 'suspect'
  /** Whole bulks of its queue before its own; 0 for the other classes. */
  readonly bulksAhead: number
}

/**
 * @param last     the URL's last event, and its key
 * @param delayMs  pause between two requests to its host
 * @param nowMs    wall clock: what is over is no reason to wait
 * Errors: LOG_CORRUPT. Cost: four reads.
 */
export function waitsOf(
  log: OpenedLog,
  host: HostHistory,
  last: CrawlEvent | undefined,
  key: Key,
  delayMs: number,
  nowMs: number,
): Wait[] {
  const waits: Wait[] = []
  const add = (what: string, untilMs: number): void => {
    if (untilMs > nowMs) waits.push({ what, until: instant(untilMs) })
  }
  const kept = last?.kind === KIND.linked ? standingOfLink(last, key) : undefined
  if (kept !== undefined) add(`its next attempt after ${reasonOf(kept.reason) ?? 'a failure'}`, kept.dueMs)
  if (last?.kind === KIND.retry) add(`its next attempt after ${reasonOf(last.reason) ?? 'a failure'}`, last.dueMs)
  for (const place of [host.delay, host.bad, host.robots.at(-1)]) {
    if (place === undefined) continue
    const event = readEvent(log, place.segment, place.position)
    if (event.kind === KIND.delay)
      add(`its host, which asked for a pause or failed (${reasonOf(event.reason) ?? 'delay'})`, event.untilMs)
    if (event.kind === KIND.badhost) add(`its host, which is bad (${reasonOf(event.reason) ?? 'bad'})`, event.untilMs)
    if (event.kind === KIND.robots && event.verdict === ROBOTS.held) add('robots.txt of its host', event.expiresMs)
  }
  if (host.asked !== undefined) waits.push({ what: 'robots.txt of its host, which is being fetched', until: null })
  if (host.contact === undefined || delayMs === 0) return waits
  const { kind, timeMs } = log.read(host.contact.segment, host.contact.position)
  if (kind === KIND.claim && host.asked === undefined)
    waits.push({ what: 'the request to its host that is under way', until: null })
  if (ANSWERS.has(kind)) add('the delay between two requests to its host', timeMs + delayMs)
  return waits
}

/** Kinds of records that a request comes to. */
const ANSWERS: ReadonlySet<number> = new Set([KIND.fetched, KIND.failed, KIND.retry])

/** @param history  of the URL. Cost: none. */
export function standingOf(host: HostHistory, history: readonly HistoryItem[]): Standing {
  const { place } = host
  if (place !== undefined) return { class: place.isPreferred ? 'preferred' : 'queued', bulksAhead: place.bulksAhead }
  const isSuspect = deathsIn(history) >= SUSPECT_DEATHS
  return { class: isSuspect ? 'suspect' : 'returned', bulksAhead: 0 }
}

/** Deaths while it was in flight, since it was found or reopened. */
function deathsIn(history: readonly HistoryItem[]): number {
  const start = history.findLastIndex(({ kind }) => kind === KIND.reopened)
  return history.slice(start + 1).filter(({ kind, arg }) => kind === KIND.void && arg === 1).length
}
