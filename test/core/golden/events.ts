/** One event of each kind, fixed for ever: what the golden file of version 1 was made of. */
import { type Key, keyOf } from '../../../src/base/md5.ts'
import type { Attempt, CrawlEvent, Link, Stored } from '../../../src/core/event.ts'
import { KIND } from '../../../src/core/kind.ts'

const from = keyOf('http://a.test/')

function link(url: string, more: Partial<Link> = {}): Link {
  return { key: keyOf(url), url, depth: 1, from, seed: false, chain: [], ...more }
}

const attempt: Attempt = {
  link: link('http://a.test/page', { chain: [keyOf('http://a.test/old')] }),
  attempts: 2,
  address: '192.0.2.7',
  status: 200,
  timing: { connectMs: 3, firstByteMs: 14, totalMs: 159 },
  message: '',
}

const stored: Stored = {
  page: { segment: 1, ordinal: 41 },
  bodyBytes: 1234,
  decodedBytes: 5678,
  content: 'fedcba9876543210' as Key,
  contentType: 'text/html',
  isTruncated: false,
}

const own = attempt.link.key
const many = Array.from({ length: 130 }, (_, i) => link(`https://b.test/list/${i}`, { from: own, depth: 2 }))

export const GOLDEN_EVENTS: readonly CrawlEvent[] = [
  {
    kind: KIND.open,
    crawlId: '00112233445566778899aabbccddeeff',
    pid: 4711,
    version: '0.1.0',
    shard: 0,
    shardCount: 1,
    settings: '{"scope":"host"}',
  },
  { kind: KIND.close, reason: 'finished' },
  {
    kind: KIND.seeded,
    source: 0,
    lines: 3,
    isLast: true,
    groups: [
      {
        host: 'a.test',
        hostKey: keyOf('a.test'),
        isPreferred: false,
        links: [link('http://a.test/', { depth: 0, from: undefined, seed: true })],
      },
    ],
    known: [],
    shorter: [],
    turnedAway: [[84, 1]],
    turnedAwayUrls: [[84, 'http://a.test/no']],
    scopeKeys: [keyOf('host:a.test')],
  },
  {
    kind: KIND.bulk,
    replaced: 2,
    group: {
      host: 'a.test:8080',
      hostKey: keyOf('a.test:8080'),
      isPreferred: true,
      links: [link('http://a.test:8080/x'), link('https://a.test:8080/xy?q=1', { depth: 3 })],
    },
  },
  {
    kind: KIND.claim,
    groups: [{ hostKey: keyOf('a.test'), asksHttp: true, asksHttps: false, drained: [0, 0x80], keys: [own] }],
  },
  {
    kind: KIND.void,
    isDeath: true,
    asking: [keyOf('c.test')],
    groups: [{ host: 'a.test', hostKey: keyOf('a.test'), isPreferred: false, links: [attempt.link] }],
  },
  {
    kind: KIND.fetched,
    attempt,
    stored,
    location: '',
    groups: [
      { host: 'b.test', hostKey: keyOf('b.test'), isPreferred: false, links: many },
      {
        host: 'a.test',
        hostKey: keyOf('a.test'),
        isPreferred: false,
        links: [link('http://a.test/new', { from: own, depth: 2 })],
      },
    ],
    known: [from.slice(0, 8) as Key],
    shorter: [{ key: keyOf('http://a.test/near'), depth: 2, relink: true }],
    turnedAway: [[80, 7]],
    turnedAwayUrls: [],
    scopeKeys: [],
  },
  { kind: KIND.retry, attempt: { ...attempt, status: 503 }, reason: 21, dueMs: 1_700_000_000_123 },
  {
    kind: KIND.failed,
    attempt: { ...attempt, status: 0, address: '', message: 'connection refused' },
    reason: 3,
    stored: undefined,
  },
  {
    kind: KIND.refused,
    reason: 64,
    groups: [{ host: 'a.test', hostKey: keyOf('a.test'), isPreferred: false, links: [link('http://a.test/private')] }],
  },
  {
    kind: KIND.reopened,
    groups: [{ host: 'a.test', hostKey: keyOf('a.test'), isPreferred: false, links: [link('http://a.test/again')] }],
  },
  { kind: KIND.resolved, host: 'a.test', addresses: ['192.0.2.7', '2001:db8::7'], expiresMs: 1_700_000_060_000 },
  {
    kind: KIND.badhost,
    host: 'c.test',
    reason: 1,
    untilMs: 1_700_086_400_000,
    isLast: true,
    keys: [keyOf('http://c.test/')],
  },
  {
    kind: KIND.robots,
    host: 'a.test',
    isHttps: false,
    verdict: 2,
    status: 200,
    expiresMs: 1_700_086_400_000,
    delayMs: 2000,
    attempts: 1,
    body: Buffer.from('User-agent: *\nDisallow: /private\n'),
  },
  { kind: KIND.delay, host: 'a.test', reason: 21, untilMs: 1_700_000_120_000, level: 1 },
  { kind: KIND.control, act: 'resume', settings: '{"scope":"domain"}' },
  {
    kind: KIND.relinked,
    link: { key: own, url: 'http://a.test/page', depth: 1, from: undefined, seed: false, chain: [] },
    groups: [],
    known: [],
    shorter: [],
    turnedAway: [],
    turnedAwayUrls: [],
    scopeKeys: [],
  },
  { kind: KIND.forked, crawlId: '0102030405060708090a0b0c0d0e0f10', sequence: 812, timeMs: 1_700_000_000_500 },
]
