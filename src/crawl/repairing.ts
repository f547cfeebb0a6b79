/**
 * `verify --repair`: makes of a damaged crawl one that `verify` finds nothing wrong with, and says what is gone.
 *
 *   1. inspect: what is damaged (inspecting.ts);
 *   2. copy the damaged files to DIR/damaged/TIME (damaged-files.ts);
 *   3. damaged segments of pages are written anew, each by a rename (shard/salvaged-pages.ts);
 *   4. what is left of the events becomes a new generation of the log, aside (shard/salvaged-events.ts);
 *   5. it gets its name, checkpoints of the old log are forgotten, MANIFEST is replaced: from here on it counts;
 *   6. the old generation goes; damaged images and KEY files go aside or are made anew.
 *
 * Invariant: a death before 5 leaves the damaged crawl, of which a second repair says the same; after it, the repaired
 * one. The caller holds the lock of DIR.
 */
import type { Key } from '../base/md5.ts'
import type { Stored } from '../core/event.ts'
import type { LostRange, RepairCounts } from '../core/repaired.ts'
import { DEFAULTS } from '../core/settings.ts'
import type { CheckpointStore } from '../env/checkpoints.ts'
import type { DecodeContent } from '../env/content.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { keyName, ROLE, valName } from '../log/format.ts'
import { type LeftSegment, leftSegments } from '../log/left-segments.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { rewriteKey } from '../log/rebuild.ts'
import { openLog } from '../log/recover.ts'
import { EVENTS_LOG } from '../shard/events-log.ts'
import { asideDirectory, logDirectory, removeOtherGenerations } from '../shard/generations.ts'
import { readImage } from '../shard/image.ts'
import {
  expectedPages,
  isAtOrBehind,
  type LossListener,
  type SalvagedEvents,
  salvageEvents,
} from '../shard/salvaged-events.ts'
import { findLostPages, type LostPages, salvagePages, syncPages } from '../shard/salvaged-pages.ts'
import { DamagedFiles } from './damaged-files.ts'
import { type FoundCrawl, findCrawl, type Inspection, inspectCrawl } from './inspecting.ts'
import type { Layout } from './layout.ts'
import { writeManifest } from './manifest.ts'
import { troubleOfPage } from './page-checks.ts'
import { VERSION } from './version.ts'

/** Names told of one by one; all of them stand in files of DIR/damaged/TIME. */
const TOLD_MAX = 100

/** What is at hand for a repair. */
export interface RepairTools {
  readonly disk: Disk
  readonly random: Random
  readonly decode: DecodeContent
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number
  /** Opens crawl.db; what is damaged of it is given to `setAside` before. `note`: what was wrong, ''. */
  readonly openStore: (setAside: (path: string) => void) => { readonly store: CheckpointStore; readonly note: string }
  readonly segmentBytesMax?: number | undefined
  readonly onProgress?: (step: RepairStep, done: number, max: number) => void
}
/** In segments. */
export type RepairStep = 'pages' | 'events'

/** What became of it. */
export interface Repair {
  /** Whether anything had to be done. */
  readonly isRepaired: boolean
  /** Where the damaged files are kept, relative to DIR; '' where there are none. */
  readonly folder: string
  /** Those files, relative to DIR. */
  readonly aside: readonly string[]
  readonly lost: readonly LostRange[]
  readonly counts: RepairCounts
  /** Lost ranges of which KEY tells nothing: the counts are at the least then. */
  readonly unindexed: number
  /** The first of the URLs that are pending again, and of those whose page is gone; all are in urls.txt and pages.txt. */
  readonly urls: readonly string[]
  readonly pages: readonly string[]
  /** `robots of example.org`; all are in hosts.txt. */
  readonly hostFacts: readonly string[]
  /** Where the settings come from that hold now. */
  readonly settingsFrom: 'log' | 'checkpoint' | 'defaults'
  /** What cost nothing but time: KEY files, images, crawl.db, MANIFEST; a sentence each. */
  readonly notes: readonly string[]
}

