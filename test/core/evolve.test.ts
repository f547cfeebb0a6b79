import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import { type CrawlEvent, NO_FINDINGS, ROBOTS, type RobotsEvent } from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { URL_STATE } from '../../src/core/state.ts'
import { claimed, delayed, fetched, given, groups, link, NOW_MS, opened, seeded, stored } from './given.ts'

const page = link('https://a.test/')
const other = link('https://a.test/x')
const before = [opened(), seeded(page, other), claimed(page)]
const timing = { connectMs: 0, firstByteMs: 0, totalMs: 0 }
const attempt = { link: page, attempts: 1, address: '', status: 503, timing, message: '' }

function digestOf(...events: readonly CrawlEvent[]): string {
  return given(...before, ...events).digest.toHex()
}

function retried(dueMs: number, attempts = 1): CrawlEvent {
  return { kind: KIND.retry, reason: REASONS['http.status'], dueMs, attempt: { ...attempt, attempts } }
}

function voided(isDeath: boolean): CrawlEvent {
  return { kind: KIND.void, isDeath, asking: [], groups: groups(page) }
}

function resolved(addresses: readonly string[], expiresMs: number): CrawlEvent {
  return { kind: KIND.resolved, host: 'a.test', addresses, expiresMs }
}

function robots(more: Partial<RobotsEvent> = {}): CrawlEvent {
  const verdict = { verdict: ROBOTS.rules, status: 200, expiresMs: NOW_MS, delayMs: 0, attempts: 1 }
  return { kind: KIND.robots, host: 'a.test', isHttps: true, body: new Uint8Array(0), ...verdict, ...more }
}

function badHost(untilMs: number): CrawlEvent {
  return { kind: KIND.badhost, host: 'a.test', reason: 1, untilMs, keys: [], isLast: false }
}

function found(...scopeKeys: readonly string[]): CrawlEvent {
  return { kind: KIND.seeded, source: 0, lines: 2, isLast: true, ...NO_FINDINGS, scopeKeys: scopeKeys.map(keyOf) }
}

/** Histories that differ in one field of one entry. */
const PAIRS: Readonly<Record<string, readonly [readonly CrawlEvent[], readonly CrawlEvent[]]>> = {
  'state of a URL': [[fetched(page)], [{ kind: KIND.failed, attempt, reason: 21, stored: undefined }]],
  'depth of a URL': [
    [fetched(page, { groups: groups(link('https://b.test/', 1)) })],
    [fetched(page, { groups: groups(link('https://b.test/', 2)) })],
  ],
  'whether its links are to be admitted again': [
    [fetched(page), fetched(other, { shorter: [{ key: page.key, depth: 0, relink: true }] })],
    [fetched(page), fetched(other, { shorter: [{ key: page.key, depth: 0, relink: false }] })],
  ].map(([first, second]) => [claimed(other), first, second]) as [CrawlEvent[], CrawlEvent[]],
  'due time of a waiting URL': [[retried(NOW_MS)], [retried(NOW_MS + 1)]],
  'attempts of a waiting URL': [[retried(NOW_MS)], [retried(NOW_MS, 2)]],
  'deaths of a waiting URL': [[voided(true)], [voided(false)]],
  'attempts of a URL in flight': [
    [retried(0), claimed(page)],
    [retried(0, 2), claimed(page)],
  ],
  'deaths of a URL in flight': [
    [voided(true), claimed(page)],
    [voided(false), claimed(page)],
  ],
  'pages of a host': [[fetched(page)], [fetched(page, { stored: undefined })]],
  'backoff level of a host': [[delayed('a.test', NOW_MS, 1)], [delayed('a.test', NOW_MS, 2)]],
  'until when a host is blocked': [[delayed('a.test', NOW_MS, 1)], [delayed('a.test', NOW_MS + 1, 1)]],
  'until when a host is bad': [[badHost(NOW_MS)], [badHost(NOW_MS + 1)]],
  'addresses of a host': [[resolved(['192.0.2.1'], NOW_MS)], [resolved(['192.0.2.2'], NOW_MS)]],
  'expiry of addresses': [[resolved(['192.0.2.1'], NOW_MS)], [resolved(['192.0.2.1'], NOW_MS + 1)]],
  'verdict of robots.txt': [[robots()], [robots({ verdict: ROBOTS.allowed })]],
  'scheme of robots.txt': [[robots()], [robots({ isHttps: false })]],
  'expiry of robots.txt': [[robots()], [robots({ expiresMs: NOW_MS + 1 })]],
  'Crawl-delay': [[robots()], [robots({ delayMs: 1 })]],
  'attempts of robots.txt': [[robots({ verdict: ROBOTS.held })], [robots({ verdict: ROBOTS.held, attempts: 2 })]],
  'that somebody answered': [[robots()], [robots({ status: 0 })]],
  content: [[fetched(page)], [fetched(page, { stored: stored(keyOf('other')) })]],
  'scope key': [[found('host:b.test')], [found('host:c.test')]],
  settings: [
    [{ kind: KIND.control, act: 'resume', settings: '{"delayMs":1}' }],
    [{ kind: KIND.control, act: 'resume', settings: '{"delayMs":2}' }],
  ],
  'cursor of the seeds': [[found()], [{ ...found(), lines: 3 } as CrawlEvent]],
  'end of the seeds': [[found()], [{ ...found(), isLast: false } as CrawlEvent]],
}

for (const [field, [some, others]] of Object.entries(PAIRS)) {
  test(`the digest tells a difference in one field: ${field}`, () => {
    assert.notEqual(digestOf(...some), digestOf(...others))
    assert.equal(digestOf(...some), digestOf(...some))
  })
}

test('the digest does not depend on the order of what concerns different hosts', () => {
  const elsewhere = link('https://b.test/')
  const events = [fetched(page), delayed('b.test', NOW_MS, 1), claimed(elsewhere), resolved(['192.0.2.1'], 5)]
  const more = [opened(), seeded(page, elsewhere), claimed(page)]
  const [a, b, c, d] = events
  assert.equal(given(...more, a, b, c, d).digest.toHex(), given(...more, c, b, d, a).digest.toHex())
})

test('a URL that came back is one of the pending again, and keeps its attempts when it is claimed', () => {
  const state = given(...before, retried(NOW_MS, 2))
  assert.equal(state.counts[URL_STATE.pending], 2)
  assert.equal(state.processing.count, 0)
  const { processing } = given(...before, retried(NOW_MS, 2), claimed(page))
  assert.equal(processing.word(processing.findKey(page.key), 0) & 0xff, 2)
})

test('a death counts for the URLs that were in flight, an end that wrote `close` does not', () => {
  const deathsAfter = (isDeath: boolean): number => {
    const { waiting } = given(...before, voided(isDeath))
    let deaths = -1
    waiting.forEach((slot) => {
      deaths = waiting.deaths(slot)
    })
    return deaths
  }
  assert.equal(deathsAfter(true), 1)
  assert.equal(deathsAfter(false), 0)
})

test('an outcome of a URL that was not claimed is a contradiction, and refused', () => {
  assert.throws(() => given(opened(), seeded(page), fetched(page)), { code: 'LOG_CORRUPT' })
  assert.throws(() => given(opened(), claimed(page)), { code: 'LOG_CORRUPT' })
  assert.throws(() => given(...before, fetched(page), fetched(page)), { code: 'LOG_CORRUPT' })
})
