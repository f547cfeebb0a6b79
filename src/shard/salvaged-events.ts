/**
 * What is left of a shard's events, written as a new generation of its log, and what is gone.
 *
 * Invariant: the new generation stands aside until it is whole, durable, and proved by a replay; giving it its name, and
 * MANIFEST, are the caller's.
 */
import { CrawlError } from '../base/errors.ts'
import { type Key, keyToHex } from '../base/md5.ts'
import type { CrawlEvent, Link, Stored } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import type { LostRange, RepairCounts } from '../core/repaired.ts'
import { LOST_RANGES_MAX } from '../core/repaired.ts'
import { URL_STATE } from '../core/state.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { type Position, ROLE } from '../log/format.ts'
import type { LeftSegment, LogOwner } from '../log/left-segments.ts'
import type { RecordView } from '../log/record.ts'
import { openLog } from '../log/recover.ts'
import { salvage, type Visitor } from '../log/salvage.ts'
import type { LostBytes } from '../log/salvage-numbers.ts'
import { EVENTS_LOG } from './events-log.ts'
import { OpenedScope, readAgain, rewindSeeds } from './found-again.ts'
import { asideDirectory, logDirectory } from './generations.ts'
import { eventOf } from './link-source.ts'
import { type HostFact, Losses } from './losses.ts'
import { Recorder } from './recorder.ts'
import { replayFrom } from './replay.ts'
import { keyAt, Rerecording } from './rerecording.ts'

/** What is told as it is found, so that nothing of it is kept in memory. */
export interface LossListener {
  /** The body of an outcome is gone. */
  onPageLost(url: string): void
  /** A URL that had come to its end is pending again. */
  onUrlAgain(url: string): void
  onHostFactLost(host: string, fact: HostFact): void
  onProgress(segmentsDone: number, segments: number): void
}

export interface SalvageEventsOptions {
  readonly random: Random
  readonly owner: LogOwner
  /** Generation that is read, and that is written. */
  readonly from: number
  readonly to: number
  readonly segments: readonly LeftSegment[]
  /** Shard time of the repair. */
  readonly nowMs: number
  readonly pagesSynced: Position
  readonly isPageThere: (stored: Stored, key: Key) => boolean
  /** Settings to go on with where no record of them is left, JSON. */
  readonly settings: () => string
  readonly version: string
  /** For the `repaired` record. */
  readonly aside: string
  readonly lostPages: readonly LostRange[]
  readonly checkpoints: number
  /** Losses at the end that no byte tells of. */
  readonly lostEnd: LostRange | undefined
  /** The log is whole, but the ordinary replay does not take it. */
  readonly isContradictory: boolean
  readonly segmentBytesMax?: number | undefined
  readonly listener: LossListener
}

export interface SalvagedEvents {
  /** Of the events log. */
  readonly lost: readonly LostRange[]
  readonly counts: RepairCounts
  /** Lost ranges of whose records KEY tells nothing: there the counts are what is known at the least. */
  readonly unindexed: number
  readonly digest: string
  /** Up to which the log cannot be asked about. */
  readonly horizon: { readonly timeMs: number; readonly sequence: number }
}

/**
 * Writes the new generation aside, and replays it.
 *
 * Errors: LOG_NEWER, LOG_CORRUPT (a fault of ours: what was written is not what was meant), DISK_FULL, DISK_FAILED.
 * Cost: two passes over the old VAL, one write and one replay of the new, a read or two of pages per outcome.
 */
export function salvageEvents(disk: Disk, directory: string, options: SalvageEventsOptions): SalvagedEvents {
  const aside = asideDirectory(directory, options.to)
  disk.removeDirectory(aside)
  const writing = new Salvaging(disk, directory, aside, options)
  salvage(disk, logDirectory(directory, options.from), options.segments, EVENTS_LOG, writing)
  const salvaged = writing.finish()
  syncFiles(disk, aside)
  const written = openLog(disk, aside, { ...EVENTS_LOG, mode: 'read' })
  try {
    const { state } = replayFrom(written, undefined, {})
    if (state.digest.toHex() !== salvaged.digest) throw differs(aside)
  } finally {
    written.close()
  }
  return salvaged
}

