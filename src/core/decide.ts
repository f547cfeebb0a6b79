/**
 * `decide`: observations to events. Synchronous and deterministic: no clock, randomness or I/O, so that a seed
 * reproduces any run. All policy is settled here and written into the event: a changed rule alters the future, never a
 * replay.
 */
import { keyOf } from '../base/md5.ts'
import { Admission } from './admission.ts'
import { decideLookup, decideRobots } from './decide-host.ts'
import type { Attempt, CrawlEvent, FailedEvent, Link, Stored } from './event.ts'
import { KIND } from './kind.ts'
import type {
  Answer,
  FoundLink,
  Observation,
  PageObservation,
  RelinkObservation,
  SeedsObservation,
  Trouble,
} from './observation.ts'
import { REASONS } from './reasons.ts'
import { hostEvents, isRetryable, retryDelayMs } from './retry.ts'
import { settingsOfHost } from './settings.ts'
import { depthOf, type State, URL_WORD } from './state.ts'
import { hostOf } from './url.ts'

/** Characters kept of what a failure said. */
const MESSAGE_CHARS_MAX = 500

/**
 * @param nowMs shard time
 * @returns one outcome first, then what it means for the host; each becomes one record, in this order
 */
export function decide(state: State, observation: Observation, nowMs: number): CrawlEvent[] {
  switch (observation.kind) {
    case 'page':
      return decidePage(state, observation, nowMs)
    case 'robots':
      return decideRobots(state, observation, nowMs)
    case 'lookup':
      return decideLookup(state, observation, nowMs)
    case 'seeds':
      return [decideSeeds(state, observation)]
    case 'relink':
      return [decideRelink(state, observation)]
    case 'control':
      return [{ kind: KIND.control, act: observation.act, settings: observation.settings }]
  }
}

function decideSeeds(state: State, { source, lines, isLast, urls }: SeedsObservation): CrawlEvent {
  const admission = new Admission(state)
  for (const url of urls) {
    admission.openOrigin(url)
    admission.addSeed(url, 0, undefined, [])
  }
  return { kind: KIND.seeded, source, lines, isLast, ...admission.findings() }
}

/** The links of a page, but for those it asks robots not to follow where robots are obeyed. */
function addLinks(state: State, admission: Admission, links: readonly FoundLink[], page: Link, depth: number): void {
  const { robots } = settingsOfHost(state.settings, hostOf(page.url))
  for (const { url, nofollow } of links) {
    if (nofollow && robots) admission.refuse(REASONS['link.nofollow'], url)
    else admission.addLink(url, depth, page.key)
  }
}

function decideRelink(state: State, { link, links, location }: RelinkObservation): CrawlEvent {
  const admission = new Admission(state)
  const depth = currentDepth(state, link.key, link.depth)
  if (location === '') addLinks(state, admission, links, link, depth + 1)
  // A redirect's only link is its target, and redirects add no depth.
  else if (link.seed) admission.addSeed(location, depth, link.key, [...link.chain, link.key])
  else admission.addLink(location, depth, link.key, [...link.chain, link.key])
  return { kind: KIND.relinked, link: { ...link, depth }, ...admission.findings() }
}

/** Depth as the table knows it: a shorter way may have been found while the page was in flight. */
function currentDepth(state: State, key: string, otherwise: number): number {
  const handle = state.urls.findKey(key)
  return handle < 0 ? otherwise : depthOf(state.urls.word(handle, URL_WORD.rest))
}

function decidePage(state: State, observation: PageObservation, nowMs: number): CrawlEvent[] {
  const { link, result } = observation
  const depth = currentDepth(state, link.key, link.depth)
  const attempt: Attempt = {
    link: depth === link.depth ? link : { ...link, depth },
    attempts: Math.min(observation.attempts + 1, 255),
    address: observation.address,
    status: result.kind === 'answer' ? result.status : 0,
    timing: observation.timing,
    message: result.kind === 'answer' ? '' : result.message.slice(0, MESSAGE_CHARS_MAX),
  }
  const reason = reasonFor(result)
  const host = hostOf(link.url)
  const settings = settingsOfHost(state.settings, host)
  const answerMs = observation.timing.totalMs
  if (reason === 0)
    return [
      decideAnswer(state, attempt, result as Answer),
      ...hostEvents(state, host, settings, result, nowMs, answerMs),
    ]

  const around = hostEvents(state, host, settings, result, nowMs, answerMs)
  if (isRetryable(result) && attempt.attempts <= settings.retriesMax) {
    const dueMs = nowMs + retryDelayMs(attempt.attempts, settings)
    return [{ kind: KIND.retry, attempt, reason, dueMs }, ...around]
  }
  return [failed(attempt, reason, result.kind === 'answer' ? result.stored : undefined), ...around]
}

/** The reason number of a failure, 0 where the answer is good. */
function reasonFor(result: Answer | Trouble): number {
  if (result.kind === 'trouble') return REASONS[result.class]
  return result.status >= 400 || result.status < 200 ? REASONS['http.status'] : 0
}

function failed(attempt: Attempt, reason: number, stored: Stored | undefined): FailedEvent {
  return { kind: KIND.failed, attempt, reason, stored }
}

/** An answer below 400: a page, or a redirect that may turn out to lead nowhere. */
function decideAnswer(state: State, attempt: Attempt, answer: Answer): CrawlEvent {
  const { link } = attempt
  const isRedirect = answer.status >= 300 && answer.status < 400 && answer.status !== 304 && answer.status !== 300
  const chain = [...link.chain, link.key]
  if (isRedirect) {
    const bad = redirectReason(state, answer, chain)
    if (bad !== 0) return failed(attempt, bad, answer.stored)
  }
  const admission = new Admission(state)
  const { location } = answer
  if (isRedirect && location !== undefined) {
    if (link.seed) admission.addSeed(location, link.depth, link.key, chain)
    else admission.addLink(location, link.depth, link.key, chain)
  } else {
    addLinks(state, admission, answer.links, link, link.depth + 1)
    for (const [reason, count] of answer.turnedAway) admission.turnAway(reason, count)
  }
  return {
    kind: KIND.fetched,
    attempt,
    stored: answer.stored,
    location: isRedirect ? (location ?? '') : '',
    ...admission.findings(),
  }
}

function redirectReason(state: State, answer: Answer, chain: readonly string[]): number {
  if (answer.location === undefined) return REASONS['redirect.bad-location']
  if (chain.includes(keyOf(answer.location))) return REASONS['redirect.loop']
  return chain.length > state.settings.redirectsMax ? REASONS['redirect.limit'] : 0
}
