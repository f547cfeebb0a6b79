/**
 * What claims read from the log: bulks, single links, robots.txt, names of hosts. Over the writer's cache and files.
 */
import { ByteReader, MalformedValue } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Key } from '../base/md5.ts'
import { keyOf } from '../base/md5.ts'
import type { LinkSource } from '../core/claim.ts'
import { decodeEvent } from '../core/decode.ts'
import { readBulk, readDirectory } from '../core/encode-links.ts'
import type { CrawlEvent, Link, LinkGroup } from '../core/event.ts'
import { HOST } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { parseRobots, type Robots } from '../core/robots.ts'
import type { State } from '../core/state.ts'
import { hostOf } from '../core/url.ts'
import type { RecordView } from '../log/record.ts'

/** Read of a record's head: it holds the directory and most bulks whole. */
const HEAD_BYTES = 8192
/** Parsed robots.txt kept: about 20 MB. */
const ROBOTS_CACHED_MAX = 2000

/** What reads records: the writer, or an opened log. */
export interface Records {
  read(segment: number, position: number, lengthHint?: number): RecordView
  readPart(segment: number, position: number, target: Uint8Array): void
}

/** The event of a record. Errors: LOG_CORRUPT with its place where the bytes make no sense. */
export function eventOf(record: RecordView, segment: number): CrawlEvent {
  try {
    const event = decodeEvent(record.reader(), record.kind, record.flags)
    if (event !== undefined) return event
    throw new MalformedValue('a record of the log itself', 0)
  } catch (error) {
    throw located(error, segment, record.position)
  }
}

function located(error: unknown, segment: number, position: number): unknown {
  if (!(error instanceof MalformedValue)) return error
  const message = `Segment ${segment}: the record at offset ${position} cannot be read: ${error.message}.`
  return new CrawlError('LOG_CORRUPT', message, { segment, offset: position })
}

export function readEvent(records: Records, segment: number, position: number): CrawlEvent {
  return eventOf(records.read(segment, position), segment)
}

export function createLinkSource(records: Records, state: State, random: () => number): LinkSource {
  const robotsCache = new Map<string, Robots>()
  const head = Buffer.alloc(HEAD_BYTES)
  return {
    bulk: (segment, position, ordinal) => {
      try {
        return bulkAt(records, head, segment, position, ordinal)
      } catch (error) {
        throw located(error, segment, position)
      }
    },
    link: (segment, position, key) => linkOf(readEvent(records, segment, position), key, segment, position),
    robots: (segment, position) => cachedRobots(records, robotsCache, segment, position),
    hostName: (host) => hostNameOf(records, state, host),
    random,
  }
}

function bulkAt(records: Records, head: Buffer, segment: number, position: number, ordinal: number): readonly Link[] {
  const bytes = readHead(records, head, segment, position)
  try {
    return bulkIn(bytes, ordinal, (offset, length) => partOf(records, bytes, segment, position, offset, length))
  } catch (error) {
    // The directory is longer than the head: read the whole record.
    if (!(error instanceof MalformedValue)) throw error
    const whole = records.read(segment, position).bytes
    return bulkIn(whole, ordinal, (offset, length) => whole.subarray(offset, offset + length))
  }
}

function bulkIn(bytes: Uint8Array, ordinal: number, part: (offset: number, length: number) => Uint8Array): Link[] {
  const { owner, bulks } = readDirectory(new ByteReader(bytes, 20))
  const bulk = bulks[ordinal]
  if (bulk === undefined) throw new MalformedValue('a bulk that is not there', 20)
  return readBulk(new ByteReader(part(bulk.offset, bulk.bytes)), bulk.host, bulk.count, owner)
}

function readHead(records: Records, head: Buffer, segment: number, position: number): Uint8Array {
  try {
    records.readPart(segment, position, head)
    return head
  } catch (error) {
    // Near the end of the segment there is less than a head.
    if (!(error instanceof CrawlError)) throw error
    return records.read(segment, position).bytes
  }
}

function partOf(
  records: Records,
  head: Uint8Array,
  segment: number,
  position: number,
  offset: number,
  length: number,
): Uint8Array {
  if (offset + length <= head.length) return head.subarray(offset, offset + length)
  const target = Buffer.alloc(length)
  records.readPart(segment, position + offset, target)
  return target
}

/** The link of a URL in the event that its address names. */
export function linkOf(event: CrawlEvent, key: Key, segment: number, position: number): Link {
  const found = findLink(event, key)
  if (found !== undefined) return found
  throw new CrawlError(
    'LOG_CORRUPT',
    `Segment ${segment}: the record at offset ${position} does not hold the URL that it is said to.`,
    {
      segment,
      offset: position,
    },
  )
}

function findLink(event: CrawlEvent, key: Key): Link | undefined {
  switch (event.kind) {
    case KIND.bulk:
      return inGroups([event.group], key)
    case KIND.seeded:
    case KIND.void:
    case KIND.refused:
    case KIND.reopened:
    case KIND.relinked:
    case KIND.linked:
      return inGroups(event.groups, key)
    case KIND.fetched:
      return event.attempt.link.key === key ? event.attempt.link : inGroups(event.groups, key)
    case KIND.failed:
    case KIND.retry:
      return event.attempt.link.key === key ? event.attempt.link : undefined
  }
  return undefined
}

function inGroups(groups: readonly LinkGroup[], key: Key): Link | undefined {
  for (const { links } of groups) {
    const link = links.find((candidate) => candidate.key === key)
    if (link !== undefined) return link
  }
  return undefined
}

function cachedRobots(records: Records, cache: Map<string, Robots>, segment: number, position: number): Robots {
  const place = `${segment}:${position}`
  let robots = cache.get(place)
  if (robots === undefined) {
    const event = readEvent(records, segment, position)
    robots = parseRobots(event.kind === KIND.robots ? event.body : new Uint8Array(0))
    if (cache.size >= ROBOTS_CACHED_MAX) cache.delete(cache.keys().next().value as string)
  } else {
    cache.delete(place)
  }
  cache.set(place, robots)
  return robots
}

/** The name of a host: in memory, or in the record that mentioned it first. */
export function hostNameOf(records: Records, state: State, host: number): string {
  const known = state.hosts.name(host)
  if (known !== '') return known
  const segment = state.hosts.get(host, HOST.seenSegment)
  const position = state.hosts.get(host, HOST.seenPosition)
  const wanted = state.hosts.keyOf(host)
  for (const name of namesIn(readEvent(records, segment, position))) {
    if (keyOf(name) !== wanted) continue
    state.hosts.setName(host, name)
    return name
  }
  throw new CrawlError(
    'LOG_CORRUPT',
    `Segment ${segment}: the record at offset ${position} does not name the host that it is said to.`,
    {
      segment,
      offset: position,
    },
  )
}

function namesIn(event: CrawlEvent): string[] {
  if ('host' in event) return [event.host]
  if (event.kind === KIND.hosts) return event.hosts.map(({ host }) => host)
  if (event.kind === KIND.bulk) return [event.group.host]
  const names = 'attempt' in event ? [hostOf(event.attempt.link.url)] : []
  if ('groups' in event) for (const group of event.groups) if ('host' in group) names.push(group.host)
  return names
}
