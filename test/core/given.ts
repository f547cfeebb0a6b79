/** Given, when, then for `decide` and `evolve`: a state made of events, and short ways to write events down. */
import { type Key, keyOf } from '../../src/base/md5.ts'
import { type CrawlEvent, type Link, type LinkGroup, NO_FINDINGS, type Stored } from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import type { Answer, PageObservation, Trouble } from '../../src/core/observation.ts'
import { resolveSettings, type Settings } from '../../src/core/settings.ts'
import { createState, type State } from '../../src/core/state.ts'
import { hostOf } from '../../src/core/url.ts'
import { applyStep } from '../shard/history.ts'

export const NOW_MS = 1_800_000_000_000
const TIMING = { connectMs: 10, firstByteMs: 20, totalMs: 200 }

/** A state after these events; each is a record of its own. */
export function given(...events: readonly CrawlEvent[]): State {
  const state = createState()
  events.forEach((event, i) => {
    applyStep(state, { segment: 1, position: 96 + i * 1000, event })
  })
  return state
}

export function opened(settings: Readonly<Partial<Settings>> = {}): CrawlEvent {
  const json = JSON.stringify(resolveSettings({ scope: 'any', delayMs: 0, ...settings }))
  return { kind: KIND.open, crawlId: '00', pid: 1, version: 'test', shard: 0, shardCount: 1, settings: json }
}

export function link(url: string, depth = 0, more: Partial<Link> = {}): Link {
  return { key: keyOf(url), url, depth, from: undefined, seed: depth === 0, chain: [], ...more }
}

/** One group per host, in order of first mention. */
export function groups(...links: readonly Link[]): LinkGroup[] {
  const byHost = Map.groupBy(links, ({ url }) => hostOf(url))
  return [...byHost].map(([host, of]) => ({ host, hostKey: keyOf(host), isPreferred: false, links: of }))
}

export function seeded(...links: readonly Link[]): CrawlEvent {
  return { kind: KIND.seeded, source: 0, lines: links.length, isLast: true, ...NO_FINDINGS, groups: groups(...links) }
}

export function claimed(...links: readonly Link[]): CrawlEvent {
  return {
    kind: KIND.claim,
    groups: groups(...links).map(({ hostKey, links: of }) => ({
      ...{ hostKey, drained: [], keys: of.map(({ key }) => key), asksHttp: false, asksHttps: false },
    })),
  }
}

export function stored(content: Key): Stored {
  const page = { segment: 1, ordinal: 0 }
  return { page, bodyBytes: 5, decodedBytes: 5, content, contentType: 'text/html', isTruncated: false }
}

export function fetched(
  page: Link,
  more: Partial<Extract<CrawlEvent, { kind: typeof KIND.fetched }>> = {},
): CrawlEvent {
  const attempt = { link: page, attempts: 1, address: '', status: 200, timing: TIMING, message: '' }
  return { kind: KIND.fetched, attempt, stored: stored(keyOf(page.url)), location: '', ...NO_FINDINGS, ...more }
}

export function delayed(host: string, untilMs: number, level: number): CrawlEvent {
  return { kind: KIND.delay, host, reason: 0, untilMs, level }
}

/** An answer to the claim of a URL. */
export function answered(page: Link, status: number, more: Partial<Answer> = {}, attempts = 0): PageObservation {
  const result: Answer = {
    ...{ kind: 'answer', status, location: undefined, retryAfterMs: undefined, links: [], turnedAway: [] },
    ...{ stored: stored(keyOf(page.url)), ...more },
  }
  return { kind: 'page', link: page, attempts, address: '192.0.2.1', timing: TIMING, result }
}

export function troubled(page: Link, kind: Trouble['class'], isConnected: boolean, attempts = 0): PageObservation {
  const result: Trouble = { kind: 'trouble', class: kind, message: kind, isConnected }
  return { kind: 'page', link: page, attempts, address: '192.0.2.1', timing: TIMING, result }
}
