/** Bodies of VAL records as events: the mirror of `encode.ts`, field by field. Errors: MalformedValue. */
import { type ByteReader, MalformedValue } from '../base/bytes.ts'
import { type Key, keyOf, ZERO_KEY } from '../base/md5.ts'
import { type Directory, readDirectory, readGroups, readKey } from './encode-links.ts'
import type { Attempt, ClaimGroup, CrawlEvent, Findings, Link, Standing, Stored } from './event.ts'
import { COMPACTED, KIND } from './kind.ts'
import { readLostRange, repairCountsOf } from './repaired.ts'

/**
 * @param input reader over the whole record, placed at its body
 * @param flags of the record
 * @returns undefined for kinds that are the log's own (segment, mark)
 */
export function decodeEvent(input: ByteReader, kind: number, flags = 0): CrawlEvent | undefined {
  const event = decodeBody(input, kind)
  if ((flags & COMPACTED) === 0) return event
  switch (event?.kind) {
    case KIND.bulk:
    case KIND.fetched:
    case KIND.failed:
    case KIND.refused:
      return { ...event, isCompacted: true }
  }
  return event
}

function decodeBody(input: ByteReader, kind: number): CrawlEvent | undefined {
  switch (kind) {
    case KIND.segment:
    case KIND.mark:
      return undefined
    case KIND.open:
      return {
        kind,
        crawlId: input.latin1(),
        pid: input.u32(),
        version: input.utf8(),
        shard: input.u32(),
        shardCount: input.u32(),
        settings: input.utf8(),
      }
    case KIND.close:
      return { kind, reason: input.utf8() }
    case KIND.seeded:
    case KIND.bulk:
    case KIND.void:
    case KIND.fetched:
    case KIND.relinked:
    case KIND.refused:
    case KIND.reopened:
    case KIND.linked:
      return decodeWithLinks(input, kind, readDirectory(input))
    case KIND.claim:
      return { kind, groups: readList(input, readClaimGroup) }
    case KIND.failed:
      return { kind, reason: input.u8(), attempt: readAttempt(input), stored: readStored(input) }
    case KIND.retry:
      return { kind, reason: input.u8(), dueMs: input.u64(), attempt: readAttempt(input) }
    case KIND.resolved:
      return { kind, host: input.latin1(), expiresMs: input.u64(), addresses: readList(input, (i) => i.latin1()) }
    case KIND.badhost:
      return {
        kind,
        host: input.latin1(),
        reason: input.u8(),
        untilMs: input.u64(),
        isLast: input.u8() !== 0,
        keys: readList(input, readKey),
      }
    case KIND.robots:
      return {
        kind,
        host: input.latin1(),
        isHttps: input.u8() !== 0,
        verdict: input.u8(),
        status: input.u16(),
        expiresMs: input.u64(),
        delayMs: input.u32(),
        attempts: input.u8(),
        body: input.bytes(),
      }
    case KIND.delay:
      return { kind, host: input.latin1(), reason: input.u8(), untilMs: input.u64(), level: input.u8() }
    case KIND.repaired: {
      const fields = { aside: input.utf8(), lost: readList(input, readLostRange) }
      return { kind, ...fields, counts: repairCountsOf(readList(input, (i) => i.varint())) }
    }
    case KIND.control:
      return { kind, act: input.utf8(), settings: input.utf8() }
    case KIND.hosts:
      return { kind, hosts: readList(input, (i) => ({ host: i.latin1(), hasAnswered: i.u8() !== 0 })) }
    case KIND.forked:
      return { kind, crawlId: input.latin1(), sequence: input.u64(), timeMs: input.u64() }
    default:
      throw new MalformedValue(`a record of unknown kind ${kind}`, input.at)
  }
}

