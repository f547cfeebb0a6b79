/**
 * Links on disk: bulks of at most BULK_LINKS_MAX links of one host, with a directory at the record's head, so that one
 * read of the head and one of the bulk give a bulk's links. On disk since v1; see FORMAT-EVENTS.md.
 *
 * Directory: owner's key (16 bytes, zeros for none), varint groups; per group: u8 flags (1 = preferred), host (latin1),
 * varint bulks; per bulk: u32 offset from the record's start, u32 bytes, u16 links.
 * Link: u8 flags, u8 depth, varint bytes shared with the path before, rest of the path (latin1), then as flagged
 * the key of the page it was found on, and the chain (u8 count, 16 bytes each).
 */
import type { ByteReader, ByteWriter } from '../base/bytes.ts'
import { type Key, keyOf, ZERO_KEY } from '../base/md5.ts'
import { BULK_LINKS_MAX, type Link, type LinkGroup } from './event.ts'

const GROUP_PREFERRED = 1
const LINK = { https: 1, seed: 2, chain: 4, from: 8 } as const
const BULK_ENTRY_BYTES = 10

/** One bulk as the directory names it. */
export interface BulkEntry {
  readonly host: string
  readonly isPreferred: boolean
  /** From the record's start. */
  readonly offset: number
  readonly bytes: number
  readonly count: number
}

export interface Directory {
  /** Key of the page the links were found on, where the record is a page's. */
  readonly owner: Key | undefined
  readonly bulks: readonly BulkEntry[]
}

/** Writes the directory with places to be filled by `writeBulks`. Returns where the first bulk's entry stands. */
export function writeDirectory(out: ByteWriter, owner: Key | undefined, groups: readonly LinkGroup[]): number[] {
  out.rawLatin1(owner ?? ZERO_KEY)
  out.varint(groups.length)
  const entries: number[] = []
  for (const group of groups) {
    out.u8(group.isPreferred ? GROUP_PREFERRED : 0)
    out.latin1(group.host)
    const bulkCount = bulksOf(group.links)
    out.varint(bulkCount)
    for (let i = 0; i < bulkCount; i++) {
      entries.push(out.at)
      out.reserve(BULK_ENTRY_BYTES)
      out.at += BULK_ENTRY_BYTES
    }
  }
  return entries
}

/** A group without links is one empty bulk: a compacted queue keeps it. */
function bulksOf(links: readonly Link[]): number {
  return Math.max(1, Math.ceil(links.length / BULK_LINKS_MAX))
}

/** Writes the bulks and fills the directory's entries. `start` is the record's start in `out`. */
export function writeBulks(
  out: ByteWriter,
  start: number,
  entries: readonly number[],
  owner: Key | undefined,
  groups: readonly LinkGroup[],
): void {
  let next = 0
  for (const { host, links } of groups) {
    for (let bulk = 0; bulk < bulksOf(links); bulk++) {
      const from = bulk * BULK_LINKS_MAX
      const to = Math.min(from + BULK_LINKS_MAX, links.length)
      const at = out.at
      writeBulk(out, host, links, from, to, owner)
      const entry = entries[next++]
      out.setU32(entry, at - start)
      out.setU32(entry + 4, out.at - at)
      out.setU16(entry + 8, to - from)
    }
  }
}

function writeBulk(
  out: ByteWriter,
  host: string,
  links: readonly Link[],
  from: number,
  to: number,
  owner: Key | undefined,
): void {
  let before = ''
  for (let i = from; i < to; i++) {
    const { url } = links[i]
    const isHttps = url.charCodeAt(4) === 0x73 // 's'
    const path = url.slice((isHttps ? 8 : 7) + host.length)
    writeLink(out, links[i], isHttps, path, before, owner)
    before = path
  }
}

function writeLink(
  out: ByteWriter,
  link: Link,
  isHttps: boolean,
  path: string,
  before: string,
  owner: Key | undefined,
): void {
  const hasFrom = link.from !== undefined && link.from !== owner
  const hasChain = link.chain.length > 0
  out.u8(
    (isHttps ? LINK.https : 0) | (link.seed ? LINK.seed : 0) | (hasChain ? LINK.chain : 0) | (hasFrom ? LINK.from : 0),
  )
  out.u8(link.depth)
  const shared = sharedLength(before, path)
  out.varint(shared)
  out.latin1(shared === 0 ? path : path.slice(shared))
  if (hasFrom) out.rawLatin1(link.from as string)
  if (!hasChain) return
  out.u8(link.chain.length)
  for (const key of link.chain) out.rawLatin1(key)
}

function sharedLength(a: string, b: string): number {
  const max = Math.min(a.length, b.length)
  let i = 0
  while (i < max && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}

export function readDirectory(input: ByteReader): Directory {
  const owner = readKey(input)
  const groupCount = input.varint()
  const bulks: BulkEntry[] = []
  for (let g = 0; g < groupCount; g++) {
    const isPreferred = (input.u8() & GROUP_PREFERRED) !== 0
    const host = input.latin1()
    const bulkCount = input.varint()
    for (let i = 0; i < bulkCount; i++) {
      bulks.push({ host, isPreferred, offset: input.u32(), bytes: input.u32(), count: input.u16() })
    }
  }
  return { owner: owner === ZERO_KEY ? undefined : owner, bulks }
}

/** Reads `count` links at the reader's place. Cost: one md5 a link. */
export function readBulk(input: ByteReader, host: string, count: number, owner: Key | undefined): Link[] {
  const links: Link[] = []
  let before = ''
  for (let i = 0; i < count; i++) {
    const flags = input.u8()
    const depth = input.u8()
    const shared = input.varint()
    const path = before.slice(0, shared) + input.latin1()
    const url = `${flags & LINK.https ? 'https' : 'http'}://${host}${path}`
    const from = flags & LINK.from ? readKey(input) : owner
    const chain: Key[] = []
    if (flags & LINK.chain) for (let left = input.u8(); left > 0; left--) chain.push(readKey(input))
    links.push({ key: keyOf(url), url, depth, from, seed: (flags & LINK.seed) !== 0, chain })
    before = path
  }
  return links
}

/** Reads all bulks, which follow each other at the reader's place, and joins those of a host to groups again. */
export function readGroups(input: ByteReader, directory: Directory): LinkGroup[] {
  const groups: Array<{ host: string; hostKey: Key; isPreferred: boolean; links: Link[] }> = []
  for (const bulk of directory.bulks) {
    const links = readBulk(input, bulk.host, bulk.count, directory.owner)
    const last = groups.at(-1)
    const isSame = last !== undefined && last.host === bulk.host && last.isPreferred === bulk.isPreferred
    if (isSame && last.links.length % BULK_LINKS_MAX === 0) last.links.push(...links)
    else groups.push({ host: bulk.host, hostKey: keyOf(bulk.host), isPreferred: bulk.isPreferred, links })
  }
  return groups
}

export function readKey(input: ByteReader): Key {
  return input.rawLatin1(16) as Key
}
