import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import { decide } from '../../src/core/decide.ts'
import { type CrawlEvent, ROBOTS } from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import type { FoundLink, LookupObservation, Observation, RobotsObservation } from '../../src/core/observation.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { BACKOFF_FIRST_MS } from '../../src/core/retry.ts'
import type { State } from '../../src/core/state.ts'
import { answered, claimed, delayed, fetched, given, link, NOW_MS, opened, seeded, troubled } from './given.ts'

const page = link('https://a.test/')
const inFlight = (...more: readonly CrawlEvent[]): State => given(opened(), seeded(page), claimed(page), ...more)
const when = (state: State, observation: Observation): CrawlEvent[] => decide(state, observation, NOW_MS)
const kindsOf = (events: readonly CrawlEvent[]): number[] => events.map(({ kind }) => kind)
const found = (...urls: readonly string[]): FoundLink[] => urls.map((url) => ({ url, nofollow: false }))

function linksOf(event: CrawlEvent): string[] {
  return 'groups' in event && event.kind !== KIND.claim
    ? event.groups.flatMap(({ links }) => links.map(({ url, depth }) => `${url} ${depth}`))
    : []
}

function lookedUp(kind: 'dns.temporary' | 'dns.notfound'): LookupObservation {
  const result = { kind: 'trouble', class: kind, message: '' } as const
  return { kind: 'lookup', host: 'a.test', hostKey: keyOf('a.test'), result }
}

function robotsAnswer(status: number, body = '', isHttps = true, attempts = 0): RobotsObservation {
  const result = { kind: 'answer', status, body: Buffer.from(body), retryAfterMs: undefined } as const
  return { kind: 'robots', host: 'a.test', hostKey: keyOf('a.test'), isHttps, attempts, result }
}

test('a page and the links it admits are one record', () => {
  const events = when(inFlight(), answered(page, 200, { links: found('https://a.test/x', 'https://b.test/y') }))
  assert.deepEqual(kindsOf(events), [KIND.fetched])
  assert.deepEqual(linksOf(events[0]), ['https://a.test/x 1', 'https://b.test/y 1'])
})

test('a link to a known URL is listed, not admitted again', () => {
  const state = given(opened(), seeded(page, link('https://a.test/x')), claimed(page))
  const [event] = when(state, answered(page, 200, { links: found('https://a.test/x') }))
  assert.deepEqual(linksOf(event), [])
  assert.ok(event.kind === KIND.fetched)
  assert.deepEqual(event.known, [keyOf('https://a.test/x')])
})

test('a link beyond the depth limit is turned away, and counted', () => {
  const state = given(opened({ depthMax: 0 }), seeded(page), claimed(page))
  const [event] = when(state, answered(page, 200, { links: found('https://a.test/x') }))
  assert.ok(event.kind === KIND.fetched)
  assert.deepEqual(event.turnedAway, [[REASONS.depth, 1]])
  assert.deepEqual(event.groups, [])
})

test('a shorter way to a stored page has its links admitted again where there is a depth limit', () => {
  const far = link('https://a.test/far', 3)
  const state = given(opened({ depthMax: 4 }), seeded(page, far), claimed(far), fetched(far), claimed(page))
  const [event] = when(state, answered(page, 200, { links: found(far.url) }))
  assert.ok(event.kind === KIND.fetched)
  assert.deepEqual(event.shorter, [{ key: far.key, depth: 1, relink: true }])
})

test('a redirect adds no depth, also where a shorter way to it is found later', () => {
  const target = 'https://b.test/'
  const [first] = when(inFlight(), answered(page, 301, { location: target }))
  const [again] = when(inFlight(), { kind: 'relink', link: { ...page, seed: false }, links: [], location: target })
  assert.deepEqual(linksOf(first), ['https://b.test/ 0'])
  assert.deepEqual(linksOf(again), ['https://b.test/ 0'])
})

test('what a seed redirects to is a seed, and opens its scope', () => {
  const state = given(opened({ scope: 'host' }), seeded(page), claimed(page))
  const [event] = when(state, answered(page, 301, { location: 'https://b.test/' }))
  assert.ok(event.kind === KIND.fetched)
  assert.equal(event.groups[0].links[0].seed, true)
  assert.ok(event.scopeKeys.includes(keyOf('host:b.test')))
})

