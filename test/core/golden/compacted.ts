/** What a compaction writes, fixed for ever: the kinds 34 and 35, and outcomes and bulks with the flag COMPACTED. */
import { type Key, keyOf } from '../../../src/base/md5.ts'
import type { Attempt, CrawlEvent, Link } from '../../../src/core/event.ts'
import { KIND } from '../../../src/core/kind.ts'

const from = keyOf('http://a.test/')

function link(url: string, more: Partial<Link> = {}): Link {
  return { key: keyOf(url), url, depth: 1, from, seed: false, chain: [], ...more }
}

const attempt: Attempt = {
  link: link('http://a.test/page', { depth: 3, chain: [keyOf('http://a.test/old')] }),
  attempts: 1,
  address: '192.0.2.7',
  status: 200,
  timing: { connectMs: 3, firstByteMs: 14, totalMs: 159 },
  message: '',
}

const ofA = { host: 'a.test', hostKey: keyOf('a.test'), isPreferred: false } as const
const plain = { what: 0, attempts: 0, deaths: 0, status: 0, reason: 0, dueMs: 0 } as const

export const COMPACTED_EVENTS: readonly CrawlEvent[] = [
  {
    kind: KIND.hosts,
    hosts: [
      { host: 'a.test', hasAnswered: true },
      { host: 'b.test:8080', hasAnswered: false },
    ],
  },
  {
    kind: KIND.linked,
    standings: [
      plain,
      { what: 1, attempts: 2, deaths: 3, status: 503, reason: 21, dueMs: 1_700_000_000_123 },
      { ...plain, what: 2 },
    ],
    groups: [
      { ...ofA, links: [link('http://a.test/in-flight'), link('https://a.test/waits', { depth: 2 })] },
      {
        host: 'c.test',
        hostKey: keyOf('c.test'),
        isPreferred: false,
        links: [link('http://c.test/bad', { from: undefined, seed: true, depth: 0 })],
      },
    ],
  },
  {
    kind: KIND.fetched,
    isCompacted: true,
    attempt,
    stored: {
      page: { segment: 1, ordinal: 41 },
      bodyBytes: 1234,
      decodedBytes: 5678,
      content: 'fedcba9876543210' as Key,
      contentType: 'text/html',
      isTruncated: false,
    },
    location: '',
    groups: [],
    known: [from.slice(0, 8) as Key, keyOf('http://b.test:8080/x').slice(0, 8) as Key],
    shorter: [],
    turnedAway: [[80, 7]],
    turnedAwayUrls: [],
    scopeKeys: [],
  },
  {
    kind: KIND.failed,
    isCompacted: true,
    attempt: { ...attempt, status: 404 },
    reason: 21,
    stored: undefined,
  },
  {
    kind: KIND.refused,
    isCompacted: true,
    reason: 64,
    groups: [{ ...ofA, links: [link('http://a.test/private'), link('http://a.test/private/2', { depth: 4 })] }],
  },
  {
    kind: KIND.bulk,
    isCompacted: true,
    replaced: 0,
    group: { ...ofA, isPreferred: true, links: [link('http://a.test/x'), link('http://a.test/xy', { depth: 3 })] },
  },
  { kind: KIND.bulk, isCompacted: true, replaced: 0, group: { ...ofA, links: [] } },
]
