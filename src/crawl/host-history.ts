/**
 * What KEY tells of the host of one URL, item by item: its last delay, badness and robots.txt, and how many bulks of its
 * queues stand before the one with the URL. The host may have a hundred million items, so none is kept.
 *
 * Invariant: bulks are counted as `core/evolve-host.ts` moves them.
 */
import type { CrawlEvent } from '../core/event.ts'
import { ARG_FROM_TAIL, ARG_PREFERRED, ASKED, DRAINED_INDEX_MAX } from '../core/evolve-host.ts'
import { KIND } from '../core/kind.ts'
import type { Position } from '../log/format.ts'

/** Places of robots.txt records remembered, the last ones: enough to find one of each origin. */
const ROBOTS_KEPT_MAX = 16

/** One of the host's two queues. */
interface Queue {
  bulks: number
  /** Bulks before the one that holds the URL; −1 where none does. */
  ahead: number
}

export interface QueuePlace {
  readonly isPreferred: boolean
  /** Whole bulks (of at most 128 URLs) of the same queue that joined it earlier. */
  readonly bulksAhead: number
}

export class HostHistory {
  delay: Position | undefined
  /** The last record that says what became of its URLs: a claim, an outcome, a return. */
  contact: Position | undefined
  bad: Position | undefined
  /** The last ones, oldest first. */
  readonly robots: Position[] = []
  /** robots.txt was asked for here, and neither answered nor given back since. */
  asked: Position | undefined
  readonly #plain: Queue = { bulks: 0, ahead: -1 }
  readonly #preferred: Queue = { bulks: 0, ahead: -1 }
  readonly #eventAt: (place: Position) => CrawlEvent
  #last: { readonly queue: Queue; readonly at: Position } | undefined

  /** @param eventAt  reads a record; only those that say that a host is bad */
  constructor(eventAt: (place: Position) => CrawlEvent) {
    this.#eventAt = eventAt
  }

  /** Takes the host's next item. */
  take(kind: number, arg: number, segment: number, position: number): void {
    const place = { segment, position }
    switch (kind) {
      case KIND.host:
        this.contact = place
        return
      case KIND.delay:
        this.delay = place
        return
      case KIND.badhost:
        return this.#takeBad(place)
      case KIND.robots:
        this.robots.push(place)
        if (this.robots.length > ROBOTS_KEPT_MAX) this.robots.shift()
        this.asked = undefined
        return
      case KIND.asked:
        this.asked = arg === ASKED.givenBack ? undefined : place
        return
      case KIND.bulk:
        return this.#join(arg, place)
      case KIND.drained:
        return this.#leave(arg)
    }
  }

  /** The URL's link stands in this record: in the bulk that joined a queue last, if it did so by this record. */
  found(segment: number, position: number): void {
    this.cameBack()
    if (this.#last === undefined || this.#last.at.segment !== segment || this.#last.at.position !== position) return
    this.#last.queue.ahead = this.#last.queue.bulks - 1
  }

  /** The URL came back from an attempt: it stands in no queue any more. */
  cameBack(): void {
    this.#plain.ahead = -1
    this.#preferred.ahead = -1
  }

  /** Where the URL stands in a queue; undefined where it stands in none. */
  get place(): QueuePlace | undefined {
    if (this.#preferred.ahead >= 0) return { isPreferred: true, bulksAhead: this.#preferred.ahead }
    return this.#plain.ahead < 0 ? undefined : { isPreferred: false, bulksAhead: this.#plain.ahead }
  }

  #takeBad(place: Position): void {
    this.bad = place
    const event = this.#eventAt(place)
    if (event.kind !== KIND.badhost || !event.isLast) return
    for (const queue of [this.#plain, this.#preferred]) {
      queue.bulks = 0
      queue.ahead = -1
    }
  }

  #queueOf(arg: number): Queue {
    return arg & ARG_PREFERRED ? this.#preferred : this.#plain
  }

  #join(arg: number, at: Position): void {
    const queue = this.#queueOf(arg)
    queue.bulks -= arg & ~ARG_PREFERRED
    if (queue.ahead >= queue.bulks) queue.ahead = -1
    queue.bulks++
    this.#last = { queue, at }
  }

  #leave(arg: number): void {
    const queue = this.#queueOf(arg)
    const index = arg & DRAINED_INDEX_MAX
    const place = arg & ARG_FROM_TAIL ? queue.bulks - 1 - index : index
    queue.bulks--
    if (place < queue.ahead) queue.ahead--
    else if (place === queue.ahead) queue.ahead = -1
  }
}
