/**
 * A crawl of a few scripted pages in virtual time, for tests of single rules: `crawl({ pages, seeds, settings })` runs one
 * shard to its end on a simulated disk and gives back all there is to look at.
 */
import { decodeContent } from '../../src/adapters/content.ts'
import { keyOf } from '../../src/base/md5.ts'
import type { CrawlEvent } from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import { resolveSettings, type Settings } from '../../src/core/settings.ts'
import { stateOf, URL_STATE_NAMES, URL_WORD } from '../../src/core/state.ts'
import type { Env } from '../../src/env/env.ts'
import type { Resolution } from '../../src/env/resolver.ts'
import type { FetchRequest } from '../../src/env/web.ts'
import { eventOf } from '../../src/shard/link-source.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { isFinished } from '../../src/shard/shard.ts'
import { type Shard, wake } from '../../src/shard/shard-parts.ts'
import { closeShard } from '../../src/shard/stopping.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { VirtualTime } from '../sim/scheduler.ts'

export interface ScriptedPage {
  readonly status?: number
  readonly headers?: ReadonlyArray<readonly [string, string]>
  readonly body?: string | Uint8Array
}

export interface SmallCrawl {
  /** URLs to pages; a function answers by the number of times it was asked. What is missing is 404. */
  readonly pages: Readonly<Record<string, ScriptedPage | ((times: number) => ScriptedPage)>>
  readonly seeds: readonly string[]
  readonly settings?: Partial<Settings>
  /** Addresses by host name; default a public one for all. */
  readonly addresses?: Readonly<Record<string, readonly string[]>>
  /** Virtual milliseconds after which the crawl is closed although it goes on. */
  readonly untilMs?: number
  /** Goes on with this crawl, in another process. */
  readonly after?: Pick<Crawled, 'disk' | 'agenda' | 'times'>
  /** The process dies at `untilMs` instead of stopping. */
  readonly dies?: boolean
  readonly segmentBytesMax?: number
  readonly onTurn?: (shard: Shard) => void
  readonly onRequest?: (request: FetchRequest, disk: SimulatedDisk) => void
}

export interface Crawled {
  readonly shard: Shard
  readonly disk: SimulatedDisk
  readonly agenda: VirtualTime
  /** How often each URL was asked for. */
  readonly times: Map<string, number>
  /** Requests in order, with virtual time. */
  readonly requests: ReadonlyArray<{ readonly url: string; readonly address: string; readonly atMs: number }>
  readonly events: readonly CrawlEvent[]
  /** State by URL, '' where it is unknown. */
  readonly stateOf: (url: string) => string
}

const START_MS = 1_700_000_000_000

export function crawl(given: SmallCrawl): Crawled {
  const agenda = given.after?.agenda ?? new VirtualTime()
  const disk = given.after?.disk ?? new SimulatedDisk((run) => agenda.after(1, run))
  const requests: Array<{ url: string; address: string; atMs: number }> = []
  const times = given.after?.times ?? new Map<string, number>()
  const startMs = agenda.nowMs
  let seed = 1
  const env: Env = {
    clock: {
      wallMs: () => START_MS + agenda.nowMs,
      monotonicMs: () => agenda.nowMs,
      after: (ms, run) => agenda.after(ms, run),
    },
    random: { uint32: () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) },
    disk,
    web: {
      fetch: (request, done) => {
        given.onRequest?.(request, disk)
        requests.push({ url: request.url, address: request.address, atMs: agenda.nowMs })
        const count = (times.get(request.url) ?? 0) + 1
        times.set(request.url, count)
        const scripted = given.pages[request.url] ?? { status: 404 }
        const page = typeof scripted === 'function' ? scripted(count) : scripted
        const body = typeof page.body === 'string' ? Buffer.from(page.body) : (page.body ?? new Uint8Array(0))
        const headers = page.headers ?? [['content-type', 'text/html'] as const]
        const timing = { connectMs: 1, firstByteMs: 5, totalMs: 10 }
        agenda.after(10, () =>
          done({ kind: 'answer', status: page.status ?? 200, headers, body, truncated: false, timing }),
        )
      },
      stop: () => {},
    },
    resolver: {
      resolve: (name, done) =>
        void agenda.after(1, () => done(resolution(given.addresses?.[name] ?? ['93.184.216.34']))),
    },
    decodeContent,
    sealer: { rewrite: (_directory, _number, done) => void agenda.after(1, () => done(new Error('not in this test'))) },
  }
  const settings = resolveSettings({ robots: false, delayMs: 0, ...given.settings })
  const shard = openShard(env, '/crawl', openShardLogs(disk, '/crawl', 'write'), {
    identity: { crawlId: new Uint8Array(16), shard: 0, generation: 0 },
    version: 'test',
    pid: 1,
    shardCount: 1,
    settings: JSON.stringify(settings),
    act: 'test',
    ...(given.segmentBytesMax === undefined ? {} : { segmentBytesMax: given.segmentBytesMax }),
  })
  let failure: unknown
  let isSeeded = shard.state.seeds[0]?.isLast === true
  shard.onFailure = (error) => {
    failure = error
  }
  shard.onTurn = () => given.onTurn?.(shard)
  const observation = { kind: 'seeds', source: 0, lines: given.seeds.length, isLast: true, urls: given.seeds } as const
  const done = (): void => {
    isSeeded = true
  }
  if (!isSeeded) shard.inbox.push({ kind: 'owner', observation, done })
  shard.isClaiming = true
  wake(shard)
  const untilMs = startMs + (given.untilMs ?? 3_600_000)
  while (failure === undefined && agenda.nowMs < untilMs && !(isSeeded && isFinished(shard)) && agenda.step());
  if (failure !== undefined) throw failure
  if (given.dies) disk.processDeath()
  else closeShard(shard, 'test')
  agenda.clear()
  const lookUp = (url: string): string => stateIn(shard, url)
  return { shard, disk, agenda, times, requests, events: eventsOf(disk), stateOf: lookUp }
}

function resolution(addresses: readonly string[]): Resolution {
  if (addresses.length === 0) return { kind: 'trouble', class: 'dns.notfound', message: 'no such name' }
  return { kind: 'addresses', addresses, ttlMs: 3_600_000 }
}

function stateIn({ state }: Shard, url: string): string {
  const handle = state.urls.findKey(keyOf(url))
  return handle < 0 ? '' : URL_STATE_NAMES[stateOf(state.urls.word(handle, URL_WORD.rest))]
}

function eventsOf(disk: SimulatedDisk): CrawlEvent[] {
  const { events } = openShardLogs(disk, '/crawl', 'read')
  const all: CrawlEvent[] = []
  for (const { number } of events.segments) {
    events.scan(number, (record) => {
      if (record.kind !== KIND.segment && record.kind !== KIND.mark) all.push(eventOf(record, number))
    })
  }
  return all
}
