/**
 * Wider rules: pages that are stored, and URLs that were refused, are marked to be looked at again (relinking.ts does it,
 * some in each turn), and the seeds' cursors are put back to the beginning.
 *
 * The marks stand in the log before the `control` that changes the rules. A death between the two leaves pages that are
 * read once more under the old rules, which finds nothing; never rules under which something was not read.
 */
import { type Key, keyFromWords } from '../base/md5.ts'
import { NO_FINDINGS, type SeededEvent, type ShorterWay } from '../core/event.ts'
import type { Now } from '../core/frontier.ts'
import { KeyQueue } from '../core/key-queue.ts'
import { KIND } from '../core/kind.ts'
import type { Settings } from '../core/settings.ts'
import { depthOf, type State, segmentOf, URL_RELINK, URL_WORD } from '../core/state.ts'
import { depthReadAgainMin, isRefusalInDoubt, readsAgain } from '../core/widening.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { apply } from './applying.ts'
import type { Shard } from './shard-parts.ts'

/** Keys in one record: 180 KB. */
const KEYS_PER_RECORD_MAX = 10_000

/**
 * URLs to be looked at again, in the order of the log, so that their records and pages are read in order too.
 * @returns undefined where the change asks for none
 * Cost: one read of all KEY files, a search an outcome; 16 bytes a URL. Errors: LOG_CORRUPT.
 */
export function urlsToReadAgain(log: OpenedLog, state: State, after: Settings): KeyQueue | undefined {
  const before = state.settings
  const isReading = readsAgain(before, after)
  const depthMin = isReading ? depthReadAgainMin(before, after) : Number.POSITIVE_INFINITY
  const found = new KeyQueue()
  for (const { number } of log.segments) {
    const words = log.key(number)
    for (let at = 0; at < words.length; at += ITEM_WORDS) {
      const kindAndArg = words[at + ITEM_AT.kindAndArg]
      const kind = itemKind(kindAndArg)
      const isRefused = kind === KIND.refused && isRefusalInDoubt(kindAndArg >>> 24, before, after)
      if (!isRefused && kind !== KIND.fetched) continue
      const handle = state.urls.find(words[at], words[at + 1], words[at + 2], words[at + 3])
      if (handle < 0 || !endsHere(state, handle, number, words[at + ITEM_AT.position])) continue
      const rest = state.urls.word(handle, URL_WORD.rest)
      if ((rest & URL_RELINK) !== 0 || (!isRefused && depthOf(rest) < depthMin)) continue
      found.push(words[at], words[at + 1], words[at + 2], words[at + 3])
    }
  }
  return isReading || found.count > 0 ? found : undefined
}

/** Whether this record is the one that the URL's state comes from: not an outcome of before a `reopened`. */
function endsHere(state: State, handle: number, segment: number, position: number): boolean {
  const { urls } = state
  return segmentOf(urls.word(handle, URL_WORD.rest)) === segment && urls.word(handle, URL_WORD.position) === position
}

/**
 * Records that these URLs are to be looked at again, and that the seeds of these sources are to be read again.
 * @param sources  those whose files are still there
 */
export function recordReadingAgain(shard: Shard, keys: KeyQueue, sources: readonly number[], now: Now): void {
  const { state } = shard
  const known = sources.filter((source) => state.seeds[source] !== undefined)
  const cursor = (source: number): Pick<SeededEvent, 'source' | 'lines' | 'isLast'> => ({
    source,
    ...(state.seeds[source] ?? { lines: 0, isLast: true }),
  })
  while (keys.count > 0) {
    const shorter: ShorterWay[] = []
    while (keys.count > 0 && shorter.length < KEYS_PER_RECORD_MAX) shorter.push(nextWay(state, keys))
    apply(shard, { kind: KIND.seeded, ...NO_FINDINGS, ...cursor(known[0] ?? 0), shorter }, now)
  }
  for (const source of known) {
    apply(shard, { kind: KIND.seeded, ...NO_FINDINGS, source, lines: 0, isLast: false }, now)
  }
}

function nextWay(state: State, keys: KeyQueue): ShorterWay {
  const key: Key = keyFromWords(keys.firstWord(0), keys.firstWord(1), keys.firstWord(2), keys.firstWord(3))
  keys.shift()
  return { key, depth: depthOf(state.urls.word(state.urls.findKey(key), URL_WORD.rest)), relink: true }
}