/** KEY of a sealed segment is synced beside, that of the last one not at all. */
function syncFiles(disk: Disk, directory: string): void {
  for (const name of disk.list(directory)) {
    const file = disk.open(`${directory}/${name}`, 'write')
    try {
      file.syncNow()
    } finally {
      file.close()
    }
  }
  disk.syncDirectory(directory)
}

function differs(path: string): CrawlError {
  const hint = 'Nothing was changed. Please report this, and what `crawler verify` says.'
  return new CrawlError('LOG_CORRUPT', 'The repaired log gives another state than it was made of.', { path }, hint)
}

/** Of a log without any file. */
const ALL_LOST: LostRange = {
  ...{ log: ROLE.events, segment: 1, offset: 0, bytes: 0, records: undefined },
  ...{ fromSequence: 0, toSequence: 0, fromMs: 0, toMs: 0 },
}

/** Visits what is left of the old log, and records it. */
class Salvaging implements Visitor {
  readonly #options: SalvageEventsOptions
  readonly #recorder: Recorder
  readonly #rerecording: Rerecording
  readonly #losses = new Losses()
  readonly #scope = new OpenedScope()
  readonly #disk: Disk
  readonly #log: string
  readonly #lost: LostBytes[] = []
  #pagesLost = 0
  #timeMs: number
  #hasOpen = false

