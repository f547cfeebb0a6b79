/**
 * Retries and backoff: which failures may pass, when a URL is tried again, and what a failure means for its host.
 *
 * A failure delays the host, not only the URL: Retry-After and exponential backoff become `delay` events with an
 * absolute instant, so that a restart forgets nothing. Each good answer takes one level back.
 */

import { keyOf } from '../base/md5.ts'
import type { CrawlEvent } from './event.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import { REASONS } from './reasons.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

/** Pause after a first failure where the crawl's delay is shorter, milliseconds. Doubles with each level. */
export const BACKOFF_FIRST_MS = 1000
/** Highest backoff level: by then every pause has reached `delayMaxMs`. */
export const BACKOFF_LEVEL_MAX = 20
/** How long a bad host stays bad, milliseconds. */
const BAD_HOST_MS = 24 * 3_600_000

/** As much of an answer or a trouble as retries look at. */
export type Outcome =
  | { readonly kind: 'answer'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'trouble'; readonly class: string; readonly isConnected: boolean }

const RETRYABLE_STATUS = new Set([408, 425, 429])
const FINAL_CLASSES = new Set(['tls.invalid', 'http.headers-too-large', 'http.decode', 'address.forbidden'])

export function isRetryable(outcome: Outcome): boolean {
  if (outcome.kind === 'trouble') return !FINAL_CLASSES.has(outcome.class)
  return (
    RETRYABLE_STATUS.has(outcome.status) || (outcome.status >= 500 && outcome.status !== 501 && outcome.status !== 505)
  )
}

/** Pause before a URL's next attempt, milliseconds: doubles with each one made, at most `delayMaxMs`. */
export function retryDelayMs(attempts: number, settings: Settings): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** (attempts - 1), settings.delayMaxMs)
}

/**
 * What an outcome means for its host: `delay` where it is to be left alone, `badhost` where nobody is there.
 *
 * @param answerMs  how long the answer took: what `delayFactor` multiplies
 */
export function hostEvents(
  state: State,
  host: string,
  settings: Settings,
  outcome: Outcome,
  nowMs: number,
  answerMs: number,
): CrawlEvent[] {
  const id = state.hosts.findKey(keyOf(host))
  const level = id === 0 ? 0 : state.hosts.get(id, HOST.backoffLevel)
  const isAnswered = id !== 0 && state.hosts.hasFlag(id, HOST_FLAG.answered)
  // One answer may not shorten what another one asked for: several are in flight where the delay is 0.
  const blockedMs = id === 0 ? 0 : state.hosts.getMs(id, HOST.blockedUntilMs)
  const factorMs = Math.min(Math.ceil(settings.delayFactor * answerMs), settings.delayMaxMs)
  if (!isTroubleOfHost(outcome)) {
    if (level === 0 && factorMs === 0) return []
    const untilMs = Math.max(blockedMs, nowMs + factorMs)
    return [{ kind: KIND.delay, host, reason: 0, untilMs, level: Math.max(level - 1, 0) }]
  }
  if (isNobodyThere(outcome) && !isAnswered && level >= settings.retriesMax) {
    const reason = outcome.kind === 'trouble' ? (REASONS[outcome.class as keyof typeof REASONS] ?? 0) : 0
    return [badHost(host, reason, nowMs)]
  }
  const next = Math.min(level + 1, BACKOFF_LEVEL_MAX)
  const backoffMs = Math.max(settings.delayMs, BACKOFF_FIRST_MS) * 2 ** level
  const askedMs = outcome.kind === 'answer' ? (outcome.retryAfterMs ?? 0) : 0
  const untilMs = Math.max(blockedMs, nowMs + Math.min(Math.max(backoffMs, askedMs, factorMs), settings.delayMaxMs))
  const reason =
    outcome.kind === 'answer' ? REASONS['http.status'] : (REASONS[outcome.class as keyof typeof REASONS] ?? 0)
  return [{ kind: KIND.delay, host, reason, untilMs, level: next }]
}

export function badHost(host: string, reason: number, nowMs: number): CrawlEvent {
  return { kind: KIND.badhost, host, reason, untilMs: nowMs + BAD_HOST_MS, keys: [], isLast: false }
}

/** Trouble that says the host is down or overloaded, and not that one of its pages is missing. */
function isTroubleOfHost(outcome: Outcome): boolean {
  if (outcome.kind === 'trouble') return !FINAL_CLASSES.has(outcome.class)
  return outcome.status === 429 || (outcome.status >= 500 && isRetryable(outcome))
}

function isNobodyThere(outcome: Outcome): boolean {
  return outcome.kind === 'trouble' && !outcome.isConnected
}
