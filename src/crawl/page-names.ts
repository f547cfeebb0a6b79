/**
 * Names of pages by their keys, read from the log. A crawl stands in its log by pages, so the links of one page ask for
 * the same name again and again: a few thousand are kept.
 */
import type { Key } from '../base/md5.ts'
import { type State, segmentOf, URL_WORD } from '../core/state.ts'
import { linkOf, type Records, readEvent } from '../shard/link-source.ts'

/** Names kept: about 2 MB. */
const NAMES_MAX = 10_000

export class PageNames {
  readonly #records: Records
  readonly #state: State
  readonly #names = new Map<Key, string>()

  constructor(records: Records, state: State) {
    this.#records = records
    this.#state = state
  }

  /** What is at hand need not be read. */
  remember(key: Key, url: string): void {
    if (this.#names.size >= NAMES_MAX) this.#names.delete(this.#names.keys().next().value as Key)
    this.#names.set(key, url)
  }

  /** URL of a page; undefined for a key that is none of the crawl's. Cost: a read where it is not kept. */
  nameOf(key: Key): string | undefined {
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const handle = this.#state.urls.findKey(key)
    if (handle < 0) return undefined
    const segment = segmentOf(this.#state.urls.word(handle, URL_WORD.rest))
    const position = this.#state.urls.word(handle, URL_WORD.position)
    const { url } = linkOf(readEvent(this.#records, segment, position), key, segment, position)
    this.remember(key, url)
    return url
  }
}