  constructor(disk: Disk, directory: string, aside: string, options: SalvageEventsOptions) {
    this.#options = options
    this.#disk = disk
    this.#log = logDirectory(directory, options.from)
    const { owner, to, random, pagesSynced, segmentBytesMax, segments } = options
    this.#timeMs = segments.find(({ header }) => header !== undefined)?.header?.timeMs ?? options.nowMs
    this.#recorder = new Recorder(disk, aside, {
      random,
      identity: { ...owner, generation: to },
      firstSequence: firstSequenceOf(disk, this.#log, segments),
      timeMs: this.#timeMs,
      pagesSynced,
      segmentBytesMax,
    })
    const isPageThere = (stored: Stored, { key, url }: Link): boolean => {
      const isThere = options.isPageThere(stored, key)
      if (isThere) return true
      this.#pagesLost++
      options.listener.onPageLost(url)
      return false
    }
    this.#rerecording = new Rerecording(this.#recorder, isPageThere, this.#losses.outcomes)
    if (options.isContradictory) this.#rerecording.gap(false)
  }

  record(record: RecordView, segment: number): void {
    if (record.kind === KIND.segment || record.kind === KIND.mark) return
    const event = eventOf(record, segment)
    this.#timeMs = record.timeMs
    if (event.kind === KIND.open) this.#hasOpen = true
    else if (!this.#hasOpen) this.#open()
    this.#losses.survive(event)
    this.#scope.note(event)
    this.#rerecording.take(event, record.timeMs)
  }

  lost(range: LostBytes, items: Uint32Array | undefined): void {
    if (range.records === 0) return // bytes that never were a record
    this.#lost.push(range)
    const onReopened = (key: Key): void => this.#rerecording.reopen(key, this.#timeMs)
    this.#rerecording.gap(this.#losses.lose(items, onReopened))
  }

  progress(segmentsDone: number, segments: number): void {
    this.#options.listener.onProgress(segmentsDone, segments)
  }

  /** A log without an `open` is no crawl. */
  #open(): void {
    const { owner, version, settings } = this.#options
    this.#hasOpen = true
    this.#losses.settings = Math.max(1, this.#losses.settings)
    const crawlId = Buffer.from(owner.crawlId).toString('hex')
    const facts = { crawlId, pid: 0, version, shard: owner.shard, shardCount: 1, settings: settings() }
    this.#recorder.record({ kind: KIND.open, ...facts }, this.#timeMs)
  }

  finish(): SalvagedEvents {
    const { nowMs, aside, lostPages, segments } = this.#options
    const lostEnd = segments.length === 0 ? ALL_LOST : this.#options.lostEnd
    if (lostEnd !== undefined && !this.#knowsEnd(lostEnd)) {
      this.#lost.push({ ...lostEnd })
      this.#rerecording.gap(this.#losses.lose(undefined, () => {}))
    }
    if (!this.#hasOpen) this.#open()
    this.#rerecording.finish(nowMs)
    const counts = this.#count()
    if (!this.#rerecording.isExact) this.#findAgain(counts.forgotten)
    const horizon = this.#recorder.closePast()
    const lost = this.#lost.map((range) => ({ log: ROLE.events, ...range }))
    const told = [...lost, ...lostPages].slice(0, LOST_RANGES_MAX)
    this.#recorder.record({ kind: KIND.repaired, aside, lost: told, counts }, nowMs)
    return { lost, counts, unindexed: this.#losses.unindexed, digest: this.#recorder.finish(), horizon }
  }

  /** Only in a compacted log may a URL have been named by its own record alone. */
  #findAgain(forgotten: number): void {
    const { from, nowMs, segments } = this.#options
    const { unindexed, links } = this.#losses
    this.#scope.restore(this.#recorder, nowMs)
    if (from === 0 || forgotten + unindexed === 0) return
    rewindSeeds(this.#recorder, nowMs)
    readAgain(this.#disk, this.#log, segments, this.#recorder, unindexed > 0 ? undefined : links, nowMs)
  }

  /** Whether a loss at the end of the log was found by what KEY tells. */
  #knowsEnd({ segment, offset }: LostRange): boolean {
    return this.#lost.some((range) => isAtOrBehind(range, segment, offset))
  }

  #count(): RepairCounts {
    const { listener, checkpoints } = this.#options
    const { outcomes, links } = this.#losses
    let urls = 0
    outcomes.forEach((handle) => {
      const key = keyAt(outcomes, handle)
      const state = this.#rerecording.stateOf(key)
      if (state === 0) links.insertKey(key)
      if (state !== URL_STATE.pending) return
      urls++
      listener.onUrlAgain(this.#rerecording.linkOf(key).url)
    })
    let forgotten = 0
    links.forEach((handle) => {
      if (this.#rerecording.stateOf(keyAt(links, handle)) === 0) forgotten++
    })
    this.#losses.forEachHostFact((hostKey, fact) => {
      listener.onHostFactLost(this.#rerecording.hostName(hostKey) || keyToHex(hostKey), fact)
    })
    const { settings, seeds, hostFacts } = this.#losses
    return { urls, pages: this.#pagesLost, forgotten, hostFacts, settings, seeds, checkpoints }
  }
}

/** Whether a lost range reaches a place, or lies behind it. */
export function isAtOrBehind(range: Omit<LostRange, 'log'>, segment: number, offset: number): boolean {
  return range.segment > segment || (range.segment === segment && range.offset + range.bytes >= offset)
}

/** Behind every number that the old log had: a number that was told of once never means another record. */
function firstSequenceOf(disk: Disk, directory: string, segments: readonly LeftSegment[]): number {
  let greatest = salvage(disk, directory, segments.slice(-1), EVENTS_LOG, { record: () => {}, lost: () => {} })
  for (const { header, sequenceAfter } of segments)
    greatest = Math.max(greatest, header?.firstSequence ?? 0, sequenceAfter - 1)
  return greatest + 1
}

/** Pages that events refer to in these segments: words segment, ordinal and key, six each. Cost: a pass over VAL. */
export function expectedPages(
  disk: Disk,
  directory: string,
  segments: readonly LeftSegment[],
  wanted: ReadonlySet<number>,
): Uint32Array {
  let words = new Uint32Array(6 * 1024)
  let end = 0
  const add = ({ page }: Stored, link: Link): void => {
    if (!wanted.has(page.segment)) return
    if (end + 6 > words.length) {
      const larger = new Uint32Array(words.length * 2)
      larger.set(words)
      words = larger
    }
    words.set([page.segment, page.ordinal], end)
    for (let i = 0; i < 4; i++) words[end + 2 + i] = Buffer.from(link.key, 'latin1').readUInt32LE(i * 4)
    end += 6
  }
  salvage(disk, directory, segments, EVENTS_LOG, {
    record: (record, segment) => {
      if (record.kind !== KIND.fetched && record.kind !== KIND.failed) return
      const event: CrawlEvent = eventOf(record, segment)
      if ('stored' in event && event.stored !== undefined) add(event.stored, event.attempt.link)
    },
    lost: () => {},
  })
  return words.subarray(0, end)
}