test('a chain of redirects that meets itself is a loop', () => {
  const second = link('https://a.test/b', 0, { chain: [page.key] })
  const state = given(opened(), seeded(page, second), claimed(second))
  const [event] = when(state, answered(second, 302, { location: page.url }))
  assert.ok(event.kind === KIND.failed)
  assert.equal(event.reason, REASONS['redirect.loop'])
})

test('a failure that may pass is retried, each time later, until the attempts are used up', () => {
  const outcomes = [0, 1, 2, 3].map((attempts) => when(inFlight(), troubled(page, 'timeout', true, attempts))[0])
  assert.deepEqual(kindsOf(outcomes), [KIND.retry, KIND.retry, KIND.retry, KIND.failed])
  const dues = outcomes.flatMap((event) => (event.kind === KIND.retry ? event.dueMs - NOW_MS : []))
  assert.deepEqual(dues, [BACKOFF_FIRST_MS, 2 * BACKOFF_FIRST_MS, 4 * BACKOFF_FIRST_MS])
})

test('a page that is not there is final at once, and nothing to its host', () => {
  assert.deepEqual(kindsOf(when(inFlight(), answered(page, 404))), [KIND.failed])
})

test('Retry-After delays the host by what it asked for, at most by the longest pause', () => {
  for (const [askedMs, untilMs] of [
    [20_000, NOW_MS + 20_000],
    [900_000, NOW_MS + 300_000],
  ]) {
    const [, event] = when(inFlight(), answered(page, 429, { retryAfterMs: askedMs }))
    assert.ok(event.kind === KIND.delay)
    assert.equal(event.untilMs, untilMs)
  }
})

test('a good answer takes one level of backoff back, but no pause that another answer asked for', () => {
  const events = when(inFlight(delayed('a.test', NOW_MS + 60_000, 2)), answered(page, 200))
  assert.deepEqual(events[1], delayed('a.test', NOW_MS + 60_000, 1))
})

test('the pause that delayFactor asks for is recorded, so that a restart keeps it', () => {
  const state = given(opened({ delayFactor: 10 }), seeded(page), claimed(page))
  assert.deepEqual(when(state, answered(page, 200))[1], delayed('a.test', NOW_MS + 2000, 0))
})

test('a host that never answered and refuses again and again is bad', () => {
  const kinds = [0, 1, 2, 3].map((level) =>
    kindsOf(when(inFlight(delayed('a.test', 0, level)), troubled(page, 'connect.refused', false, 0))),
  )
  assert.deepEqual(
    kinds.map((of) => of[1]),
    [KIND.delay, KIND.delay, KIND.delay, KIND.badhost],
  )
})

test('a name that does not exist makes its host bad at once', () => {
  assert.deepEqual(kindsOf(when(inFlight(), lookedUp('dns.notfound'))), [KIND.badhost])
})

test('a name server that does not answer makes a host bad in the end, but not one that has answered before', () => {
  const levels = delayed('a.test', 0, 3)
  assert.deepEqual(kindsOf(when(inFlight(levels), lookedUp('dns.temporary'))), [KIND.badhost])
  assert.deepEqual(kindsOf(when(inFlight(fetched(page), levels), lookedUp('dns.temporary'))), [KIND.delay])
})

test('robots.txt: rules for 2xx, all allowed for 4xx, held and asked again for 429 and 5xx, then unreachable', () => {
  const verdictOf = (observation: RobotsObservation): number => {
    const [event] = when(inFlight(), observation)
    return event.kind === KIND.robots ? event.verdict : -1
  }
  assert.equal(verdictOf(robotsAnswer(200, 'User-agent: *\nDisallow: /')), ROBOTS.rules)
  assert.equal(verdictOf(robotsAnswer(404)), ROBOTS.allowed)
  assert.equal(verdictOf(robotsAnswer(429)), ROBOTS.held)
  assert.equal(verdictOf(robotsAnswer(503)), ROBOTS.held)
  assert.equal(verdictOf(robotsAnswer(503, '', true, 3)), ROBOTS.unreachable)
})

test('a Crawl-delay that one origin of a host asks for outlives the answers of the other', () => {
  const [asked] = when(inFlight(), robotsAnswer(200, 'User-agent: *\nCrawl-delay: 3', false))
  const state = inFlight(asked)
  for (const observation of [robotsAnswer(503), robotsAnswer(404), robotsAnswer(200, '')]) {
    const [event] = when(state, observation)
    assert.ok(event.kind === KIND.robots)
    assert.equal(event.delayMs, 3000)
  }
})
