/**
 * Empties the pages that no event refers to any more, in sealed segments of the pages log. Ordinals, keys and times stay,
 * so nothing that refers to other pages changes.
 *
 * Each segment is rewritten whole and replaced by renames: a death in between costs nothing, and the next compaction
 * catches up. A body that stands elsewhere stands at a page whose event is kept: the first one to store it.
 */
import { KEY_BYTES } from '../base/md5.ts'
import { KIND as EVENT } from '../core/kind.ts'
import type { Disk } from '../env/disk.ts'
import { ITEM_BYTES, KIND } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { CONTINUED, PAGES_LOG } from '../log/pages.ts'
import type { RecordView } from '../log/record.ts'
import { adoptRewritten, rewriteSegment, type Transform } from '../log/rewrite.ts'
import { isRewritten } from '../log/segment.ts'
import { eventOf } from './link-source.ts'
import { type Compress, createPageTransform } from './page-transform.ts'
import { PART_VOID, PART_ZSTD } from './pages.ts'

export interface VoidedPages {
  /** Pages emptied now. */
  readonly pages: number
  readonly bytesFreed: number
}

/**
 * @param events  the whole log that counts
 * Errors: LOG_CORRUPT, DISK_FULL, DISK_FAILED; segments done before stay done.
 * Cost: a sequential read of the events and of the pages, a write of the segments that get smaller; a bit a page.
 */
export function voidPages(
  disk: Disk,
  events: OpenedLog,
  pages: OpenedLog,
  directory: string,
  compress: Compress,
): VoidedPages {
  const referred = referredPages(events, pages)
  let count = 0
  let bytesFreed = 0
  let before = { isContinued: false, isKept: true }
  for (const { number, header } of pages.segments.slice(0, -1)) {
    const found = lookThrough(pages, number, referred, before)
    if (found.pages > 0) {
      // One that was not compressed yet would not be any more: rewritten segments are.
      const other = isRewritten(header) ? () => undefined : createPageTransform(compress)
      const transform = createVoiding(number, referred, before, other)
      const { beforeBytes, afterBytes } = rewriteSegment(disk, directory, number, PAGES_LOG, transform)
      adoptRewritten(disk, directory, number)
      count += found.pages
      bytesFreed += beforeBytes - afterBytes
    }
    before = found.end
  }
  return { pages: count, bytesFreed }
}

/** One bit a page: an event of the log refers to it. */
class PageBits {
  readonly #segments: Uint8Array[] = []

  constructor(pages: OpenedLog) {
    for (const { number, key } of pages.segments)
      this.#segments[number] = new Uint8Array(Math.ceil((key?.bytes ?? 0) / ITEM_BYTES / 8))
  }

  set(segment: number, ordinal: number): void {
    const bits = this.#segments[segment]
    if (bits !== undefined && ordinal >> 3 < bits.length) bits[ordinal >> 3] |= 1 << (ordinal & 7)
  }

  has(segment: number, ordinal: number): boolean {
    return ((this.#segments[segment][ordinal >> 3] >> (ordinal & 7)) & 1) === 1
  }
}

function referredPages(events: OpenedLog, pages: OpenedLog): PageBits {
  const bits = new PageBits(pages)
  for (const { number } of events.segments) {
    events.scan(number, (record) => {
      if (record.kind !== EVENT.fetched && record.kind !== EVENT.failed) return
      const event = eventOf(record, number)
      if ('stored' in event && event.stored !== undefined)
        bits.set(event.stored.page.segment, event.stored.page.ordinal)
    })
  }
  return bits
}

/** Of the record before: whether its value goes on, and whether somebody refers to it. */
interface Before {
  readonly isContinued: boolean
  readonly isKept: boolean
}

/** Counts the pages of a segment that can be emptied, and says how its last record ends. */
function lookThrough(pages: OpenedLog, number: number, bits: PageBits, start: Before): { pages: number; end: Before } {
  let count = 0
  const follow = follower(number, bits, start)
  pages.scan(number, (record) => {
    if (record.kind !== KIND.value) return
    const isFirst = follow.next(record)
    if (!follow.before.isKept && (record.flags & PART_VOID) === 0 && (isFirst || count === 0)) count++
  })
  return { pages: count, end: follow.before }
}

/** Follows the records of a segment: which value each belongs to, and whether that is kept. */
function follower(number: number, bits: PageBits, start: Before) {
  let ordinal = 0
  const follow = {
    before: start,
    /** @returns whether a value begins here */
    next(record: RecordView): boolean {
      const isFirst = !follow.before.isContinued
      const isKept = isFirst ? bits.has(number, ordinal) : follow.before.isKept
      follow.before = { isContinued: (record.flags & CONTINUED) !== 0, isKept }
      ordinal++
      return isFirst
    },
  }
  return follow
}

function createVoiding(number: number, bits: PageBits, start: Before, other: Transform): Transform {
  const follow = follower(number, bits, start)
  return (record) => {
    if (record.kind !== KIND.value) return undefined
    follow.next(record)
    const changed = other(record)
    if (follow.before.isKept || (record.flags & PART_VOID) !== 0) return changed
    return { flags: (record.flags & ~PART_ZSTD) | PART_VOID, body: Buffer.from(record.body.subarray(0, KEY_BYTES)) }
  }
}
