/**
 * When each URL of a crawl was found first. KEY tells by which record, the record's head tells when.
 *
 * Outside the JS heap: some 30 bytes a URL.
 */
import { type Key, word } from '../base/md5.ts'
import { KIND } from '../core/kind.ts'
import { AT, comparePositions, ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { OrderedTable } from '../tables/ordered.ts'

const U32 = 2 ** 32

export class FirstSeen {
  readonly #times = new OrderedTable({ valueWords: 2 })

  /** Errors: LOG_CORRUPT. Cost: a pass over KEY before `end`, and a read of 8 bytes per record that brought in URLs. */
  constructor(log: OpenedLog, end: Position) {
    const head = new Uint8Array(8)
    const view = new DataView(head.buffer)
    for (const { number } of log.segments) {
      if (number > end.segment) break
      const items = log.key(number)
      let read = -1
      for (let at = 0; at < items.length; at += ITEM_WORDS) {
        if (itemKind(items[at + ITEM_AT.kindAndArg]) !== KIND.enqueue) continue
        const position = items[at + ITEM_AT.position]
        if (comparePositions({ segment: number, position }, end) >= 0) break
        const entry = this.#times.insert(items[at], items[at + 1], items[at + 2], items[at + 3])
        if (!this.#times.wasNew) continue
        if (read !== position) log.readPart(number, position + AT.timeMs, head)
        read = position
        this.#times.setWord(entry, 0, view.getUint32(0, true))
        this.#times.setWord(entry, 1, view.getUint32(4, true))
      }
    }
  }

  /** Milliseconds since 1970; undefined for an unknown URL. */
  timeMs(key: Key): number | undefined {
    const entry = this.#times.find(word(key, 0), word(key, 1), word(key, 2), word(key, 3))
    return entry < 0 ? undefined : this.#times.word(entry, 0) + this.#times.word(entry, 1) * U32
  }
}
