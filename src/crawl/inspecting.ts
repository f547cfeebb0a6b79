/** What of a crawl has to be repaired. Reads everything, changes nothing. */
import { CrawlError } from '../base/errors.ts'
import type { LostRange } from '../core/repaired.ts'
import type { DecodeContent } from '../env/content.ts'
import type { Disk } from '../env/disk.ts'
import type { Finding } from '../log/finding.ts'
import {
  ITEM_AT,
  ITEM_BYTES,
  ITEM_WORDS,
  itemKind,
  KIND,
  NOWHERE,
  type Position,
  parseSegmentName,
  ROLE,
  valName,
} from '../log/format.ts'
import { listSegments } from '../log/list.ts'
import type { OpenedLog } from '../log/opened.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { verifyLog } from '../log/verify.ts'
import { EVENTS_LOG } from '../shard/events-log.ts'
import { generationIn, logDirectory } from '../shard/generations.ts'
import { keyTrouble } from './key-trouble.ts'
import type { Layout } from './layout.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { troubleOfError } from './trouble.ts'
import { verifyCrawl } from './verifying.ts'

/** What is known of a crawl's identity, whatever is damaged. */
export interface FoundCrawl {
  /** 16 bytes. */
  readonly crawlId: Uint8Array
  readonly shard: number
  readonly generation: number
  readonly manifest: Manifest | undefined
}

/** A log with damage, and where it is. */
export interface Inspection {
  /** The log of events must be written anew. */
  readonly needsEvents: boolean
  /** Segments of pages must be written anew. */
  readonly needsPages: boolean
  /** The log of events is whole, but replay, accounting or digest contradict it. */
  readonly isContradictory: boolean
  /** Segments whose KEY alone is damaged. */
  readonly eventKeys: readonly number[]
  readonly pageKeys: readonly number[]
  /** Synced records that are missing at the ends of the logs. */
  readonly lostEnds: readonly LostRange[]
  /** MANIFEST is missing, cannot be read, or tells of another crawl. */
  readonly needsManifest: boolean
}

/**
 * Who the crawl in a DIR is: what most of its segments say.
 *
 * Errors: DIR_NO_CRAWL, LOG_NEWER. Cost: a read of 96 bytes a segment.
 */
