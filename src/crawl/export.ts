/**
 * A crawl as rows: each URL once, by its last outcome, with its answer, in the order of the log. What a format makes of a row
 * is the format's business (`jsonl` below; others would take the same rows).
 *
 * Invariant: rows and their order depend on the log alone, so that an export that was interrupted goes on behind its last row
 * and comes to the same bytes.
 */
import { CrawlError } from '../base/errors.ts'
import { type Key, keyOf, keyToHex } from '../base/md5.ts'
import type { Stored } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import type { Settings } from '../core/settings.ts'
import type { DecodeContent } from '../env/content.ts'
import { isTextType, textOfBody } from '../html/page-text.ts'
import { comparePositions, NOWHERE, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { cutAtSequence, cutAtTime, cutBehind } from '../shard/cut.ts'
import { eventOf } from '../shard/link-source.ts'
import { bodyOf, readPage } from '../shard/pages.ts'
import { decodeBody } from '../shard/reading.ts'
import { FirstSeen } from './first-seen.ts'
import { forEachLastWord, keysIn, type LastWord } from './last-words.ts'
import { PageNames } from './page-names.ts'
import type { PastCrawl, Until } from './reading.ts'
import { fromOf, hostReasonOf, lineOf, passes, type UrlFilter } from './urls.ts'

/** What becomes of a body: text where it is text and else base64, either of them for all, or nothing. */
export type BodyForm = 'auto' | 'text' | 'base64' | 'none'

/** A line of `export jsonl`. Names are in the README. Never rename. */
export interface ExportRow {
  /** Sequence number of the record with the URL's last word. Never falls from row to row. */
  readonly seq: number
  readonly url: string
  readonly state: string
  readonly class: string | null
  /** `host.bad` where the URL failed with its host; the class says what was wrong with that. */
  readonly reason: string | null
  readonly status: number | null
  readonly depth: number
  readonly from: string | null
  readonly attempts: number
  /** ISO 8601 UTC, as the next. */
  readonly firstSeen: string
  /** When the last request came to its end; null where there was none. */
  readonly fetched: string | null
  readonly address: string | null
  /** Where a redirect leads. */
  readonly location: string | null
  readonly headers: ReadonlyArray<readonly [name: string, value: string]> | null
  /** Media type; '' where the answer named none. */
  readonly contentType: string | null
  /** As received, and without content encodings. */
  readonly bodyBytes: number | null
  readonly decodedBytes: number | null
  readonly truncated: boolean | null
  /** SHA-256 of the body as received, 64 hexadecimal digits, and the 32 that the events have of it. */
  readonly sha256: string | null
  readonly digest: string | null
  /** The body without content encodings: one of these, or none. */
  readonly text?: string
  readonly base64?: string
}

export interface ExportOptions {
  readonly settings: Settings
  readonly decode: DecodeContent
  readonly filter: UrlFilter
  readonly body: BodyForm
  /** Only what happened behind this. */
  readonly since?: Until | undefined
  /** The row to go on behind. */
  readonly behind?: Pick<ExportRow, 'seq' | 'url'> | undefined
  readonly onProgress?: ((bytes: number, bytesMax: number) => void) | undefined
}

/**
 * Errors: LOG_CORRUPT; USAGE where the row to go on behind is none of this crawl's. Cost: KEY twice, a table of 30 bytes a
 * URL, VAL once, and the pages asked for: two or three reads each.
 */
export function forEachRow(crawl: PastCrawl, options: ExportOptions, visit: (row: ExportRow) => void): void {
  const { logs, state, cut } = crawl
  const resumed = resumedAt(crawl, options)
  const since = sinceOf(crawl, options.since)
  const after = comparePositions(since, resumed.place) > 0 ? since : resumed.place
  const names = new PageNames(logs.events, state)
  const firstSeen = new FirstSeen(logs.events, cut.position)
  const words = { states: options.filter.states, after, onProgress: options.onProgress }
  forEachLastWord(crawl, words, (found) => {
    if (!passes(found, options.filter) || resumed.isBefore(found)) return
    const { url, ...line } = lineOf(state, found, fromOf(names, found))
    const seenMs = firstSeen.timeMs(found.link.key) ?? found.record.timeMs
    const head = { seq: found.record.sequence, url, state: line.state, class: line.class, reason: hostReasonOf(found) }
    const { status, depth, from, attempts } = line
    visit({
      ...head,
      ...{ status, depth, from, attempts, firstSeen: new Date(seenMs).toISOString() },
      ...requestFields(found),
      ...answerFields(crawl, found, options),
    })
  })
}

function requestFields({ attempt, record: { event, timeMs } }: LastWord) {
  const isItsOwn = attempt !== undefined && 'attempt' in event && event.attempt === attempt
  return {
    fetched: isItsOwn ? new Date(timeMs).toISOString() : null,
    address: attempt === undefined || attempt.address === '' ? null : attempt.address,
    location: event.kind === KIND.fetched && isItsOwn && event.location !== '' ? event.location : null,
  }
}

const NO_ANSWER = {
  headers: null,
  contentType: null,
  bodyBytes: null,
  decodedBytes: null,
  truncated: null,
  sha256: null,
  digest: null,
} as const

function answerFields({ logs }: PastCrawl, found: LastWord, { settings, decode, body: form }: ExportOptions) {
  const stored = storedOf(found)
  const page = stored === undefined ? undefined : readPage(logs.pages, stored.page, decode)
  if (stored === undefined || page === undefined) return NO_ANSWER
  const { bodyBytes, decodedBytes, contentType, isTruncated, content } = stored
  const { headers } = page
  const facts = {
    ...{ headers, contentType, bodyBytes, decodedBytes, truncated: isTruncated },
    ...{ sha256: Buffer.from(page.sha256, 'latin1').toString('hex'), digest: keyToHex(content) },
  }
  if (form === 'none') return facts
  const isText = isTextType(contentType)
  if (form === 'text' && !isText) return facts
  const body = decodeBody(headers, bodyOf(logs.pages, page, decode), settings, decode).bytes
  if (isText && form !== 'base64') return { ...facts, text: textOfBody(body, headers) }
  return { ...facts, base64: Buffer.from(body.buffer, body.byteOffset, body.length).toString('base64') }
}

/** The stored answer of the URL's own outcome. */
function storedOf({ attempt, record: { event } }: LastWord): Stored | undefined {
  return 'stored' in event && event.attempt === attempt ? event.stored : undefined
}

/** Behind which place something happened since an instant: the complement of `replay --until`. */
function sinceOf({ logs, cut }: PastCrawl, since: Until | undefined): Position {
  if (since === undefined || since.kind === 'end') return NOWHERE
  try {
    if (since.kind === 'time') return cutAtTime(logs.events, since.timeMs).position
    return since.sequence > cut.sequence ? cut.position : cutAtSequence(logs.events, since.sequence).position
  } catch (error) {
    // Before the first record: then everything happened since.
    if (error instanceof CrawlError && error.code === 'UNTIL_UNREACHABLE') return NOWHERE
    throw error
  }
}

interface Resumed {
  /** Of the record of the last row. */
  readonly place: Position
  /** Whether a row came before the place to go on, or is that of it. */
  readonly isBefore: (found: LastWord) => boolean
}

/**
 * Where an export goes on. The links of a record have a fixed order, so its rows up to the last one are known, whatever became
 * of their URLs meanwhile.
 */
function resumedAt({ logs, cut }: PastCrawl, { behind }: ExportOptions): Resumed {
  if (behind === undefined) return { place: NOWHERE, isBefore: () => false }
  const { seq, url } = behind
  const place = seq < 2 || seq > cut.sequence ? undefined : cutBehind(logs.events, seq - 1)?.position
  const keys = place === undefined ? [] : keysAt(logs.events, place)
  const last = keys.indexOf(keyOf(url))
  if (place === undefined || last < 0) {
    const message = `The last row there, record ${seq} and ${url}, is none of this crawl.`
    throw new CrawlError('USAGE', message, {}, 'Name another file. After a compaction an export begins anew.')
  }
  const done = new Set(keys.slice(0, last + 1))
  return { place, isBefore: ({ record, link }) => record.sequence === seq && done.has(link.key) }
}

function keysAt(log: OpenedLog, { segment, position }: Position): Key[] {
  const record = log.read(segment, position)
  return record.kind === KIND.segment || record.kind === KIND.mark ? [] : keysIn(eventOf(record, segment))
}
