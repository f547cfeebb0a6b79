/**
 * Writes events one by one into a new log, outside of a running shard, and keeps the state that its replay gives.
 *
 * Invariant: the state is changed by `evolve` alone, from the items just written; so the log is legal as long as no
 * event contradicts the state. Callers: a repair.
 */
import { word } from '../base/md5.ts'
import { encodeEvent } from '../core/encode.ts'
import type { CrawlEvent } from '../core/event.ts'
import { evolve, ITEM_WORDS } from '../core/evolve.ts'
import { itemsOf } from '../core/items.ts'
import { COMPACTED } from '../core/kind.ts'
import { createState, type State } from '../core/state.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { AT, type Position } from '../log/format.ts'
import type { LogIdentity } from '../log/opened.ts'
import { openLog } from '../log/recover.ts'
import type { LogWriter } from '../log/writer.ts'
import { EVENTS_LOG } from './events-log.ts'
import { addToTotals, createTotals, encodeTotals, type Totals } from './totals.ts'

/** The batch is written when it is this large. */
const WRITE_BYTES = 1024 * 1024

export interface RecorderOptions {
  readonly random: Random
  readonly identity: LogIdentity
  readonly firstSequence: number
  /** Time of the `segment` record, shard time. */
  readonly timeMs: number
  /** Up to where the pages are durable: for the marks. */
  readonly pagesSynced: Position
  readonly segmentBytesMax?: number | undefined
}

export class Recorder {
  readonly state: State = createState()
  readonly totals: Totals = createTotals()
  /** For reading what was written. */
  readonly events: LogWriter
  readonly #pagesSynced: Position
  #lastMs: number

  /** @param directory  of the log; it must be empty or missing. Errors: DISK_FULL, DISK_FAILED, DISK_DENIED. */
  constructor(disk: Disk, directory: string, options: RecorderOptions) {
    const { pagesSynced, ...start } = options
    this.events = openLog(disk, directory, { ...EVENTS_LOG, mode: 'write' }).startWriter(start)
    this.#pagesSynced = pagesSynced
    this.#lastMs = options.timeMs
  }

  /** Records an event and applies it. Times do not go back: an earlier one becomes that of the record before. */
  record(event: CrawlEvent, timeMs: number): void {
    const { events, state } = this
    this.#lastMs = Math.max(this.#lastMs, timeMs)
    const out = events.begin(event.kind, 'isCompacted' in event ? COMPACTED : 0, this.#lastMs)
    encodeEvent(out, out.at - AT.body, event)
    itemsOf(event, (key, kind, arg) => events.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
    const { segment } = events.end()
    const items = events.lastItems()
    evolve(state, items, 0, items.length / ITEM_WORDS, segment, () => event)
    addToTotals(this.totals, event)
    if (events.batchBytes >= WRITE_BYTES) events.write()
  }

  /**
   * Ends what an instant may not be asked about: with a mark, the first one, and the segment.
   * @returns time and sequence number of the mark
   */
  closePast(): { readonly timeMs: number; readonly sequence: number } {
    this.#mark()
    const horizon = { timeMs: this.#lastMs, sequence: this.events.sequence - 1 }
    this.events.seal(this.#lastMs)
    return horizon
  }

  #mark(): void {
    const { events, state, totals } = this
    events.write()
    events.mark(this.#lastMs, events.syncNow(), this.#pagesSynced, state.digest.bytes(), encodeTotals(totals))
    events.write()
  }

  /** Ends with a mark; all is durable then. @returns digest of the state, 32 hexadecimal digits */
  finish(): string {
    this.#mark()
    this.events.close()
    return this.state.digest.toHex()
  }
}