export function findCrawl(disk: Disk, layout: Layout): FoundCrawl {
  const directory = layout.shard(0)
  const manifest = manifestOf(disk, layout)
  const generation = generationIn(disk, directory, manifest?.generation)
  const votes = new Map<string, number>() // a few: crawls whose segments lie here
  for (const [path, role] of [
    [logDirectory(directory, generation), ROLE.events],
    [`${directory}/pages`, ROLE.pages],
  ] as const) {
    for (const { header } of listSegments(disk, path, () => true).found) {
      if (header?.role !== role) continue
      const id = `${Buffer.from(header.crawlId).toString('hex')} ${header.shard}`
      votes.set(id, (votes.get(id) ?? 0) + 1)
    }
  }
  const [best] = [...votes].sort((a, b) => b[1] - a[1])
  const paths = [logDirectory(directory, generation), `${directory}/pages`]
  if (best === undefined && (manifest === undefined || !paths.some((path) => hasRecords(disk, path))))
    throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${layout.root}.`, { path: layout.root })
  const [crawlId, shard] = best === undefined ? [manifest?.crawlId ?? '', '0'] : best[0].split(' ')
  return { crawlId: Buffer.from(crawlId, 'hex'), shard: Number(shard), generation, manifest }
}

/** Bytes of a VAL that was never more than the beginning of a crawl: a `segment` and an `open` record. */
const BEGINNING_BYTES_MAX = 4096

function hasRecords(disk: Disk, directory: string): boolean {
  return disk.list(directory).some((name) => {
    const file = disk.open(`${directory}/${name}`, 'read')
    try {
      return file.sizeBytes() > BEGINNING_BYTES_MAX
    } finally {
      file.close()
    }
  })
}

/** One that says to be of a newer version, but has exactly the fields of this one, is damaged. */
function manifestOf(disk: Disk, layout: Layout): Manifest | undefined {
  try {
    return readManifest(disk, layout)
  } catch (error) {
    if (!(error instanceof CrawlError && error.code === 'LOG_NEWER') || !hasOurFields(disk, layout)) throw error
    return undefined
  }
}

const MANIFEST_FIELDS = ['crawlId', 'generation', 'horizonMs', 'horizonSequence', 'shards', 'version']

function hasOurFields(disk: Disk, layout: Layout): boolean {
  const file = disk.open(layout.manifest, 'read')
  try {
    const bytes = Buffer.alloc(file.sizeBytes())
    file.read(bytes, 0)
    return Object.keys(JSON.parse(bytes.toString()) as object).every((name) => MANIFEST_FIELDS.includes(name))
  } finally {
    file.close()
  }
}

/** Errors: LOG_NEWER, DISK_DENIED, DISK_FAILED. Cost: as `verify`. */
export function inspectCrawl(disk: Disk, layout: Layout, found: FoundCrawl, decode: DecodeContent): Inspection {
  const directory = layout.shard(0)
  const log = logDirectory(directory, found.generation)
  const events = verifyLog(disk, log, EVENTS_LOG)
  const pages = verifyLog(disk, `${directory}/pages`, { ...PAGES_LOG, promised: pagesPromised(events.opened) })
  try {
    const isCorrupt = ({ what }: Finding): boolean => what === 'corrupt' || what === 'syncedLost'
    const isLost =
      events.findings.some(isCorrupt) || events.opened.isEmpty || hasLostSegment(disk, log, events.opened, true)
    // Where events are gone that might have told, an end that looks torn may have been promised.
    const isTorn = ({ what }: Finding): boolean => what === 'torn'
    const needsPages =
      pages.findings.some((finding) => isCorrupt(finding) || (isLost && isTorn(finding))) ||
      (isLost && hasLostSegment(disk, `${directory}/pages`, pages.opened, false))
    const others = needsPages || isLost ? [] : othersOf(disk, layout, decode)
    const keysOf = (opened: OpenedLog, findings: readonly Finding[], path: string): number[] =>
      findings.filter((finding) => keyTrouble(disk, opened, finding, path)).map(({ segment }) => segment)
    return {
      needsPages,
      needsEvents: isLost || needsPages || others.length > 0,
      isContradictory: others.some((where) => where !== 'references'),
      eventKeys: keysOf(events.opened, events.findings, log),
      pageKeys: keysOf(pages.opened, pages.findings, `${directory}/pages`),
      lostEnds: [...lostEnds(events.findings, ROLE.events), ...lostEnds(pages.findings, ROLE.pages)],
      needsManifest: !isRight(found),
    }
  } finally {
    events.opened.close()
    pages.opened.close()
  }
}

/**
 * Whether VAL is missing behind the last segment, and its KEY is not.
 * @param hasMarks  only where KEY has marks: that segment had been synced
 */
function hasLostSegment(disk: Disk, directory: string, { end }: OpenedLog, hasMarks: boolean): boolean {
  return disk.list(directory).some((name) => {
    const parsed = parseSegmentName(name)
    if (parsed?.half !== 'key' || parsed.number <= end.segment) return false
    if (disk.exists(`${directory}/${valName(parsed.number)}`)) return false
    const file = disk.open(`${directory}/${name}`, 'read')
    try {
      const words = new Uint32Array(Math.floor(file.sizeBytes() / ITEM_BYTES) * ITEM_WORDS)
      file.read(new Uint8Array(words.buffer), 0)
      if (!hasMarks) return words.length > 0
      for (let at = 0; at < words.length; at += ITEM_WORDS)
        if (itemKind(words[at + ITEM_AT.kindAndArg]) === KIND.mark) return true
      return false
    } finally {
      file.close()
    }
  })
}

/** What is wrong although both logs are whole: `references`, `accounting`, `digest`. */
function othersOf(disk: Disk, layout: Layout, decode: DecodeContent): string[] {
  const { troubles } = verifyCrawl(disk, layout, decode)
  return troubles
    .filter(({ where, isDamage }) => isDamage && where !== 'log' && where !== 'pages')
    .map(({ where }) => where)
}

function pagesPromised(events: OpenedLog): Position {
  try {
    return events.lastMark()?.mark.pagesSynced ?? NOWHERE
  } catch (error) {
    // Damage on the way to the mark is found by itself.
    if (troubleOfError(error, 'log') === undefined) throw error
    return NOWHERE
  }
}

function lostEnds(findings: readonly Finding[], log: number): LostRange[] {
  const unknown = { records: undefined, fromSequence: 0, toSequence: 0, fromMs: 0, toMs: 0 }
  return findings
    .filter(({ what }) => what === 'syncedLost')
    .map(({ segment, offset, bytes }) => ({ log, segment, offset, bytes, ...unknown }))
}

function isRight({ manifest, crawlId, generation }: FoundCrawl): boolean {
  const id = Buffer.from(crawlId).toString('hex')
  return manifest?.crawlId === id && manifest.generation === generation && manifest.shards === 1
}