function decodeWithLinks(input: ByteReader, kind: number, directory: Directory): CrawlEvent | undefined {
  switch (kind) {
    case KIND.seeded: {
      const fields = { source: input.u32(), lines: input.u64(), isLast: input.u8() !== 0 }
      return { kind, ...fields, ...readLinks(input, directory) }
    }
    case KIND.bulk: {
      const replaced = input.u8()
      return { kind, replaced, group: readGroups(input, directory)[0] }
    }
    case KIND.void: {
      const isDeath = input.u8() !== 0
      const asking = readList(input, readKey)
      return { kind, isDeath, asking, groups: readGroups(input, directory) }
    }
    case KIND.fetched: {
      const fields = { attempt: readAttempt(input), stored: readStored(input), location: input.latin1() }
      return { kind, ...fields, ...readLinks(input, directory) }
    }
    case KIND.relinked: {
      const url = input.latin1()
      const link = { key: keyOf(url), url, depth: input.u8(), from: undefined, seed: false, chain: [] }
      return { kind, link, ...readLinks(input, directory) }
    }
    case KIND.refused: {
      const reason = input.u8()
      return { kind, reason, groups: readGroups(input, directory) }
    }
    case KIND.reopened:
      return { kind, groups: readGroups(input, directory) }
    case KIND.linked: {
      const standings = readList(input, readStanding)
      const groups = readGroups(input, directory)
      const count = groups.reduce((sum, { links }) => sum + links.length, 0)
      if (count !== standings.length) throw new MalformedValue('not one standing for each link', input.at)
      return { kind, standings, groups }
    }
  }
  return undefined
}

function readLinks(input: ByteReader, directory: Directory): Findings {
  const groups = readGroups(input, directory)
  return {
    groups,
    known: readList(input, (i) => i.rawLatin1(8) as Key),
    shorter: readList(input, (i) => ({ key: readKey(i), depth: i.u8(), relink: i.u8() !== 0 })),
    turnedAway: readList(input, (i) => [i.u8(), i.varint()] as const),
    turnedAwayUrls: readList(input, (i) => [i.u8(), i.utf8()] as const),
    scopeKeys: readList(input, readKey),
  }
}

function readList<T>(input: ByteReader, readOne: (input: ByteReader) => T): T[] {
  const count = input.varint()
  // A count that the bytes cannot hold is damage, not a reason to allocate.
  if (count > input.remaining) throw new MalformedValue('a list longer than its record', input.at)
  const list: T[] = []
  for (let i = 0; i < count; i++) list.push(readOne(input))
  return list
}

function readStanding(input: ByteReader): Standing {
  return {
    what: input.u8(),
    attempts: input.u8(),
    deaths: input.u8(),
    status: input.u16(),
    reason: input.u8(),
    dueMs: input.varint(),
  }
}

function readClaimGroup(input: ByteReader): ClaimGroup {
  const hostKey = readKey(input)
  const asks = input.u8()
  const drained = readList(input, (i) => i.u8())
  return { hostKey, asksHttp: (asks & 1) !== 0, asksHttps: (asks & 2) !== 0, drained, keys: readList(input, readKey) }
}

function readAttempt(input: ByteReader): Attempt {
  const link = readAttemptedLink(input)
  const attempts = input.u8()
  const status = input.u16()
  const address = input.latin1()
  const timing = { connectMs: input.varint(), firstByteMs: input.varint(), totalMs: input.varint() }
  return { link, attempts, status, address, timing, message: input.utf8() }
}

function readAttemptedLink(input: ByteReader): Link {
  const url = input.latin1()
  const depth = input.u8()
  const seed = input.u8() !== 0
  const from = readKey(input)
  const chain: Key[] = []
  for (let left = input.u8(); left > 0; left--) chain.push(readKey(input))
  return { key: keyOf(url), url, depth, from: from === ZERO_KEY ? undefined : from, seed, chain }
}

function readStored(input: ByteReader): Stored | undefined {
  const flags = input.u8()
  if (flags === 0) return undefined
  return {
    page: { segment: input.u16(), ordinal: input.u32() },
    bodyBytes: input.varint(),
    decodedBytes: input.varint(),
    content: readKey(input),
    contentType: input.latin1(),
    isTruncated: (flags & 2) !== 0,
  }
}
