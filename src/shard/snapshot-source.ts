/** What a snapshot is made of, and how its records are written. */
import type { CrawlEvent } from '../core/event.ts'
import type { State } from '../core/state.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import type { Totals } from './totals.ts'

export interface SnapshotSource {
  readonly log: OpenedLog
  /** The place where `state` stands: the end of a segment. */
  readonly until: Position
  readonly state: State
  readonly totals: Totals
  /** Time of the last record before the place. */
  readonly timeMs: number
  /** Up to where the pages are durable. */
  readonly pagesSynced: Position
}

/** Writes an event as one record with its items. */
export type WriteEvent = (event: CrawlEvent, timeMs: number) => void
