import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteReader, ByteWriter } from '../../src/base/bytes.ts'
import { type Key, keyOf } from '../../src/base/md5.ts'
import { decodeEvent } from '../../src/core/decode.ts'
import { encodeEvent } from '../../src/core/encode.ts'
import { readBulk, readDirectory } from '../../src/core/encode-links.ts'
import { BULK_LINKS_MAX, type CrawlEvent, type LinkGroup, type Standing } from '../../src/core/event.ts'
import { COMPACTED, KIND } from '../../src/core/kind.ts'

const BODY_AT = 20

/** `fc.record`, whose objects have a prototype as all others do. */
function plain<T>(model: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

const key = fc.string().map(keyOf)
const shortKey = key.map((of) => of.slice(0, 8) as Key)
const u8 = fc.integer({ min: 0, max: 255 })
const u16 = fc.integer({ min: 0, max: 0xffff })
const u32 = fc.integer({ min: 0, max: 0xffffffff })
const ms = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const text = fc.string({ unit: 'binary', maxLength: 40 }).map((of) => of.toWellFormed())
const latin1 = fc.string({ unit: 'grapheme-ascii', maxLength: 40 })
const host = fc.constantFrom('a.test', 'b.test:8080', 'xn--bcher-kva.test', '[2001:db8::1]')
const path = fc
  .array(fc.constantFrom('x', 'page', 'longer-name', '%C3%A9', '1'), { maxLength: 5 })
  .map((of) => `/${of.join('/')}`)
const scheme = fc.constantFrom('http', 'https')

function linkAt(name: string) {
  return fc
    .record({
      ...{ scheme, path, depth: u8, seed: fc.boolean() },
      ...{ from: fc.option(key, { nil: undefined }), chain: fc.array(key, { maxLength: 3 }) },
    })
    .map(({ scheme, path, ...rest }) => {
      const url = `${scheme}://${name}${path}`
      return { key: keyOf(url), url, ...rest }
    })
}

const link = host.chain(linkAt)
const groupOf = (links: { readonly minLength: number; readonly maxLength: number }): fc.Arbitrary<LinkGroup> =>
  host.chain((name) =>
    plain({
      ...{ host: fc.constant(name), hostKey: fc.constant(keyOf(name)), isPreferred: fc.boolean() },
      links: fc.array(linkAt(name), links),
    }),
  )
const group = groupOf({ minLength: 1, maxLength: 5 })
/** Groups of one host follow each other only where a preferred one comes first, as `decide` makes them. */
const groups = fc.uniqueArray(group, { maxLength: 4, selector: ({ host }) => host })
const findings = {
  groups,
  known: fc.array(shortKey, { maxLength: 4 }),
  shorter: fc.array(plain({ key, depth: u8, relink: fc.boolean() }), { maxLength: 3 }),
  turnedAway: fc.array(fc.tuple(u8, u32), { maxLength: 3 }),
  turnedAwayUrls: fc.array(fc.tuple(u8, text), { maxLength: 3 }),
  scopeKeys: fc.array(key, { maxLength: 3 }),
}
const attempt = plain({
  ...{ link, attempts: u8, address: latin1, status: u16, message: text },
  timing: plain({ connectMs: u16, firstByteMs: u16, totalMs: u32 }),
})
const stored = fc.option(
  plain({
    ...{ page: plain({ segment: u16, ordinal: u32 }), bodyBytes: u32, decodedBytes: u32, content: key },
    ...{ contentType: latin1, isTruncated: fc.boolean() },
  }),
  { nil: undefined },
)
const claims = plain({
  ...{ hostKey: key, drained: fc.array(u8, { maxLength: 3 }), keys: fc.array(key, { maxLength: 4 }) },
  ...{ asksHttp: fc.boolean(), asksHttps: fc.boolean() },
})
const of = <K extends number>(kind: K): fc.Arbitrary<K> => fc.constant(kind)

const event: fc.Arbitrary<CrawlEvent> = fc.oneof(
  plain({
    ...{ kind: of(KIND.open), crawlId: latin1, pid: u32, version: text, shard: u32, shardCount: u32, settings: text },
  }),
  plain({ kind: of(KIND.close), reason: text }),
  plain({ kind: of(KIND.seeded), source: u32, lines: ms, isLast: fc.boolean(), ...findings }),
  plain({ kind: of(KIND.bulk), replaced: u8, group }),
  plain({ kind: of(KIND.claim), groups: fc.array(claims, { maxLength: 3 }) }),
  plain({ kind: of(KIND.void), isDeath: fc.boolean(), groups, asking: fc.array(key, { maxLength: 3 }) }),
  plain({ kind: of(KIND.failed), attempt, reason: u8, stored }),
  plain({ kind: of(KIND.retry), attempt, reason: u8, dueMs: ms }),
  plain({ kind: of(KIND.refused), reason: u8, groups }),
  plain({ kind: of(KIND.reopened), groups }),
  plain({ kind: of(KIND.resolved), host, addresses: fc.array(latin1, { maxLength: 3 }), expiresMs: ms }),
  plain({
    ...{ kind: of(KIND.badhost), host, reason: u8, untilMs: ms, isLast: fc.boolean() },
    keys: fc.array(key, { maxLength: 5 }),
  }),
  plain({
    ...{ kind: of(KIND.robots), host, isHttps: fc.boolean(), verdict: u8, status: u16, expiresMs: ms, delayMs: u32 },
    ...{ attempts: u8, body: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
  }),
  plain({ kind: of(KIND.delay), host, reason: u8, untilMs: ms, level: u8 }),
  plain({ kind: of(KIND.control), act: text, settings: text }),
  plain({ kind: of(KIND.hosts), hosts: fc.array(plain({ host, hasAnswered: fc.boolean() }), { maxLength: 4 }) }),
  groups.chain((groups) =>
    plain({ kind: of(KIND.linked), groups: fc.constant(groups), standings: standingsOf(groups) }),
  ),
)

/** One standing for each link. */
function standingsOf(groups: readonly LinkGroup[]): fc.Arbitrary<Standing[]> {
  const length = groups.reduce((sum, { links }) => sum + links.length, 0)
  const standing = plain({ what: u8, attempts: u8, deaths: u8, status: u16, reason: u8, dueMs: ms })
  return fc.array(standing, { minLength: length, maxLength: length })
}

/** The record of an event, beginning at `start` of a writer. */
function encode(event: CrawlEvent, start = 0): Uint8Array {
  const out = new ByteWriter()
  out.reserve(start + BODY_AT)
  out.at = start + BODY_AT
  encodeEvent(out, start, event)
  return out.written().subarray(start)
}

test('an event of any kind is read back as it was written, wherever its record begins', () => {
  fc.assert(
    fc.property(event, fc.nat({ max: 1000 }), (event, start) => {
      const input = new ByteReader(encode(event, start), BODY_AT)
      assert.deepEqual(decodeEvent(input, event.kind), event)
      assert.equal(input.remaining, 0)
    }),
    { numRuns: 2000 },
  )
})

test('a page is read back with its links, those found on it naming it as where they are from', () => {
  const fetched = plain({ kind: of(KIND.fetched), attempt, stored, location: latin1, ...findings })
  fc.assert(
    fc.property(fetched, (event) => {
      const own = event.attempt.link.key
      const withFrom = (of: LinkGroup): LinkGroup => ({
        ...of,
        links: of.links.map((one) => ({ ...one, from: one.from ?? own })),
      })
      const written = { ...event, groups: event.groups.map(withFrom) }
      assert.deepEqual(decodeEvent(new ByteReader(encode(written), BODY_AT), KIND.fetched), written)
    }),
  )
})

test('a compacted bulk is read back as it was written, also an empty one, and names a page that all links share once', () => {
  const links = fc.oneof(groupOf({ minLength: 0, maxLength: 5 }), group.map(fromOnePage))
  fc.assert(
    fc.property(links, (group) => {
      const written = { kind: KIND.bulk, isCompacted: true, replaced: 0, group } as const
      const bytes = encode(written)
      assert.deepEqual(decodeEvent(new ByteReader(bytes, BODY_AT), KIND.bulk, COMPACTED), written)
      const { bulks } = readDirectory(new ByteReader(bytes, BODY_AT))
      assert.deepEqual(
        bulks.map(({ count }) => count),
        [group.links.length],
      )
    }),
  )
})

function fromOnePage(group: LinkGroup): LinkGroup {
  return { ...group, links: group.links.map((link) => ({ ...link, from: keyOf('http://a.test/') })) }
}

test('each bulk of a record is read alone by its place in the directory', () => {
  const many = fc.uniqueArray(groupOf({ minLength: 1, maxLength: 3 * BULK_LINKS_MAX }), {
    ...{ minLength: 1, maxLength: 3, selector: ({ host }) => host },
  })
  fc.assert(
    fc.property(many, (groups) => {
      const bytes = encode({ kind: KIND.reopened, groups })
      const { bulks, owner } = readDirectory(new ByteReader(bytes, BODY_AT))
      const read = bulks.map(({ host, offset, count, bytes: length }) =>
        readBulk(new ByteReader(bytes.subarray(offset, offset + length)), host, count, owner),
      )
      assert.ok(read.every(({ length }) => length <= BULK_LINKS_MAX))
      assert.deepEqual(
        read.flat(),
        groups.flatMap(({ links }) => links),
      )
    }),
    { numRuns: 50 },
  )
})

test('bytes that are no event are refused, and nothing else happens', () => {
  fc.assert(
    fc.property(event, fc.nat(), u8, (event, at, value) => {
      const bytes = Buffer.from(encode(event))
      bytes[BODY_AT + (at % Math.max(1, bytes.length - BODY_AT))] = value
      try {
        decodeEvent(new ByteReader(bytes, BODY_AT), event.kind)
      } catch (error) {
        assert.equal((error as Error).constructor.name, 'MalformedValue')
      }
    }),
    { numRuns: 2000 },
  )
})
