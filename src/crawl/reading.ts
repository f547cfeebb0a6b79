/**
 * A crawl read from its files, beside a running process or without one: takes no lock, changes nothing, reads up to the
 * last whole record.
 */

import { openCrawlDb } from '../adapters/crawl-db.ts'
import { CrawlError } from '../base/errors.ts'
import { KIND } from '../core/kind.ts'
import { DEFAULTS, type Settings } from '../core/settings.ts'
import type { State } from '../core/state.ts'
import type { Disk } from '../env/disk.ts'
import { comparePositions, ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { openLog } from '../log/recover.ts'
import { loadCheckpoint } from '../shard/checkpoint.ts'
import { type Cut, cutAtEnd, cutAtSequence, cutAtTime, cutBefore, unreachable } from '../shard/cut.ts'
import { EVENTS_LOG } from '../shard/events-log.ts'
import { generationIn, logDirectory } from '../shard/generations.ts'
import { readEvent } from '../shard/link-source.ts'
import { type OpenedShard, openShardLogs } from '../shard/opening.ts'
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
  refuseUnfinished(disk, layout)
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

/** A fork of which a death left a part is none, whatever can be read of it. */
function refuseUnfinished(disk: Disk, { root, forking }: Layout): void {
  if (!disk.exists(forking)) return
  throw new CrawlError('FORK_UNFINISHED', `${root} is an unfinished fork.`, { path: root })
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

/** From the last segment back; that one is scanned, since its KEY would have to be made for it. */
function identityIn(log: OpenedLog): CrawlIdentity | undefined {
  let settings: Settings | undefined
  for (let i = log.segments.length - 1; i >= 0; i--) {
    const { number, header } = log.segments[i]
    const positions = i === log.segments.length - 1 ? identifyingIn(log, number) : identifyingOf(log, number)
    for (const position of positions.reverse()) {
      const event = readEvent(log, number, position)
      if (event.kind === KIND.control) settings ??= settingsOf(event.settings)
      if (event.kind !== KIND.open) continue
      return {
        crawlId: header.crawlId,
        settings: settings ?? settingsOf(event.settings),
        version: event.version,
      }
    }
  }
  return undefined
}

/** Settings as recorded; those that came with a later version have their defaults. */
export function settingsOf(json: string): Settings {
  return { ...DEFAULTS, ...(JSON.parse(json) as Settings) }
}

function identifies(kind: number): boolean {
  return kind === KIND.open || kind === KIND.control
}

/** Places of the records that say settings, by VAL. */
function identifyingIn(log: OpenedLog, number: number): number[] {
  const positions: number[] = []
  log.scan(number, ({ kind, position }) => {
    if (identifies(kind)) positions.push(position)
  })
  return positions
}

/** The same by KEY. */
function identifyingOf(log: OpenedLog, number: number): number[] {
  const words = log.key(number)
  const positions: number[] = []
  for (let at = 0; at < words.length; at += ITEM_WORDS) {
    if (identifies(itemKind(words[at + ITEM_AT.kindAndArg]))) positions.push(words[at + ITEM_AT.position])
  }
  return positions
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
  refuseUnfinished(disk, layout)
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
  const { state, work } = replayFrom(logs.events, checkpoint, {
    until: cut.position,
    ...(onProgress === undefined ? {} : { onProgress }),
  })
  const totals = totalsAt(logs.events, cut.position)
  const messages = [...logs.messages, ...keyMessages(logs.events)]
  return {
    state,
    totals,
    cut,
    logs,
    messages,
    items: work.items,
    status: statusOf(state, totals, cut.sequence, cut.timeMs),
  }
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
  const { events } = logs
  const last = lastCut(logs)
  if (until.kind === 'end') return last
  if (until.kind === 'sequence') {
    if (until.sequence > last.sequence) throw unreachable(`The log ends with record ${last.sequence}.`, events)
    return cutAtSequence(events, until.sequence)
  }
  const cut = cutAtTime(events, until.timeMs)
  return cut.sequence > last.sequence ? last : cut
}

function lastCut({ events, end }: OpenedShard): Cut {
  // Events at the end whose pages are missing do not count: the cut is before the first of them.
  return comparePositions(end, events.end) === 0 ? cutAtEnd(events) : cutBefore(events, end)
}

export function closeLogs(logs: OpenedShard): void {
  logs.events.close()
  logs.pages.close()
}
