/**
 * What a crawl would have covered under other rules: a breadth-first walk over the outcomes that its log holds, without a
 * request. A page's links come from its stored body, read anew, so that links turned away by the old rules are met too.
 *
 * What was never asked for has no outcome here: such URLs are counted as gained, their own links are not known, and they
 * count against no budget. Budgets are spent in the order of the walk.
 */
import { type Key, keyFromWords, keyOf, keyWordsOf } from '../base/md5.ts'
import type { CrawlEvent, FetchedEvent } from '../core/event.ts'
import { KeyQueue } from '../core/key-queue.ts'
import { KIND } from '../core/kind.ts'
import { REASONS, reasonOf } from '../core/reasons.ts'
import { type Settings, settingsOfHost } from '../core/settings.ts'
import { segmentOf, stateOf, URL_STATE, URL_WORD } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import type { DecodeContent } from '../env/content.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import { readEvent } from '../shard/link-source.ts'
import { bodyOf, readPage } from '../shard/pages.ts'
import { decodeBody, linksOf } from '../shard/reading.ts'
import { itemAt } from '../shard/replay.ts'
import { OrderedTable } from '../tables/ordered.ts'
import type { PastCrawl } from './reading.ts'
import { RuleBook } from './rule-book.ts'

/** URLs named of each kind of difference. */
const FIRST_MAX = 10

export interface Coverage {
  /** URLs with an outcome: answered, or failed. */
  readonly crawled: number
  /** Answers with a stored 2xx body. */
  readonly pages: number
  /** Bodies as received, of the last outcome of each URL. */
  readonly bytes: number
}

export interface Difference {
  readonly urls: number
  /** By the rule that makes it: the new one for what is lost, the old one for what is gained. */
  readonly byReason: Readonly<Record<string, number>>
  readonly first: ReadonlyArray<{ readonly url: string; readonly reason: string }>
}

export interface WhatIf {
  readonly before: Coverage
  readonly after: Coverage
  /** Crawled, but not under the new rules; `unreached` where no page that is left links there. */
  readonly lost: Difference & { readonly pages: number; readonly bytes: number }
  /** Not crawled, but let in by the new rules; what they would have led to is not known. */
  readonly gained: Difference
  /** Pending in the log, and let in by the new rules too. */
  readonly pending: number
}

/** Value word of the walk's table: state bits, the reason of a refusal in bits 8–15, depth in bits 16–23. */
const ADMITTED = 1
const EXPANDED = 2
const SEED = 4
const COUNTED = 8
const reasonIn = (word: number): number => (word >>> 8) & 0xff
const depthIn = (word: number): number => (word >>> 16) & 0xff

type OnProgress = (done: number, doneMax: number) => void

interface Counting {
  urls: number
  pages: number
  bytes: number
  readonly byReason: Record<string, number>
  readonly first: Array<{ url: string; reason: string }>
}

/**
 * Walks a past crawl under other rules.
 *
 * @param seeds       canonical URLs, each batch once, in order
 * @param onProgress  called with pages read so far, and about how many there are
 * Errors: LOG_CORRUPT. Cost: each page's body once, with a scan for links; 20 bytes a URL met, off-heap.
 */
export async function whatIf(
  past: PastCrawl,
  seeds: AsyncIterable<readonly string[]>,
  after: Settings,
  decode: DecodeContent,
  onProgress: OnProgress = () => {},
): Promise<WhatIf> {
  const walk = new Walk(past, after, decode, onProgress)
  for await (const urls of seeds) walk.addSeeds(urls)
  walk.followSeeds()
  walk.run()
  return walk.result()
}

