/**
 * A long log made in seconds: a crawl of many hosts whose events are written by the product's own encoders, items, evolve
 * and writer, in the order a crawl writes them, but without requests. With marks, and with checkpoints at doubling
 * distances, saved and forgotten by the product's own rule.
 */

import { decodeContent } from '../../src/adapters/content.ts'
import { openCrawlDb } from '../../src/adapters/crawl-db.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { createRandom } from '../../src/adapters/random.ts'
import { type Key, keyOf, word } from '../../src/base/md5.ts'
import { encodeEvent } from '../../src/core/encode.ts'
import { type CrawlEvent, type Link, NO_FINDINGS, ROBOTS } from '../../src/core/event.ts'
import { evolve, ITEM_WORDS } from '../../src/core/evolve.ts'
import { itemsOf } from '../../src/core/items.ts'
import { KIND } from '../../src/core/kind.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { writeManifest } from '../../src/crawl/manifest.ts'
import type { Disk, File } from '../../src/env/disk.ts'
import type { Env } from '../../src/env/env.ts'
import { AT } from '../../src/log/format.ts'
import { saveCheckpoint } from '../../src/shard/checkpoint.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import type { Shard } from '../../src/shard/shard-parts.ts'
import { addToTotals, encodeTotals } from '../../src/shard/totals.ts'

/** Links that a page admits: with 8 a URL has about six items in the end, and most URLs are pending. */
const LINKS_PER_PAGE = 8
const HOSTS = 2000
/** Pages a second of virtual time, and pages between two marks: a tenth of a second. */
const PAGES_PER_MS = 1
const PAGES_PER_MARK = 100
/** One page in so many is asked for again first. */
const RETRIED_EVERY = 50
/** Items between the first two checkpoints; then one for each half more. */
const FIRST_CHECKPOINT_ITEMS = 250_000
const START_MS = 1_700_000_000_000

export interface LongLog {
  readonly items: number
  readonly records: number
  /** Times of the first and the last record. */
  readonly firstMs: number
  readonly lastMs: number
  readonly digest: string
}

/** Files that are not synced: what dies with the machine is only this bench. */
const unsyncedDisk: Disk = {
  ...nodeDisk,
  open: (path, mode) => {
    const file = nodeDisk.open(path, mode)
    return new Proxy(file, {
      get: (target, property) => {
        if (property === 'syncNow') return () => {}
        const value = Reflect.get(target, property, target) as unknown
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
      },
    }) as File
  },
}

/** Makes a crawl in `root` whose log has at least `itemsMin` KEY items. */
export function makeLongLog(root: string, itemsMin: number): LongLog {
  const maker = new Maker(root)
  maker.begin()
  while (maker.items < itemsMin) maker.page()
  return maker.end()
}

class Maker {
  items = 0
  readonly #shard: Shard
  readonly #store: ReturnType<typeof openCrawlDb>['store']
  #nowMs = START_MS
  #pages = 0
  #urls = 0
  #nextCheckpoint = FIRST_CHECKPOINT_ITEMS

