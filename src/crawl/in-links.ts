/**
 * Which pages link to a URL, from the link graph in the log: the page that brought it in admitted its link, all others list
 * it among the URLs they know (8 bytes of md5).
 *
 * One pass over VAL that decodes only the records with those 8 bytes, so it is as fast as the disk and the checksums.
 */
import { type Key, word } from '../base/md5.ts'
import type { CrawlEvent, FetchedEvent, RelinkedEvent } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import type { RecordView } from '../log/record.ts'
import { eventOf } from '../shard/link-source.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { scanWhole } from './scanning.ts'

/** Pages named; the rest is counted. */
const IN_LINKS_NAMED_MAX = 20
/** Bytes of a key in the link graph. */
const GRAPH_KEY_BYTES = 8

export interface InLink {
  readonly url: string
  /** Links of that page from a seed. */
  readonly depth: number
  /** `redirect` where the page is one and leads here. */
  readonly how: 'link' | 'redirect'
  /** When the page's links were recorded, ISO 8601 UTC. */
  readonly time: string
}

export interface InLinks {
  /** Pages that link here, redirects included; each counts once. */
  readonly count: number
  /** The first of them in the order of the log. */
  readonly pages: readonly InLink[]
  /** False where the crawl keeps no link graph (`--no-graph`): then only the page that brought the URL in is known. */
  readonly isComplete: boolean
}

export interface InLinkSearch {
  /** Of the URL, and the URL itself. */
  readonly key: Key
  readonly url: string
  /** Records that admitted a link to it. */
  readonly admittedAt: readonly Position[]
  readonly hasGraph: boolean
  /** Pages named at most. Default: IN_LINKS_NAMED_MAX. */
  readonly namedMax?: number | undefined
  /** Bytes of VAL read, and how many there are. */
  readonly onProgress?: ((bytes: number, bytesMax: number) => void) | undefined
}

/** Errors: LOG_CORRUPT. Cost: a sequential read of VAL; where there is no graph a read of a record. */
export function inLinksOf(log: OpenedLog, end: Position, search: InLinkSearch): InLinks {
  const found = new FoundPages(search)
  if (search.hasGraph) scanAll(log, end, search, found)
  else for (const { segment, position } of search.admittedAt) found.look(log.read(segment, position), segment)
  return { count: found.count, pages: found.pages, isComplete: search.hasGraph }
}

function scanAll(log: OpenedLog, end: Position, { onProgress }: InLinkSearch, found: FoundPages): void {
  const segments = log.segments.filter(({ number }) => number <= end.segment)
  const bytesMax = segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
  let bytes = 0
  for (const { number, valBytes } of segments) {
    scanWhole(log, number, (record) => {
      if (number < end.segment || record.position < end.position) found.look(record, number)
    })
    bytes += valBytes
    onProgress?.(bytes, bytesMax)
  }
}

class FoundPages {
  readonly pages: InLink[] = []
  readonly #search: InLinkSearch
  readonly #namedMax: number
  readonly #graphKey: Key
  readonly #pattern: Buffer
  /** Pages met: those whose links were read twice list them twice. */
  readonly #seen = new OrderedTable({ valueWords: 0 })

  constructor(search: InLinkSearch) {
    this.#search = search
    this.#namedMax = search.namedMax ?? IN_LINKS_NAMED_MAX
    this.#graphKey = search.key.slice(0, GRAPH_KEY_BYTES) as Key
    this.#pattern = Buffer.from(this.#graphKey, 'latin1')
  }

  get count(): number {
    return this.#seen.count
  }

  look(record: RecordView, segment: number): void {
    if (record.kind !== KIND.fetched && record.kind !== KIND.relinked) return
    const { position } = record
    const isAdmitting = this.#search.admittedAt.some((at) => at.segment === segment && at.position === position)
    if (!isAdmitting && record.body.indexOf(this.#pattern) < 0) return
    const event = eventOf(record, segment)
    if (isAdmitting || this.#isListed(event)) this.#add(event as FetchedEvent | RelinkedEvent, record.timeMs)
  }

  #isListed(event: CrawlEvent): boolean {
    return 'known' in event && event.known.includes(this.#graphKey)
  }

  #add(event: FetchedEvent | RelinkedEvent, timeMs: number): void {
    const link = event.kind === KIND.fetched ? event.attempt.link : event.link
    this.#seen.insert(word(link.key, 0), word(link.key, 1), word(link.key, 2), word(link.key, 3))
    if (!this.#seen.wasNew || this.pages.length >= this.#namedMax) return
    const how = event.kind === KIND.fetched && event.location === this.#search.url ? 'redirect' : 'link'
    this.pages.push({ url: link.url, depth: link.depth, how, time: new Date(timeMs).toISOString() })
  }
}