class Walk {
  readonly #past: PastCrawl
  readonly #after: Settings
  readonly #decode: DecodeContent
  readonly #onProgress: OnProgress
  readonly #newRules: RuleBook
  readonly #oldRules: RuleBook
  readonly #met = new OrderedTable({ valueWords: 1 })
  /** Keys to be expanded: of the depth at hand, and one deeper. */
  #current = new KeyQueue()
  #next = new KeyQueue()
  readonly #had = { crawled: 0, pages: 0, bytes: 0 }
  readonly #gained: Counting = { urls: 0, pages: 0, bytes: 0, byReason: {}, first: [] }
  readonly #lost: Counting = { urls: 0, pages: 0, bytes: 0, byReason: {}, first: [] }
  #pending = 0
  #read = 0

  constructor(past: PastCrawl, after: Settings, decode: DecodeContent, onProgress: OnProgress) {
    this.#past = past
    this.#after = after
    this.#decode = decode
    this.#onProgress = onProgress
    this.#newRules = new RuleBook(after)
    this.#oldRules = new RuleBook(past.state.settings)
  }

  /** All seeds open the scope before any link is judged. */
  addSeeds(urls: readonly string[]): void {
    for (const url of urls) this.#addSeed(url)
  }

  #addSeed(url: string): void {
    this.#newRules.open(url)
    this.#oldRules.open(url)
    this.#meet(url, 0, true, this.#current)
  }

  /** Redirects from seeds make their targets seeds, which may open the scope further. */
  followSeeds(): void {
    const seeds = new KeyQueue()
    this.#current.forEach((k0, k1, k2, k3) => {
      seeds.push(k0, k1, k2, k3)
    })
    for (; seeds.count > 0; seeds.shift()) {
      let key: Key | undefined = firstKey(seeds)
      for (let hops = 0; key !== undefined && hops < this.#after.redirectsMax; hops++) {
        const event = this.#outcome(key)
        const location: string = event?.kind === KIND.fetched ? event.location : ''
        if (location !== '') this.#addSeed(location)
        key = location === '' ? undefined : keyOf(location)
      }
    }
  }

  /** One depth after the other. A redirect adds none, so its target joins the queue that is being emptied. */
  run(): void {
    for (let depth = 0; this.#current.count > 0; depth++) {
      for (; this.#current.count > 0; this.#current.shift()) this.#expand(firstKey(this.#current), depth)
      const empty = this.#current
      this.#current = this.#next
      this.#next = empty
    }
  }

  /** The last record of a URL; undefined where the log knows none of it. */
  #outcome(key: Key): CrawlEvent | undefined {
    const { state, logs } = this.#past
    const handle = state.urls.findKey(key)
    if (handle < 0) return undefined
    const segment = segmentOf(state.urls.word(handle, URL_WORD.rest))
    return readEvent(logs.events, segment, state.urls.word(handle, URL_WORD.position))
  }

  #expand(key: Key, depth: number): void {
    const entry = this.#met.findKey(key)
    const word = this.#met.word(entry, 0)
    if ((word & EXPANDED) !== 0) return
    this.#met.setWord(entry, 0, word | EXPANDED)
    const handle = this.#past.state.urls.findKey(key)
    if (handle < 0) return // counted when it was met
    const state = stateOf(this.#past.state.urls.word(handle, URL_WORD.rest))
    if (state === URL_STATE.pending || state === URL_STATE.processing) this.#pending++
    else this.#expandOutcome(key, depth, state)
  }

  #expandOutcome(key: Key, depth: number, state: number): void {
    const event = this.#outcome(key)
    if (event === undefined) return
    if (event.kind === KIND.refused && state === URL_STATE.refused) return this.#meetRefused(key, depth, event)
    const overdrawn = this.#overdrawn()
    if (overdrawn !== 0) return this.#refuse(key, overdrawn)
    this.#had.crawled++
    if (event.kind === KIND.failed) this.#had.bytes += event.stored?.bodyBytes ?? 0
    if (event.kind !== KIND.fetched || state !== URL_STATE.done) return
    this.#had.bytes += event.stored?.bodyBytes ?? 0
    if (isPage(event)) this.#had.pages++
    this.#onProgress(++this.#read, this.#past.state.counts[URL_STATE.done])
    this.#followLinks(event, key, depth)
  }

  #overdrawn(): number {
    const { pagesMax, bytesMax } = this.#after
    if (pagesMax !== null && this.#had.pages >= pagesMax) return REASONS['budget.pages']
    return bytesMax !== null && this.#had.bytes >= bytesMax ? REASONS['budget.bytes'] : 0
  }

  #refuse(key: Key, reason: number): void {
    this.#met.setWord(this.#met.findKey(key), 0, reason << 8)
  }

  /** Let in by the new rules, refused in the log: by a rule that has changed, or by one of the site. */
  #meetRefused(key: Key, depth: number, { reason, groups }: Extract<CrawlEvent, { kind: typeof KIND.refused }>): void {
    const link = groups.flatMap(({ links }) => links).find((candidate) => candidate.key === key)
    if (link === undefined) return
    const isRobots = reason === REASONS['robots.denied'] || reason === REASONS['robots.unreachable']
    const isOfSite = reason === REASONS['address.forbidden']
    if (isOfSite || (isRobots && settingsOfHost(this.#after, hostOf(link.url)).robots)) return
    const isStill = !isRobots && this.#oldRules.refusal(link.url, depth, link.seed) === undefined
    if (!isStill) count(this.#gained, link.url, reasonOf(reason) ?? String(reason))
  }

  #followLinks(event: FetchedEvent, key: Key, depth: number): void {
    const { link } = event.attempt
    if (event.location !== '') {
      const isSeed = (this.#met.word(this.#met.findKey(key), 0) & SEED) !== 0
      return this.#meet(event.location, depth, isSeed, this.#current)
    }
    if (!isPage(event) || event.stored === undefined) return
    const { pages } = this.#past.logs
    const page = readPage(pages, event.stored.page, this.#decode)
    if (page === undefined) return
    const body = decodeBody(page.headers, bodyOf(pages, page, this.#decode), this.#after, this.#decode)
    const { robots } = settingsOfHost(this.#after, hostOf(link.url))
    for (const { url, nofollow } of linksOf(body.bytes, page.headers, link.url, this.#after).links) {
      if (nofollow && robots) this.#turnAway(url, REASONS['link.nofollow'], depth + 1)
      else this.#meet(url, depth + 1, false, this.#next, nofollow)
    }
  }

  #turnAway(url: string, reason: number, depth: number): void {
    const [k0, k1, k2, k3] = keyWordsOf(url)
    const entry = this.#met.insert(k0, k1, k2, k3)
    if (this.#met.wasNew) this.#met.setWord(entry, 0, (reason << 8) | (Math.min(depth, 255) << 16))
  }

  /** A way to a URL: it is judged the first time, and again where this way is a shorter or a better one. */
  #meet(url: string, depth: number, isSeed: boolean, queue: KeyQueue, isNofollow = false): void {
    const [k0, k1, k2, k3] = keyWordsOf(url)
    const entry = this.#met.insert(k0, k1, k2, k3)
    const isNew = this.#met.wasNew
    const word = this.#met.word(entry, 0)
    if (!isNew) {
      const isBetter = depth < depthIn(word) || (isSeed && (word & SEED) === 0)
      const wasLeftOut = reasonIn(word) === REASONS['link.nofollow']
      if ((word & EXPANDED) !== 0 || !(isBetter || wasLeftOut)) return
    }
    const refusal = this.#newRules.refusal(url, depth, isSeed)
    const wasAdmitted = (word & ADMITTED) !== 0
    if (refusal !== undefined && wasAdmitted) return
    const bits = refusal === undefined ? ADMITTED : REASONS[refusal] << 8
    this.#met.setWord(entry, 0, bits | (isSeed ? SEED : 0) | (Math.min(depth, 255) << 16))
    if (refusal !== undefined) return
    queue.push(k0, k1, k2, k3)
    if (wasAdmitted || this.#past.state.urls.find(k0, k1, k2, k3) >= 0) return
    count(this.#gained, url, this.#oldRules.refusal(url, depth, isSeed) ?? (isNofollow ? 'link.nofollow' : 'not met'))
  }

  /** What was crawled and is not met as admitted, in the order of the log, and the figures. */
  result(): WhatIf {
    const { logs, cut } = this.#past
    for (const { number } of logs.events.segments) {
      if (number > cut.position.segment) break
      const words = logs.events.key(number)
      const last = number === cut.position.segment ? itemAt(words, cut.position.position) : words.length / ITEM_WORDS
      for (let at = 0; at < last * ITEM_WORDS; at += ITEM_WORDS) this.#compare(words, at, number)
    }
    const lost = this.#lost
    const { pages, bytes, ...gained } = this.#gained
    const after = { ...this.#had }
    const before = {
      crawled: after.crawled + lost.urls,
      pages: after.pages + lost.pages,
      bytes: after.bytes + lost.bytes,
    }
    return { before, after, lost, gained, pending: this.#pending }
  }

  #compare(words: Uint32Array, at: number, segment: number): void {
    const kind = itemKind(words[at + ITEM_AT.kindAndArg])
    if (kind !== KIND.fetched && kind !== KIND.failed) return
    const [k0, k1, k2, k3] = words.subarray(at, at + 4)
    const { urls } = this.#past.state
    const handle = urls.find(k0, k1, k2, k3)
    const rest = handle < 0 ? 0 : urls.word(handle, URL_WORD.rest)
    const position = words[at + ITEM_AT.position]
    // A URL that failed with its host has its address elsewhere; its item is the last word all the same.
    const isHostBad = kind === KIND.failed && words[at + ITEM_AT.kindAndArg] >>> 24 === REASONS['host.bad']
    const isLastWord = isHostBad
      ? stateOf(rest) === URL_STATE.failed
      : segmentOf(rest) === segment && urls.word(handle, URL_WORD.position) === position
    if (handle < 0 || !isLastWord) return
    const entry = this.#met.find(k0, k1, k2, k3)
    const word = entry < 0 ? 0 : this.#met.word(entry, 0)
    if ((word & (ADMITTED | COUNTED)) !== 0) return
    this.#met.setWord(this.#met.insert(k0, k1, k2, k3), 0, word | COUNTED)
    const key = keyFromWords(k0, k1, k2, k3)
    const event = this.#outcome(key)
    if (event === undefined) return
    const reason = entry < 0 ? 'unreached' : (reasonOf(reasonIn(word)) ?? 'unreached')
    count(this.#lost, urlIn(event, key), reason)
    // The address of a URL that failed with its host names the page it was found on.
    if (isHostBad) return
    if (event.kind === KIND.fetched && isPage(event)) this.#lost.pages++
    if (event.kind === KIND.fetched || event.kind === KIND.failed) this.#lost.bytes += event.stored?.bodyBytes ?? 0
  }
}

function firstKey(queue: KeyQueue): Key {
  return keyFromWords(queue.firstWord(0), queue.firstWord(1), queue.firstWord(2), queue.firstWord(3))
}

function isPage({ attempt, stored }: FetchedEvent): boolean {
  return stored !== undefined && attempt.status >= 200 && attempt.status < 300
}

function count(counting: Counting, url: string, reason: string): void {
  counting.urls++
  counting.byReason[reason] = (counting.byReason[reason] ?? 0) + 1
  if (counting.first.length < FIRST_MAX) counting.first.push({ url, reason })
}

function urlIn(event: CrawlEvent, key: Key): string {
  if ('attempt' in event && event.attempt.link.key === key) return event.attempt.link.url
  const groups = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const group of groups) {
    if (!('links' in group)) continue
    const link = group.links.find((candidate) => candidate.key === key)
    if (link !== undefined) return link.url
  }
  return ''
}
