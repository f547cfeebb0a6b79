/**
 * Links that were turned away on discovery: no URLs of the crawl. Pages count them by reason; the links themselves stand in
 * the log only with `--keep-refused`.
 */
import type { CrawlEvent } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { eventOf } from '../shard/link-source.ts'
import { scanWhole } from './scanning.ts'

export interface TurnedAwayLink {
  readonly url: string
  readonly class: string | null
  /** Page on which it stands; null for a seed. */
  readonly from: string | null
}

type OnProgress = (bytes: number, bytesMax: number) => void

/**
 * Links turned away before a place of the log, in the order in which they were met.
 * Errors: LOG_CORRUPT. Cost: a sequential read of VAL.
 */
export function forEachTurnedAway(
  log: OpenedLog,
  end: Position,
  visit: (link: TurnedAwayLink) => void,
  onProgress?: OnProgress,
): void {
  const segments = log.segments.filter(({ number }) => number <= end.segment)
  const bytesMax = segments.reduce((sum, { valBytes }) => sum + valBytes, 0)
  let bytes = 0
  for (const { number, valBytes } of segments) {
    scanWhole(log, number, (record) => {
      if (number === end.segment && record.position >= end.position) return
      if (record.kind !== KIND.fetched && record.kind !== KIND.seeded && record.kind !== KIND.relinked) return
      const event = eventOf(record, number)
      if (!('turnedAwayUrls' in event)) return
      const from = pageOf(event)
      for (const [reason, url] of event.turnedAwayUrls) visit({ url, class: reasonOf(reason) ?? null, from })
    })
    bytes += valBytes
    onProgress?.(bytes, bytesMax)
  }
}

/** The page whose links an event holds; null where they are seeds. */
function pageOf(event: CrawlEvent): string | null {
  if (event.kind === KIND.fetched) return event.attempt.link.url
  return event.kind === KIND.relinked ? event.link.url : null
}

export interface TurnedAway {
  /** The first time. */
  readonly class: string | null
  readonly from: string | null
  /** Times by reason. */
  readonly counts: Readonly<Record<string, number>>
}

/** How one URL was turned away; undefined where it was not met, or not kept. Cost: as `forEachTurnedAway`. */
export function turnedAwayOf(
  log: OpenedLog,
  end: Position,
  url: string,
  onProgress?: OnProgress,
): TurnedAway | undefined {
  let first: TurnedAwayLink | undefined
  const counts: Record<string, number> = {}
  forEachTurnedAway(
    log,
    end,
    (link) => {
      if (link.url !== url) return
      first ??= link
      const reason = link.class ?? 'unknown'
      counts[reason] = (counts[reason] ?? 0) + 1
    },
    onProgress,
  )
  return first && { class: first.class, from: first.from, counts }
}
