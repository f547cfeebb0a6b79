/**
 * A crawl read from its files, beside a running process or without one: takes no lock, changes nothing, reads up to the
 * last whole record.
 */

import { openCrawlDb } from '../adapters/crawl-db.ts'
import { CrawlError } from '../base/errors.ts'
import { KIND } from '../core/kind.ts'
import type { Settings } from '../core/settings.ts'
import type { State } from '../core/state.ts'
import type { Disk } from '../env/disk.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { openLog } from '../log/recover.ts'
import { loadCheckpoint } from '../shard/checkpoint.ts'
import { type Cut, cutAtEnd, cutAtSequence, cutAtTime } from '../shard/cut.ts'
import { generationIn, logDirectory } from '../shard/generations.ts'
import { readEvent } from '../shard/link-source.ts'
import { EVENTS_LOG, type OpenedShard, openShardLogs } from '../shard/opening.ts'
import { replayFrom, totalsAt } from '../shard/replay.ts'
import type { Totals } from '../shard/totals.ts'
import type { Layout } from './layout.ts'
import { readGeneration } from './manifest.ts'
import { type Status, statusOf } from './status.ts'

/** What makes a DIR a crawl: its last `open` or `control` record. */
export interface CrawlIdentity {
  readonly crawlId: Uint8Array
  readonly settings: Settings
  /** Version that wrote the last `open`. */
  readonly version: string
}

/** The crawl in a DIR; undefined where there is none yet. Errors: LOG_CORRUPT (also where all of it is lost), LOG_NEWER. */
export function crawlIn(disk: Disk, layout: Layout): CrawlIdentity | undefined {
  return readGeneration(disk, layout, (stated) => {
    const directory = logDirectory(layout.shard(0), generationIn(disk, layout.shard(0), stated))
    const log = openLog(disk, directory, { ...EVENTS_LOG, mode: 'read' })
    try {
      if (log.isEmpty) refuseLost(log, layout)
      return identityIn(log)
    } finally {
      log.close()
    }
  })
}

/** A log of which nothing is left is no empty one where something had been synced: nobody may begin another in its place. */
function refuseLost(log: OpenedLog, { root }: Layout): void {
  const lost = log.verdicts.find(({ what }) => what === 'syncedLost')
  if (lost === undefined) return
  const { message, segment, offset } = lost
  const hint =
    'The pages are still there. Put the log back from a copy if there is one; else `crawler verify DIR --repair` begins anew from the seeds.'
  throw new CrawlError('LOG_CORRUPT', message, { path: root, segment, offset }, hint)
}

function identityIn(log: OpenedLog): CrawlIdentity | undefined {
  let settings: Settings | undefined
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number, header } = log.segments[i]
    const words = log.key(number)
    for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
      const kind = itemKind(words[at + ITEM_AT.kindAndArg])
      if (kind !== KIND.open && kind !== KIND.control) continue
      const event = readEvent(log, number, words[at + ITEM_AT.position])
      if (event.kind === KIND.control) settings ??= JSON.parse(event.settings) as Settings
      if (event.kind !== KIND.open) continue
      return {
        crawlId: header.crawlId,
        settings: settings ?? (JSON.parse(event.settings) as Settings),
        version: event.version,
      }
    }
  }
  return undefined
}

/** Which past is asked for. */
export type Until =
  | { readonly kind: 'end' }
  | { readonly kind: 'time'; readonly timeMs: number }
  | { readonly kind: 'sequence'; readonly sequence: number }

export interface PastCrawl {
  readonly state: State
  readonly totals: Totals
  readonly cut: Cut
  readonly logs: OpenedShard
  /** What was found wrong at the ends, and in KEY as far as it was read; one sentence each. */
  readonly messages: readonly string[]
  readonly status: Status
  /** KEY items applied, and the time it took is the caller's to measure. */
  readonly items: number
}

/**
 * The projections as of an instant, by replay from the nearest checkpoint before it (`isFromStart`: from the first record).
 * The caller closes `logs`.
 * Errors: DIR_NO_CRAWL, UNTIL_UNREACHABLE, LOG_CORRUPT, LOG_NEWER.
 */
export function readCrawl(
  disk: Disk,
  layout: Layout,
  until: Until = { kind: 'end' },
  onProgress?: (items: number, itemsMax: number) => void,
  isFromStart = false,
): PastCrawl {
  return readGeneration(disk, layout, (stated) => readPast(disk, layout, stated, until, onProgress, isFromStart))
}

function readPast(
  disk: Disk,
  layout: Layout,
  stated: number | undefined,
  until: Until,
  onProgress: ((items: number, itemsMax: number) => void) | undefined,
  isFromStart: boolean,
): PastCrawl {
  const logs = openShardLogs(disk, layout.shard(0), 'read', undefined, stated)
  if (logs.events.isEmpty) {
    refuseLost(logs.events, layout)
    throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${layout.root}.`, { path: layout.root })
  }
  const cut = cutOf(logs, until)
  const checkpoint = isFromStart ? undefined : checkpointFor(disk, layout, logs, cut)
  const { state, items } = replayFrom(logs.events, checkpoint, {
    until: cut.position,
    ...(onProgress === undefined ? {} : { onProgress }),
  })
  const totals = totalsAt(logs.events, cut.position)
  const messages = [...logs.messages, ...keyMessages(logs.events)]
  return { state, totals, cut, logs, messages, items, status: statusOf(state, totals, cut.sequence, cut.timeMs) }
}

/** The newest checkpoint that lies before the cut; none is no trouble, replay is longer then. */
function checkpointFor(disk: Disk, layout: Layout, logs: OpenedShard, cut: Cut): ReturnType<typeof loadCheckpoint> {
  const { store } = openCrawlDb(layout.database, 'read')
  try {
    return loadCheckpoint(disk, layout.shard(0), logs, store, 0, { until: cut.position })
  } finally {
    store.close()
  }
}

/** What is to be said of KEY files that were missing or damaged. Nothing is lost by it. */
export function keyMessages(log: OpenedLog): string[] {
  return log
    .keysInDoubt()
    .map((number) => `Segment ${number}: KEY is missing or damaged; what is in it comes from VAL.`)
}

function cutOf(logs: OpenedShard, until: Until): Cut {
  const { events, end } = logs
  if (until.kind === 'sequence') return cutAtSequence(events, until.sequence)
  if (until.kind === 'time') return cutAtTime(events, until.timeMs)
  const last = cutAtEnd(events)
  if (end.segment === last.position.segment && end.position === last.position.position) return last
  // Events at the end whose pages are missing do not count: the cut is before the first of them.
  return cutBefore(events, end)
}

function cutBefore(log: OpenedLog, end: Cut['position']): Cut {
  const segment = log.segments.find(({ number }) => number === end.segment)
  let sequence = (segment?.header.firstSequence ?? 1) - 1
  let timeMs = 0
  log.scan(end.segment, (record) => {
    if (record.position >= end.position) return
    sequence++
    timeMs = record.timeMs
  })
  return { position: end, sequence, timeMs }
}

export function closeLogs(logs: OpenedShard): void {
  logs.events.close()
  logs.pages.close()
}
