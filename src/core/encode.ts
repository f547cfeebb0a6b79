/**
 * Events as the bodies of VAL records. One function per kind; `decode.ts` mirrors it field by field; FORMAT-EVENTS.md
 * says the same in prose. On disk since v1: fields are only added behind a flag, never moved.
 */
import assert from 'node:assert/strict'
import type { ByteWriter } from '../base/bytes.ts'
import { type Key, ZERO_KEY } from '../base/md5.ts'
import { writeBulks, writeDirectory } from './encode-links.ts'
import type {
  Attempt,
  BulkEvent,
  CrawlEvent,
  FetchedEvent,
  Findings,
  HostsEvent,
  LinkedEvent,
  LinkGroup,
  RelinkedEvent,
  SeededEvent,
  Stored,
} from './event.ts'
import { KIND } from './kind.ts'
import { writeRepaired } from './repaired.ts'

/**
 * Writes the body of `event` at the writer's place.
 * @param start where the record begins in `out`: offsets of bulks count from there
 */
export function encodeEvent(out: ByteWriter, start: number, event: CrawlEvent): void {
  switch (event.kind) {
    case KIND.open:
      out.latin1(event.crawlId)
      out.u32(event.pid)
      out.utf8(event.version)
      out.u32(event.shard)
      out.u32(event.shardCount)
      return out.utf8(event.settings)
    case KIND.close:
      return out.utf8(event.reason)
    case KIND.seeded:
      return withLinks(out, start, undefined, event.groups, event, () => writeSeeded(out, event))
    case KIND.bulk:
      return withLinks(out, start, commonOwner(event), [event.group], undefined, () => out.u8(event.replaced))
    case KIND.claim:
      return writeClaim(out, event)
    case KIND.void:
      return withLinks(out, start, undefined, event.groups, undefined, () => {
        out.u8(event.isDeath ? 1 : 0)
        out.varint(event.asking.length)
        for (const key of event.asking) out.rawLatin1(key)
      })
    case KIND.fetched:
      return withLinks(out, start, event.attempt.link.key, event.groups, event, () => writeFetched(out, event))
    case KIND.relinked:
      return withLinks(out, start, event.link.key, event.groups, event, () => writeUrl(out, event))
    case KIND.failed:
      out.u8(event.reason)
      writeAttempt(out, event.attempt)
      return writeStored(out, event.stored)
    case KIND.retry:
      out.u8(event.reason)
      out.u64(event.dueMs)
      return writeAttempt(out, event.attempt)
    case KIND.refused:
      return withLinks(out, start, undefined, event.groups, undefined, () => out.u8(event.reason))
    case KIND.reopened:
      return withLinks(out, start, undefined, event.groups, undefined, () => {})
    case KIND.resolved:
      out.latin1(event.host)
      out.u64(event.expiresMs)
      out.varint(event.addresses.length)
      for (const address of event.addresses) out.latin1(address)
      return
    case KIND.badhost:
      out.latin1(event.host)
      out.u8(event.reason)
      out.u64(event.untilMs)
      out.u8(event.isLast ? 1 : 0)
      out.varint(event.keys.length)
      for (const key of event.keys) out.rawLatin1(key)
      return
    case KIND.robots:
      return writeRobots(out, event)
    case KIND.delay:
      out.latin1(event.host)
      out.u8(event.reason)
      out.u64(event.untilMs)
      return out.u8(event.level)
    case KIND.repaired:
      return writeRepaired(out, event)
    case KIND.control:
      out.utf8(event.act)
      return out.utf8(event.settings)
    case KIND.hosts:
      return writeHosts(out, event)
    case KIND.linked:
      return withLinks(out, start, undefined, event.groups, undefined, () => writeStandings(out, event))
    case KIND.forked:
      out.latin1(event.crawlId)
      out.u64(event.sequence)
      return out.u64(event.timeMs)
    default:
      assert.fail('an event of no kind')
  }
}

/** Directory, fields, bulks, findings: the order that lets one read of the head find any bulk. */
function withLinks(
  out: ByteWriter,
  start: number,
  owner: Parameters<typeof writeDirectory>[1],
  groups: readonly LinkGroup[],
  findings: Findings | undefined,
  writeFields: () => void,
): void {
  const entries = writeDirectory(out, owner, groups)
  writeFields()
  writeBulks(out, start, entries, owner, groups)
  if (findings !== undefined) writeFindings(out, findings)
}

