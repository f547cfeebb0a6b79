/** Pages per second, from the running totals in the marks of a log: over the life of a crawl and lately. */
import { KIND } from '../core/kind.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import { decodeMark } from '../log/mark.ts'
import type { OpenedLog } from '../log/opened.ts'
import { decodeTotals, type Totals } from '../shard/totals.ts'

/** What counts as lately: running time back from the last mark, milliseconds. */
const RECENT_MS = 60_000

export interface Rates {
  /** Pages per second of running time; 0 before the first second. */
  readonly overall: number
  /** Over the last minute of running, or as much of it as lies in the last segment. */
  readonly recent: number
  readonly runMs: number
}

/** @param totals  as of now. Cost: KEY of the last segment and two reads. Errors: LOG_CORRUPT. */
export function ratesOf(log: OpenedLog, totals: Totals): Rates {
  const { runMs } = totals
  const overall = perSecond(pagesOf(totals), runMs)
  const marks = recentMarks(log)
  const first = marks.at(0)
  const last = marks.at(-1)
  if (first === undefined || last === undefined || first === last) return { overall, recent: overall, runMs }
  const [before, after] = [totalsIn(log, first), totalsIn(log, last)]
  const recent = perSecond(pagesOf(after) - pagesOf(before), after.runMs - before.runMs)
  return { overall, recent, runMs }
}

function perSecond(pages: number, ms: number): number {
  return ms <= 0 ? 0 : (pages * 1000) / ms
}

/** Positions of the marks of the last segment that are at most RECENT_MS older than its last, oldest first. */
function recentMarks(log: OpenedLog): number[] {
  const last = log.segments.at(-1)
  if (last === undefined) return []
  const words = log.key(last.number)
  const marks: number[] = []
  let lastMs = 0
  for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
    if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.mark) continue
    const timeMs = words[at] + words[at + 1] * 2 ** 32
    if (lastMs === 0) lastMs = timeMs
    if (timeMs < lastMs - RECENT_MS) break
    marks.push(words[at + ITEM_AT.position])
  }
  return marks.reverse()
}

function totalsIn(log: OpenedLog, position: number): Totals {
  const segment = log.segments.at(-1)?.number ?? 1
  return decodeTotals(decodeMark(log.read(segment, position))?.ownerBytes ?? new Uint8Array(0))
}

/** Answers with a status of 2xx. */
function pagesOf(totals: Totals): number {
  let pages = 0
  for (const [status, number] of Object.entries(totals.byStatus)) if (status.startsWith('2')) pages += number
  return pages
}
