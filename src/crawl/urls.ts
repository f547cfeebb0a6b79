/**
 * The URLs of a crawl, streamed from its log: memory does not grow with what is listed.
 *
 * Order: that of the log, each URL where its last word stands. So finished URLs come in the order in which they ended,
 * pending ones in the order in which they were found (or came back), and a listing is the same each time.
 */
import { type Key, word } from '../base/md5.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import { type State, URL_STATE, URL_STATE_NAMES } from '../core/state.ts'
import { forEachLastWord, type LastWord } from './last-words.ts'
import { PageNames } from './page-names.ts'
import type { PastCrawl } from './reading.ts'

/** A line of `urls --json`. */
export interface UrlLine {
  readonly url: string
  /** pending, processing, done, failed, refused. */
  readonly state: string
  /** Why it failed or was refused; of a URL that failed with its host, what is wrong with that. Null for the others. */
  readonly class: string | null
  /** Of the last answer; null where there was none. */
  readonly status: number | null
  /** Fewest links from a seed. */
  readonly depth: number
  /** Page on which it was found first; null for a seed. */
  readonly from: string | null
  /** Requests that have come to an end. */
  readonly attempts: number
}

export interface UrlFilter {
  /** Numbers of `URL_STATE`; undefined = all. */
  readonly states?: ReadonlySet<number> | undefined
  /** A class such as `timeout`, or a group such as `dns`. */
  readonly class?: string | undefined
  readonly match?: RegExp | undefined
}

/**
 * Calls `visit` with each URL that passes the filter. `from` is found only where `wantsFrom` is set: it may cost a read.
 * Errors, cost: as `forEachLastWord`.
 */
export function forEachUrl(
  crawl: PastCrawl,
  filter: UrlFilter,
  wantsFrom: boolean,
  visit: (line: UrlLine) => void,
): void {
  const names = new PageNames(crawl.logs.events, crawl.state)
  forEachLastWord(crawl, { states: filter.states }, (found) => {
    if (!passes(found, filter)) return
    visit(lineOf(crawl.state, found, wantsFrom ? fromOf(names, found) : null))
  })
}

/** Whether a URL has the class and the form that are wanted; its state is the business of `forEachLastWord`. */
export function passes(found: LastWord, { class: wanted, match }: UrlFilter): boolean {
  const isOfClass = wanted === undefined || isClass(classOf(found), wanted) || isClass(hostReasonOf(found), wanted)
  return isOfClass && (match === undefined || match.test(found.link.url))
}

export function lineOf(crawlState: State, found: LastWord, from: string | null): UrlLine {
  const { link, state, depth, attempt, standing } = found
  const status = attempt?.status ?? standing?.status ?? 0
  return {
    url: link.url,
    state: URL_STATE_NAMES[state],
    class: classOf(found),
    status: status === 0 ? null : status,
    depth,
    from,
    attempts: attemptsOf(crawlState, found),
  }
}

function classOf({ state, standing, record: { event } }: LastWord): string | null {
  if (state === URL_STATE.refused) return event.kind === KIND.refused ? (reasonOf(event.reason) ?? null) : null
  if (state !== URL_STATE.failed) return null
  if (event.kind === KIND.failed || event.kind === KIND.badhost) return reasonOf(event.reason) ?? 'host.bad'
  return reasonOf(standing?.reason ?? 0) ?? 'host.bad'
}

/** `host.bad` where a URL failed with its host, whatever was wrong with that; else null. */
export function hostReasonOf({ state, record: { event } }: LastWord): 'host.bad' | null {
  return state === URL_STATE.failed && event.kind !== KIND.failed ? 'host.bad' : null
}

/** Whether a class is the one wanted, or of its group: `dns` names `dns.notfound` too. */
export function isClass(reason: string | null, wanted: string): boolean {
  return reason !== null && (reason === wanted || reason.startsWith(`${wanted}.`))
}

function attemptsOf(crawlState: State, { link, state, attempt, standing }: LastWord): number {
  const words = wordsOf(link.key)
  if (state === URL_STATE.processing) return crawlState.processing.word(crawlState.processing.find(...words), 0) & 0xff
  if (state === URL_STATE.pending) {
    const slot = crawlState.waiting.find(...words)
    return slot < 0 ? 0 : crawlState.waiting.attempts(slot)
  }
  return attempt?.attempts ?? standing?.attempts ?? 0
}

function wordsOf(key: Key): [number, number, number, number] {
  return [word(key, 0), word(key, 1), word(key, 2), word(key, 3)]
}

/** The page on which a URL was found; null for a seed. Cost: a read where it is not kept. */
export function fromOf(names: PageNames, { link, record: { event } }: LastWord): string | null {
  if (event.kind === KIND.fetched) names.remember(event.attempt.link.key, event.attempt.link.url)
  return link.from === undefined ? null : (names.nameOf(link.from) ?? null)
}