const NOTHING_LOST: RepairCounts = {
  urls: 0,
  pages: 0,
  forgotten: 0,
  hostFacts: 0,
  settings: 0,
  seeds: 0,
  checkpoints: 0,
}

/**
 * Errors: DIR_NO_CRAWL, LOG_NEWER, DISK_FULL, DISK_FAILED, DISK_DENIED; LOG_CORRUPT where what was written is not what was
 * meant. Until the very end the crawl is the damaged one then.
 * Cost: reads everything twice or three times, writes the events once; memory as a replay.
 */
export function repairCrawl(tools: RepairTools, layout: Layout): Repair {
  const found = findCrawl(tools.disk, layout)
  const inspection = inspectCrawl(tools.disk, layout, found, tools.decode)
  return new Repairing(tools, layout, found, inspection).run()
}

class Repairing {
  readonly #tools: RepairTools
  readonly #layout: Layout
  readonly #found: FoundCrawl
  readonly #inspection: Inspection
  readonly #aside: DamagedFiles
  readonly #directory: string
  readonly #store: CheckpointStore
  /** Generation that is written. */
  readonly #next: number
  readonly #notes: string[] = []
  #settingsFrom: Repair['settingsFrom'] = 'log'

  constructor(tools: RepairTools, layout: Layout, found: FoundCrawl, inspection: Inspection) {
    this.#tools = tools
    this.#layout = layout
    this.#found = found
    this.#inspection = inspection
    this.#aside = new DamagedFiles(tools.disk, layout, tools.nowMs)
    this.#directory = layout.shard(0)
    const { store, note } = tools.openStore((path) => this.#aside.move(path))
    this.#store = store
    if (note !== '') this.#notes.push(note)
    // One that never counted may lie there: it is removed once this one counts.
    this.#next = found.generation + 1
    while (tools.disk.list(logDirectory(this.#directory, this.#next)).length > 0) this.#next++
  }

  run(): Repair {
    const told = new Told(this.#aside)
    try {
      return this.#repair(told)
    } finally {
      told.close()
    }
  }

  #repair(told: Told): Repair {
    const { needsEvents, needsManifest } = this.#inspection
    this.#mendKeys(`${this.#directory}/pages`, PAGES_LOG, this.#inspection.pageKeys)
    if (!needsEvents) this.#mendKeys(this.#log, EVENTS_LOG, this.#inspection.eventKeys)
    const lostPages = needsEvents ? this.#mendPages() : { lost: [], damaged: new Set<number>() }
    if (needsManifest) this.#aside.copy(this.#layout.manifest)
    const checkpoints = needsEvents ? this.#checkpoints() : this.#dropDamagedImages()
    const salvaged = needsEvents ? this.#writeEvents(lostPages, checkpoints, told) : undefined
    told.end()
    if (needsManifest) this.#notes.push('MANIFEST was missing or wrong, and is written anew.')
    if (needsEvents || needsManifest) this.#publish(salvaged?.horizon)
    const counts = salvaged?.counts ?? { ...NOTHING_LOST, checkpoints }
    const isRepaired = needsEvents || this.#aside.files.length + this.#notes.length > 0
    return {
      isRepaired,
      folder: this.#aside.files.length > 0 || told.count > 0 ? this.#aside.folder : '',
      aside: this.#aside.files,
      lost: [...(salvaged?.lost ?? []), ...lostPages.lost],
      counts,
      unindexed: salvaged?.unindexed ?? 0,
      ...told.lists,
      settingsFrom: this.#settingsFrom,
      notes: this.#notes,
    }
  }

  get #log(): string {
    return logDirectory(this.#directory, this.#found.generation)
  }

  #mendKeys(path: string, options: typeof EVENTS_LOG | typeof PAGES_LOG, numbers: readonly number[]): void {
    if (numbers.length === 0 || this.#isDamaged(path)) return
    const { disk } = this.#tools
    const opened = openLog(disk, path, { ...options, mode: 'read' })
    try {
      for (const number of numbers) {
        this.#aside.copy(`${path}/${keyName(number)}`)
        rewriteKey(disk, path, number, opened.key(number))
        const log = path === this.#log ? 'log' : 'pages'
        this.#notes.push(`${log}: the KEY of segment ${number} is made anew from VAL; nothing is lost by it.`)
      }
    } finally {
      opened.close()
    }
  }

  /** KEY files of a log that will be written anew, or whose segments will, are made with them. */
  #isDamaged(path: string): boolean {
    return path === this.#log ? this.#inspection.needsEvents : this.#inspection.needsPages
  }

  #left(path: string, options: typeof EVENTS_LOG | typeof PAGES_LOG): LeftSegment[] {
    return leftSegments(this.#tools.disk, path, { ...options, owner: this.#found })
  }

  #mendPages(): LostPages {
    const { disk, random, nowMs, onProgress } = this.#tools
    if (!this.#inspection.needsPages) return { lost: [], damaged: new Set() }
    const path = `${this.#directory}/pages`
    const segments = this.#left(path, PAGES_LOG)
    const found = findLostPages(disk, path, segments, (done, max) => onProgress?.('pages', done, max))
    for (const number of [...found.damaged, ...this.#inspection.pageKeys]) this.#copySegment(path, number)
    const expected = expectedPages(disk, this.#log, this.#left(this.#log, EVENTS_LOG), found.damaged)
    const damaged = new Set([...found.damaged, ...this.#inspection.pageKeys])
    salvagePages(disk, path, segments, damaged, { random, owner: this.#found, nowMs, expected })
    this.#mendSealedKeys(path)
    const ends = this.#inspection.lostEnds.filter(
      ({ log, segment, offset }) =>
        log === ROLE.pages && !found.lost.some((range) => isAtOrBehind(range, segment, offset)),
    )
    return { ...found, lost: [...found.lost, ...ends] }
  }

  /** A segment that was taken for the last one, whose KEY may lag behind, may be none any more. */
  #mendSealedKeys(path: string): void {
    const { disk } = this.#tools
    const pages = openLog(disk, path, { ...PAGES_LOG, mode: 'read' })
    try {
      for (const { number } of pages.segments.slice(0, -1)) {
        const words = pages.key(number)
        if (pages.keysInDoubt().includes(number)) rewriteKey(disk, path, number, words)
      }
    } finally {
      pages.close()
    }
  }

  #copySegment(path: string, number: number): void {
    for (const name of [valName(number), keyName(number)]) this.#aside.copy(`${path}/${name}`)
  }

  #writeEvents(lostPages: LostPages, checkpoints: number, told: Told): SalvagedEvents {
    const { disk, random, nowMs, decode, segmentBytesMax, onProgress } = this.#tools
    const { lostEnds, isContradictory } = this.#inspection
    const pagesPath = `${this.#directory}/pages`
    const pagesSynced = syncPages(disk, pagesPath)
    const pages = openLog(disk, pagesPath, { ...PAGES_LOG, mode: 'read' })
    const segments = this.#left(this.#log, EVENTS_LOG)
    try {
      const salvaged = salvageEvents(disk, this.#directory, {
        ...{ random, owner: this.#found, from: this.#found.generation, to: this.#next, segments },
        ...{ nowMs, pagesSynced, checkpoints, isContradictory, segmentBytesMax, version: VERSION },
        isPageThere: (stored: Stored, key: Key) => troubleOfPage(pages, stored, key, decode) === undefined,
        settings: () => this.#fallbackSettings(),
        aside: this.#aside.folder,
        lostPages: lostPages.lost,
        lostEnd: lostEnds.find(({ log }) => log === ROLE.events),
        listener: { ...told.listener, onProgress: (done, max) => onProgress?.('events', done, max) },
      })
      for (const number of new Set(salvaged.lost.map(({ segment }) => segment))) this.#copySegment(this.#log, number)
      return salvaged
    } finally {
      pages.close()
    }
  }

  /** Of the newest checkpoint that can be read; else those of a crawl for which nothing was chosen. */
  #fallbackSettings(): string {
    const images = this.#images()
    for (const name of images) {
      const image = readImage(this.#tools.disk, name)
      if (image.kind !== 'image' || image.state.settingsJson === '') continue
      this.#settingsFrom = 'checkpoint'
      return image.state.settingsJson
    }
    this.#settingsFrom = 'defaults'
    return JSON.stringify(DEFAULTS)
  }

  /** Paths of the images, newest first. */
  #images(): string[] {
    const path = `${this.#directory}/images`
    const names = this.#tools.disk.list(path).filter((name) => /^\d+\.img$/.test(name))
    return names.sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10)).map((name) => `${path}/${name}`)
  }

  /** Checkpoints of a log that is given up are of no use: an image names places in it. @returns how many there are */
  #checkpoints(): number {
    return this.#images().length
  }

  /** Images that cannot be read any more go aside. @returns how many */
  #dropDamagedImages(): number {
    const { disk } = this.#tools
    let dropped = 0
    for (const path of this.#images()) {
      const image = readImage(disk, path)
      if (image.kind === 'image') continue
      const sequence = Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10)
      this.#store.dropCheckpoint(this.#found.shard, sequence)
      this.#aside.move(path)
      this.#notes.push(`Checkpoint ${sequence} cannot be read (${image.why}), and is given up; a replay takes longer.`)
      dropped++
    }
    return dropped
  }