  constructor(root: string) {
    const layout = layoutOf(root)
    nodeDisk.makeDirectory(layout.shard(0))
    const crawlId = new Uint8Array(16).fill(7)
    const manifest = { version: 1, shards: 1, generation: 0, horizonMs: 0, horizonSequence: 0 } as const
    writeManifest(nodeDisk, layout, { ...manifest, crawlId: Buffer.from(crawlId).toString('hex') })
    this.#store = openCrawlDb(layout.database).store
    const directory = layout.shard(0)
    this.#shard = openShard(this.#env(), directory, openShardLogs(unsyncedDisk, directory, 'write'), {
      identity: { crawlId, shard: 0, generation: 0 },
      version: 'bench',
      pid: process.pid,
      shardCount: 1,
      settings: JSON.stringify(resolveSettings({ delayMs: 0, scope: 'any', freeBytesMin: 0 })),
      act: 'bench',
    })
    this.#shard.state.isLive = false
  }

  #env(): Env {
    return {
      clock: { wallMs: () => this.#nowMs, monotonicMs: () => this.#nowMs - START_MS, after: () => () => {} },
      random: createRandom(),
      disk: unsyncedDisk,
      web: { fetch: () => {}, stop: () => {} },
      resolver: { resolve: () => {} },
      decodeContent,
      sealer: { rewrite: (_directory, _number, done) => done(new Error('not here')) },
      checkpointer: { build: (_job, done) => done({ kind: 'failed', why: 'not here' }) },
    }
  }

  begin(): void {
    const groups = Array.from({ length: HOSTS }, (_, i) => this.#groupOf(i, [this.#link(this.#urls++, 0, undefined)]))
    this.#record({ kind: KIND.seeded, source: 0, lines: HOSTS, isLast: true, ...NO_FINDINGS, groups })
    for (let i = 0; i < HOSTS; i++) {
      const host = hostOfUrl(i)
      const expiresMs = START_MS + 86_400_000
      this.#record({ kind: KIND.resolved, host, addresses: ['192.0.2.1'], expiresMs })
      const robots = { isHttps: false, verdict: ROBOTS.allowed, status: 404, delayMs: 0, attempts: 1 }
      this.#record({ kind: KIND.robots, host, expiresMs, ...robots, body: new Uint8Array(0) })
    }
    this.#mark()
  }

  /** The next URL in order of admission: claimed, perhaps retried, fetched; its links stay with its host. */
  page(): void {
    const i = this.#pages++
    this.#nowMs += (i % 2) * 2 * (1 / PAGES_PER_MS)
    const link = this.#link(i, i < HOSTS ? 0 : 1, undefined)
    this.#claim(i, link.key, i < HOSTS || (i - HOSTS) % LINKS_PER_PAGE === LINKS_PER_PAGE - 1)
    const timing = { connectMs: 1, firstByteMs: 20, totalMs: 30 }
    const attempt = { link, attempts: 1, address: '192.0.2.1', status: 200, timing, message: '' }
    if (i % RETRIED_EVERY === 0) {
      const failed = { ...attempt, status: 0, message: 'no answer' }
      this.#record({ kind: KIND.retry, attempt: failed, reason: REASONS.timeout, dueMs: this.#nowMs + 5000 })
      this.#claim(i, link.key, false)
    }
    const links = Array.from({ length: LINKS_PER_PAGE }, () => this.#link(this.#urls++, 1, link.key))
    const stored = {
      page: { segment: 1, ordinal: i },
      bodyBytes: 20_000,
      decodedBytes: 60_000,
      content: keyOf(`body ${i}`),
      contentType: 'text/html',
      isTruncated: false,
    }
    const groups = [this.#groupOf(this.#urls - LINKS_PER_PAGE, links)]
    const known = [link.key, links[0].key]
    this.#record({ kind: KIND.fetched, attempt, stored, location: '', ...NO_FINDINGS, groups, known })
    if (i % PAGES_PER_MARK === 0) this.#mark()
    if (this.items >= this.#nextCheckpoint) this.#checkpoint()
  }

  #claim(i: number, key: Key, isLastOfBulk: boolean): void {
    const hostKey = keyOf(hostOfUrl(i))
    const group = { hostKey, drained: isLastOfBulk ? [0] : [], keys: [key], asksHttp: false, asksHttps: false }
    this.#record({ kind: KIND.claim, groups: [group] })
  }

  /** A process stops, saves its checkpoint, and another goes on. */
  #checkpoint(): void {
    this.#nextCheckpoint = Math.round(this.items * 1.5)
    this.#record({ kind: KIND.close, reason: 'bench' })
    this.#mark()
    const saved = saveCheckpoint(this.#shard, this.#store, { saveMsMax: Number.POSITIVE_INFINITY })
    if (saved.kind !== 'saved') throw new Error(saved.why)
    const identity = { crawlId: '07'.repeat(16), pid: 1, version: 'bench', shard: 0, shardCount: 1 }
    this.#record({ kind: KIND.open, ...identity, settings: this.#shard.state.settingsJson })
  }

  end(): LongLog {
    const { events, pages, state } = this.#shard
    this.#record({ kind: KIND.close, reason: 'bench' })
    this.#mark()
    const facts = { records: events.sequence - 1, firstMs: START_MS, lastMs: this.#nowMs, digest: state.digest.toHex() }
    pages.close()
    events.close()
    this.#store.close()
    return { items: this.items, ...facts }
  }

  /** URL `i`: pages of a host come LINKS_PER_PAGE at a time. */
  #link(i: number, depth: number, from: Key | undefined): Link {
    const url = `http://${hostOfUrl(i)}/section-${i % 97}/some-article-${i}.html`
    return { key: keyOf(url), url, depth, from, seed: from === undefined, chain: [] }
  }

  #groupOf(i: number, links: readonly Link[]) {
    const host = hostOfUrl(i)
    return { host, hostKey: keyOf(host), isPreferred: false, links }
  }

  #record(event: CrawlEvent): void {
    const { events, state, totals, clock } = this.#shard
    const out = events.begin(event.kind, 0, this.#nowMs)
    encodeEvent(out, out.at - AT.body, event)
    itemsOf(event, (key, kind, arg) => events.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
    const { segment } = events.end()
    const items = events.lastItems()
    evolve(state, items, 0, items.length / ITEM_WORDS, segment, () => event)
    addToTotals(totals, event)
    this.items += items.length / ITEM_WORDS
    clock.lastRecordMs = this.#nowMs
  }

  #mark(): void {
    const { events, pages, state, totals } = this.#shard
    events.write()
    const synced = events.syncNow()
    events.mark(this.#nowMs, synced, pages.syncNow(), state.digest.bytes(), encodeTotals(totals))
    events.write()
    events.syncNow()
    this.items += 2
  }
}

function hostOfUrl(i: number): string {
  const host = i < HOSTS ? i : Math.floor((i - HOSTS) / LINKS_PER_PAGE) % HOSTS
  return `www.host-${host}.example`
}
