/**
 * What a repaired crawl needs so that it finds again what nothing names any more: the scope that its seeds had opened, the
 * seeds themselves, and stored pages whose links are to be read again.
 *
 * In a log as it was crawled a link and the outcome of the page it stood on are one record: who loses the one fetches the
 * page again. In a compacted log a URL is named by its own record alone, so pages that are there must be read again.
 */
import { type Key, keyOf } from '../base/md5.ts'
import { openedOriginOf } from '../core/address.ts'
import type { CrawlEvent, Link, LinkGroup, ShorterWay } from '../core/event.ts'
import { NO_FINDINGS } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { openedOriginKey } from '../core/reach.ts'
import { scopeKeysOf } from '../core/scope.ts'
import { depthOf, type State, stateOf, URL_STATE, URL_WORD } from '../core/state.ts'
import type { Disk } from '../env/disk.ts'
import type { LeftSegment } from '../log/left-segments.ts'
import { salvage } from '../log/salvage.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { EVENTS_LOG } from './events-log.ts'
import { eventOf } from './link-source.ts'
import type { Recorder } from './recorder.ts'
import { keyAt } from './rerecording.ts'

/** Keys named by one record. */
const KEYS_PER_RECORD_MAX = 1000

/** Scope keys of the links that say to be seeds: their seeds opened them, whether that record is left or not. */
export class OpenedScope {
  readonly #keys = new OrderedTable({ valueWords: 0 })

  note(event: CrawlEvent): void {
    if ('attempt' in event) this.#noteLink(event.attempt.link)
    const groups: ReadonlyArray<LinkGroup | object> = 'groups' in event ? event.groups : []
    for (const group of groups) if ('links' in group) for (const link of group.links) this.#noteLink(link)
    if (event.kind === KIND.bulk) for (const link of event.group.links) this.#noteLink(link)
  }

  #noteLink({ seed, url, from }: Link): void {
    if (!seed) return
    const { host, domain, prefix } = scopeKeysOf(url)
    for (const text of [host, domain, prefix]) this.#keys.insertKey(keyOf(text))
    // What a seed redirected to opens no address.
    const origin = from === undefined ? openedOriginOf(url) : undefined
    if (origin !== undefined) this.#keys.insertKey(keyOf(openedOriginKey(origin)))
  }

  /** Records what is missing of it. */
  restore(recorder: Recorder, timeMs: number): void {
    const { scopeKeys } = recorder.state
    let missing: Key[] = []
    const flush = (): void => {
      if (missing.length > 0) recordFindings(recorder, { scopeKeys: missing }, timeMs)
      missing = []
    }
    this.#keys.forEach((handle) => {
      const key = keyAt(this.#keys, handle)
      if (scopeKeys.findKey(key) < 0) missing.push(key)
      if (missing.length === KEYS_PER_RECORD_MAX) flush()
    })
    flush()
  }
}

/** A record of the first seed source that moves no cursor: it only says something of URLs and scope. */
function recordFindings(
  recorder: Recorder,
  findings: { readonly scopeKeys?: readonly Key[]; readonly shorter?: readonly ShorterWay[] },
  timeMs: number,
): void {
  const { lines, isLast } = recorder.state.seeds[0] ?? { lines: 0, isLast: false }
  recorder.record({ kind: KIND.seeded, source: 0, lines, isLast, ...NO_FINDINGS, ...findings }, timeMs)
}

/** All seeds are read again: known ones change nothing. */
export function rewindSeeds(recorder: Recorder, timeMs: number): void {
  const sources = Math.max(1, recorder.state.seeds.length)
  for (let source = 0; source < sources; source++) {
    recorder.record({ kind: KIND.seeded, source, lines: 0, isLast: false, ...NO_FINDINGS }, timeMs)
  }
}

/**
 * Marks stored pages whose links are to be read again when the crawl goes on.
 *
 * @param forgotten  keys of the URLs to be found; undefined = any page may name one
 * Cost: a pass over the old log's VAL.
 */
export function readAgain(
  disk: Disk,
  directory: string,
  segments: readonly LeftSegment[],
  recorder: Recorder,
  forgotten: OrderedTable | undefined,
  timeMs: number,
): void {
  const prefixes = forgotten === undefined ? undefined : prefixesOf(forgotten)
  const isGraphed = recorder.state.settings.graph
  let ways: ShorterWay[] = []
  const flush = (): void => {
    if (ways.length > 0) recordFindings(recorder, { shorter: ways }, timeMs)
    ways = []
  }
  salvage(disk, directory, segments, EVENTS_LOG, {
    record: (record, segment) => {
      if (record.kind !== KIND.fetched) return
      const event = eventOf(record, segment)
      if (event.kind !== KIND.fetched) return
      // A redirect's target is no known link: it is told as its location.
      const mayName = prefixes === undefined || !isGraphed || event.location !== '' || event.known.some(isIn(prefixes))
      const depth = mayName ? depthOfDone(recorder.state, event.attempt.link.key) : undefined
      if (depth !== undefined) ways.push({ key: event.attempt.link.key, depth, relink: true })
      if (ways.length === KEYS_PER_RECORD_MAX) flush()
    },
    lost: () => {},
  })
  flush()
}

/** First half of each key, as the link graph has it. */
function prefixesOf(keys: OrderedTable): OrderedTable {
  const prefixes = new OrderedTable({ valueWords: 0 })
  keys.forEach((handle) => {
    prefixes.insert(keys.keyWord(handle, 0), keys.keyWord(handle, 1), 0, 0)
  })
  return prefixes
}

function isIn(prefixes: OrderedTable): (prefix: Key) => boolean {
  return (prefix) => {
    const bytes = Buffer.from(prefix, 'latin1')
    return prefixes.find(bytes.readUInt32LE(0), bytes.readUInt32LE(4), 0, 0) >= 0
  }
}

function depthOfDone(state: State, key: Key): number | undefined {
  const handle = state.urls.findKey(key)
  if (handle < 0) return undefined
  const rest = state.urls.word(handle, URL_WORD.rest)
  return stateOf(rest) === URL_STATE.done ? depthOf(rest) : undefined
}
