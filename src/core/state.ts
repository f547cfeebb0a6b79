/**
 * What the crawl knows: the projections of one shard. Changed by `evolve` alone, so live state = replayed state.
 *
 * The URL table holds PendSet (state pending) and ProcessingSet (state processing) and every final state; HostTable
 * holds Host2IP and BadHosts. Nothing leaves a projection by the clock.
 */

import { BulkDeques } from '../tables/deque.ts'
import { StateDigest } from '../tables/digest.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { HostTable } from './hosts.ts'
import { KeyQueue } from './key-queue.ts'
import { DEFAULTS, type Settings } from './settings.ts'
import { WaitingTable } from './waiting.ts'

/** States of a URL, in the URL table and in the digest. On disk (images) since v1. Never renumber. */
export const URL_STATE = { pending: 1, processing: 2, done: 3, failed: 4, refused: 5 } as const
export const URL_STATE_NAMES = ['', 'pending', 'processing', 'done', 'failed', 'refused'] as const

/**
 * Value words of the URL table. Word 0: position of the record that holds the URL's link (pending, processing) or its
 * outcome (final states). Word 1: segment (16 bits), depth (8), flags (5), state (3).
 */
export const URL_WORD = { position: 0, rest: 1 } as const
/** The URL waits in the waiting table: its link in a queued bulk, if it still stands there, is void. */
export const URL_WAITING = 1 << 3
/** The page's links are to be admitted again: a shorter way to it was found. */
export const URL_RELINK = 1 << 4
const STATE_MASK = 7

export function packUrl(segment: number, depth: number, flags: number, state: number): number {
  return ((segment << 16) | (depth << 8) | flags | state) >>> 0
}
export const segmentOf = (rest: number): number => rest >>> 16
export const depthOf = (rest: number): number => (rest >>> 8) & 0xff
export const stateOf = (rest: number): number => rest & STATE_MASK

/** Where the seeds of one source stand. */
export interface SeedCursor {
  readonly lines: number
  readonly isLast: boolean
}

export interface State {
  readonly urls: OrderedTable
  readonly hosts: HostTable
  readonly queues: BulkDeques
  readonly waiting: WaitingTable
  /** URLs being fetched: word 0 = attempts made before | deaths << 8, word 1 = host id. At most `concurrency` entries. */
  readonly processing: OrderedTable
  /** First 16 bytes of a body's SHA-256 → the `fetched` record that stored it (position, segment). */
  readonly contents: OrderedTable
  /** md5 of the scope keys opened by seeds. */
  readonly scopeKeys: OrderedTable
  /** Done pages whose links are to be admitted again, oldest first. */
  readonly relinks: KeyQueue
  readonly digest: StateDigest
  /** URLs by state; index = URL_STATE. Their sum = distinct URLs. */
  readonly counts: Float64Array
  /** Answers with a stored 2xx body. */
  pages: number
  badHosts: number
  resolvedHosts: number
  /** robots.txt fetches in flight. */
  asking: number
  /** Cursor per seed source; grows with the sources (one for `start`, one for each `add`), not with the crawl. */
  readonly seeds: SeedCursor[]
  settings: Settings
  settingsJson: string
  crawlId: string
  /** A process has opened the log and not closed it. */
  isOpen: boolean
  /** Hosts whose items were applied since the scheduler last looked; kept only while `isLive`. */
  readonly touched: number[]
  isLive: boolean
  /** The host that URL items stand under, 0 = none. */
  host: number
  /** Address and ordinal of the last bulk item, to number the bulks of one record. */
  bulkSegment: number
  bulkPosition: number
  bulkOrdinal: number
}

/** Scope keys are as many as hosts of seeds, not as URLs: 64 partitions. In images: see their VERSION. */
const SCOPE_PARTITION_BITS = 6

/** An empty state. */
export function createState(): State {
  return {
    urls: new OrderedTable({ valueWords: 2 }),
    hosts: new HostTable(),
    queues: new BulkDeques(),
    waiting: new WaitingTable(),
    processing: new OrderedTable({ valueWords: 2 }),
    contents: new OrderedTable({ valueWords: 2 }),
    scopeKeys: new OrderedTable({ valueWords: 1, partitionBits: SCOPE_PARTITION_BITS }),
    relinks: new KeyQueue(),
    digest: new StateDigest(),
    counts: new Float64Array(6),
    pages: 0,
    badHosts: 0,
    resolvedHosts: 0,
    asking: 0,
    seeds: [],
    settings: DEFAULTS,
    settingsJson: '',
    crawlId: '',
    isOpen: false,
    touched: [],
    isLive: false,
    host: 0,
    bulkSegment: 0,
    bulkPosition: 0,
    bulkOrdinal: 0,
  }
}