  /** From the replacement of MANIFEST on the new generation counts. */
  #publish(horizon: SalvagedEvents['horizon'] | undefined): void {
    const { disk } = this.#tools
    const hasNewLog = horizon !== undefined
    const { crawlId, shard, manifest, generation } = this.#found
    const directory = this.#directory
    if (hasNewLog) {
      disk.rename(asideDirectory(directory, this.#next), logDirectory(directory, this.#next))
      disk.syncDirectory(directory)
      this.#store.prune(shard, new Set())
    }
    writeManifest(disk, this.#layout, {
      version: 1,
      crawlId: Buffer.from(crawlId).toString('hex'),
      shards: 1,
      generation: hasNewLog ? this.#next : generation,
      horizonMs: horizon?.timeMs ?? manifest?.horizonMs ?? 0,
      horizonSequence: horizon?.sequence ?? manifest?.horizonSequence ?? 0,
    })
    if (!hasNewLog) return
    removeOtherGenerations(disk, directory, this.#next)
    for (const path of this.#images()) {
      if (readImage(disk, path).kind === 'image') disk.remove(path)
      else this.#aside.move(path)
    }
  }
}

/** What is told as it is found: all of it to files, the first of it to the caller. */
class Told {
  readonly #files
  readonly lists: { readonly urls: string[]; readonly pages: string[]; readonly hostFacts: string[] } = {
    urls: [],
    pages: [],
    hostFacts: [],
  }

  constructor(aside: DamagedFiles) {
    this.#files = {
      urls: aside.list('urls.txt'),
      pages: aside.list('pages.txt'),
      hostFacts: aside.list('hosts.txt'),
    }
  }

  get listener(): Omit<LossListener, 'onProgress'> {
    return {
      onUrlAgain: (url) => this.#add('urls', url),
      onPageLost: (url) => this.#add('pages', url),
      onHostFactLost: (host, fact) => this.#add('hostFacts', `${fact} of ${host}`),
    }
  }

  get count(): number {
    return Object.values(this.#files).reduce((sum, file) => sum + file.count, 0)
  }

  end(): void {
    for (const file of Object.values(this.#files)) file.end()
  }

  close(): void {
    for (const file of Object.values(this.#files)) file.close()
  }

  #add(list: keyof Told['lists'], line: string): void {
    this.#files[list].add(line)
    if (this.lists[list].length < TOLD_MAX) this.lists[list].push(line)
  }
}
