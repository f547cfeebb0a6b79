/**
 * Running totals of a shard, for charts and status: what KEY alone does not tell. Kept in every mark's owner bytes, so
 * that a replay takes the last mark's and adds the records behind it.
 */
import type { CrawlEvent } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { REASONS } from '../core/reasons.ts'

/** Different media types counted; further ones as `other`. */
const TYPES_MAX = 64

export interface Totals {
  /** Bodies as received. */
  bytes: number
  /** Outcomes with an answer, by status. */
  readonly byStatus: Record<string, number>
  readonly byType: Record<string, number>
  /** Failed, refused and turned away, by reason number. */
  readonly byReason: Record<string, number>
  /** Links turned away on discovery. */
  turnedAway: number
  /** Running time over the life of the crawl, milliseconds. */
  runMs: number
}

export function createTotals(): Totals {
  return { bytes: 0, byStatus: {}, byType: {}, byReason: {}, turnedAway: 0, runMs: 0 }
}

export function addToTotals(totals: Totals, event: CrawlEvent): void {
  switch (event.kind) {
    case KIND.fetched:
    case KIND.failed: {
      const { attempt, stored } = event
      if (attempt.status > 0) count(totals.byStatus, String(attempt.status), 1)
      if (stored !== undefined) {
        totals.bytes += stored.bodyBytes
        countType(totals.byType, stored.contentType)
      }
      if (event.kind === KIND.failed) count(totals.byReason, String(event.reason), 1)
      else countTurnedAway(totals, event.turnedAway)
      return
    }
    case KIND.seeded:
    case KIND.relinked:
      return countTurnedAway(totals, event.turnedAway)
    case KIND.badhost:
      if (event.keys.length > 0) count(totals.byReason, String(REASONS['host.bad']), event.keys.length)
      return
    case KIND.refused:
      for (const group of event.groups) count(totals.byReason, String(event.reason), group.links.length)
      return
  }
}

function countTurnedAway(totals: Totals, turnedAway: ReadonlyArray<readonly [number, number]>): void {
  for (const [reason, number] of turnedAway) {
    totals.turnedAway += number
    count(totals.byReason, String(reason), number)
  }
}

function countType(counts: Record<string, number>, type: string): void {
  const isNew = counts[type] === undefined
  count(counts, isNew && Object.keys(counts).length >= TYPES_MAX ? 'other' : type, 1)
}

function count(counts: Record<string, number>, key: string, by: number): void {
  counts[key] = (counts[key] ?? 0) + by
}

export function encodeTotals(totals: Totals): Uint8Array {
  return Buffer.from(JSON.stringify(totals), 'utf8')
}

/** Totals of a mark; empty ones where the bytes are none. */
export function decodeTotals(bytes: Uint8Array): Totals {
  if (bytes.length === 0) return createTotals()
  return { ...createTotals(), ...(JSON.parse(Buffer.from(bytes).toString('utf8')) as Totals) }
}