/** The page on which all links of a compacted bulk were found: named once, not with each. */
function commonOwner({ isCompacted, group: { links } }: BulkEvent): Key | undefined {
  const owner = links[0]?.from
  return isCompacted && links.every(({ from }) => from === owner) ? owner : undefined
}

function writeHosts(out: ByteWriter, { hosts }: HostsEvent): void {
  out.varint(hosts.length)
  for (const { host, hasAnswered } of hosts) {
    out.latin1(host)
    out.u8(hasAnswered ? 1 : 0)
  }
}

function writeStandings(out: ByteWriter, { standings }: LinkedEvent): void {
  out.varint(standings.length)
  for (const { what, attempts, deaths, status, reason, dueMs } of standings) {
    out.u8(what)
    out.u8(attempts)
    out.u8(deaths)
    out.u16(status)
    out.u8(reason)
    out.varint(dueMs)
  }
}

function writeSeeded(out: ByteWriter, event: SeededEvent): void {
  out.u32(event.source)
  out.u64(event.lines)
  out.u8(event.isLast ? 1 : 0)
}

function writeClaim(out: ByteWriter, event: Extract<CrawlEvent, { kind: typeof KIND.claim }>): void {
  out.varint(event.groups.length)
  for (const group of event.groups) {
    out.rawLatin1(group.hostKey)
    out.u8((group.asksHttp ? 1 : 0) | (group.asksHttps ? 2 : 0))
    out.varint(group.drained.length)
    for (const drained of group.drained) out.u8(drained)
    out.varint(group.keys.length)
    for (const key of group.keys) out.rawLatin1(key)
  }
}

function writeFetched(out: ByteWriter, event: FetchedEvent): void {
  writeAttempt(out, event.attempt)
  writeStored(out, event.stored)
  out.latin1(event.location)
}

function writeUrl(out: ByteWriter, event: RelinkedEvent): void {
  out.latin1(event.link.url)
  out.u8(event.link.depth)
}

function writeAttempt(out: ByteWriter, attempt: Attempt): void {
  const { link, timing } = attempt
  out.latin1(link.url)
  out.u8(link.depth)
  out.u8(link.seed ? 1 : 0)
  out.rawLatin1(link.from ?? ZERO_KEY)
  out.u8(link.chain.length)
  for (const key of link.chain) out.rawLatin1(key)
  out.u8(attempt.attempts)
  out.u16(attempt.status)
  out.latin1(attempt.address)
  out.varint(Math.round(timing.connectMs))
  out.varint(Math.round(timing.firstByteMs))
  out.varint(Math.round(timing.totalMs))
  out.utf8(attempt.message)
}

function writeStored(out: ByteWriter, stored: Stored | undefined): void {
  if (stored === undefined) return out.u8(0)
  out.u8(stored.isTruncated ? 3 : 1)
  out.u16(stored.page.segment)
  out.u32(stored.page.ordinal)
  out.varint(stored.bodyBytes)
  out.varint(stored.decodedBytes)
  out.rawLatin1(stored.content)
  out.latin1(stored.contentType)
}

function writeRobots(out: ByteWriter, event: Extract<CrawlEvent, { kind: typeof KIND.robots }>): void {
  out.latin1(event.host)
  out.u8(event.isHttps ? 1 : 0)
  out.u8(event.verdict)
  out.u16(event.status)
  out.u64(event.expiresMs)
  out.u32(event.delayMs)
  out.u8(event.attempts)
  out.bytes(event.body)
}

function writeFindings(out: ByteWriter, findings: Findings): void {
  out.varint(findings.known.length)
  for (const key of findings.known) out.rawLatin1(key.length === 8 ? key : key.slice(0, 8))
  out.varint(findings.shorter.length)
  for (const way of findings.shorter) {
    out.rawLatin1(way.key)
    out.u8(way.depth)
    out.u8(way.relink ? 1 : 0)
  }
  out.varint(findings.turnedAway.length)
  for (const [reason, count] of findings.turnedAway) {
    out.u8(reason)
    out.varint(count)
  }
  out.varint(findings.turnedAwayUrls.length)
  for (const [reason, url] of findings.turnedAwayUrls) {
    out.u8(reason)
    out.utf8(url)
  }
  out.varint(findings.scopeKeys.length)
  for (const key of findings.scopeKeys) out.rawLatin1(key)
}
