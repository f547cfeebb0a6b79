/**
 * A random history of a crawl, from a seed: events of every kind, made by `decide` where it makes them, applied by
 * `itemsOf` and `evolve` as a shard does, with places in a log that is not there.
 */
import assert from 'node:assert/strict'
import { type Key, keyFromWords, keyOf, word } from '../../src/base/md5.ts'
import { decide } from '../../src/core/decide.ts'
import type { ClaimGroup, CrawlEvent, Link, LinkGroup, Stored } from '../../src/core/event.ts'
import { evolve, ITEM_WORDS } from '../../src/core/evolve.ts'
import { ARG_FROM_TAIL } from '../../src/core/evolve-host.ts'
import { HOST, HOST_FLAG } from '../../src/core/hosts.ts'
import { itemsOf } from '../../src/core/items.ts'
import { KIND } from '../../src/core/kind.ts'
import type { Answer, Trouble } from '../../src/core/observation.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import { createState, type State, stateOf, URL_STATE, URL_WAITING, URL_WORD } from '../../src/core/state.ts'
import { hostOf } from '../../src/core/url.ts'
import type { Random } from '../../src/env/random.ts'
import { packKindAndArg } from '../../src/log/format.ts'

const HOSTS = 40
const PATHS = 60
const TIMING = { connectMs: 1, firstByteMs: 2, totalMs: 3 }
export const SETTINGS = resolveSettings({
  scope: 'any',
  order: 'priority',
  prefer: ['/p[0-9]*5$'],
  depthMax: 4,
  retriesMax: 2,
})
const RECORDS_PER_SEGMENT = 300

/** The records of a history, as far as states need them. */
export interface Step {
  readonly segment: number
  readonly position: number
  readonly event: CrawlEvent
}

export interface History {
  readonly state: State
  readonly steps: Step[]
  /** Makes about so many events more. */
  run(count: number): void
  addSeeds(): void
}

/** Applies a record to a state. */
export function applyStep(state: State, { event, segment, position }: Step): void {
  const words: number[] = []
  itemsOf(event, (key, kind, arg) => {
    words.push(word(key, 0), word(key, 1), word(key, 2), word(key, 3), position, packKindAndArg(kind, arg))
  })
  evolve(state, Uint32Array.from(words), 0, words.length / ITEM_WORDS, segment, () => event)
}

/** A history of a state of its own, from its first `open` on. */
export function createHistory(random: Random): History {
  const history = new RandomHistory(random, createState(), undefined)
  history.begin()
  return history
}

/** What a shard whose crawl was begun goes through: its own state, its own way to apply an event. */
export function continueHistory(random: Random, state: State, links: Map<Key, Link>, apply: Apply): History {
  return new RandomHistory(random, state, apply, links)
}

type Apply = (event: CrawlEvent) => void

class RandomHistory implements History {
  readonly state: State
  readonly steps: Step[] = []
  private readonly links: Map<Key, Link>
  private readonly random: Random
  private readonly applyElsewhere: Apply | undefined
  private nowMs = 1_700_000_000_000
  private segment = 1
  private position = 96
  private seedLines = 0

  constructor(random: Random, state: State, apply: Apply | undefined, links = new Map<Key, Link>()) {
    this.random = random
    this.state = state
    this.links = links
    this.applyElsewhere = apply
  }

  begin(): void {
    const settings = JSON.stringify(SETTINGS)
    const crawlId = '0123456789abcdef0123456789abcdef'
    this.apply({ kind: KIND.open, crawlId, pid: 1, version: '0', shard: 0, shardCount: 1, settings })
    this.addSeeds()
  }

  run(count: number): void {
    const until = this.steps.length + count
    while (this.steps.length < until) this.step()
    assert.equal(
      this.state.urls.count,
      this.state.counts.reduce((sum, n) => sum + n),
    )
  }

  private step(): void {
    this.nowMs += this.below(5000)
    const draw = this.below(100)
    if (draw < 38) this.claim()
    else if (draw < 78) this.observePage()
    else if (draw < 82) this.observeRobots()
    else if (draw < 87) this.observeLookup()
    else if (draw < 89) this.relink()
    else if (draw < 91) this.gather()
    else if (draw < 93) this.die()
    else if (draw < 94) this.declareBad()
    else if (draw < 95) this.reopen()
    else if (draw < 96) this.refuse()
    else if (draw < 98) this.addSeeds()
    else this.control()
  }

  private below(limit: number): number {
    return this.random.uint32() % limit
  }

  private url(): string {
    return `http://h${this.below(HOSTS)}.test/p${this.below(PATHS)}`
  }

  private apply(event: CrawlEvent): void {
    if (this.steps.length % RECORDS_PER_SEGMENT === RECORDS_PER_SEGMENT - 1) {
      this.segment++
      this.position = 96
    }
    const step = { segment: this.segment, position: this.position, event }
    this.position += 100 + this.below(1000)
    if (this.applyElsewhere === undefined) applyStep(this.state, step)
    else this.applyElsewhere(event)
    this.steps.push(step)
    if ('groups' in event && event.kind !== KIND.claim) {
      for (const { links } of event.groups) for (const link of links) this.links.set(link.key, link)
    }
  }

  private observe(observation: Parameters<typeof decide>[1]): void {
    for (const event of decide(this.state, observation, this.nowMs)) this.apply(event)
  }

  /** Up to `count` different URLs of which `accepts` is true of state and flags. */
  private pick(count: number, accepts: (rest: number) => boolean): Link[] {
    const { urls } = this.state
    const picked = new Set<Link>()
    for (let tries = 0; tries < 40 && picked.size < count; tries++) {
      const handle = urls.random(this.random.uint32())
      if (handle < 0 || !accepts(urls.word(handle, URL_WORD.rest))) continue
      const key = keyFromWords(
        ...([0, 1, 2, 3].map((i) => urls.keyWord(handle, i)) as [number, number, number, number]),
      )
      picked.add(this.links.get(key)!)
    }
    return [...picked]
  }

  private groups(links: readonly Link[]): LinkGroup[] {
    const hosts = new Map<string, Link[]>()
    for (const link of links) hosts.set(hostOf(link.url), [...(hosts.get(hostOf(link.url)) ?? []), link])
    return [...hosts].map(([host, own]) => ({
      host,
      hostKey: keyOf(host),
      isPreferred: this.below(4) === 0,
      links: own,
    }))
  }

  addSeeds(): void {
    const urls = Array.from({ length: 1 + this.below(20) }, () => this.url())
    this.seedLines += urls.length
    this.observe({ kind: 'seeds', source: 1 + this.below(3), lines: this.seedLines, isLast: this.below(3) === 0, urls })
  }

  private claim(): void {
    const links = this.pick(1 + this.below(6), (rest) => stateOf(rest) === URL_STATE.pending)
    const groups = this.groups(links).map(({ hostKey, links: own }): ClaimGroup => {
      const asksHttp = this.below(8) === 0 && !this.isAsking(hostKey)
      return { hostKey, drained: this.drained(hostKey), keys: own.map((link) => link.key), asksHttp, asksHttps: false }
    })
    if (groups.length > 0) this.apply({ kind: KIND.claim, groups })
  }

  private isAsking(hostKey: Key): boolean {
    return this.state.hosts.hasFlag(this.state.hosts.findKey(hostKey), HOST_FLAG.askingHttp)
  }

  private drained(hostKey: Key): number[] {
    const { hosts, queues } = this.state
    const id = hosts.findKey(hostKey)
    const count = queues.count(hosts.wordsOf(id), hosts.rowOf(id) + HOST.queue)
    if (count === 0 || this.below(3) > 0) return []
    return [this.below(Math.min(count, 0x40)) | (this.below(2) === 0 ? ARG_FROM_TAIL : 0)]
  }

  private observePage(): void {
    const { processing } = this.state
    const entry = processing.random(this.random.uint32())
    if (entry < 0) return
    const key = keyFromWords(
      processing.keyWord(entry, 0),
      processing.keyWord(entry, 1),
      processing.keyWord(entry, 2),
      processing.keyWord(entry, 3),
    )
    const link = this.links.get(key)!
    const attempts = processing.word(entry, 0) & 0xff
    this.observe({ kind: 'page', link, attempts, address: '192.0.2.1', timing: TIMING, result: this.result() })
  }

  private result(): Answer | Trouble {
    const draw = this.below(10)
    if (draw === 0) return { kind: 'trouble', class: 'timeout', message: 'silent', isConnected: true }
    if (draw === 1) return { kind: 'trouble', class: 'connect.refused', message: 'refused', isConnected: false }
    const status = draw === 2 ? 503 : draw === 3 ? 404 : draw === 4 ? 302 : 200
    const location = status === 302 ? this.url() : undefined
    const links = Array.from({ length: this.below(8) }, () => ({ url: this.url(), nofollow: this.below(9) === 0 }))
    const unique = [...new Map(links.map((link) => [link.url, link])).values()]
    return {
      kind: 'answer',
      status,
      location,
      retryAfterMs: undefined,
      stored: this.stored(),
      links: unique,
      turnedAway: [],
    }
  }

  private stored(): Stored | undefined {
    if (this.below(5) === 0) return undefined
    const content = keyOf(`content ${this.below(500)}`)
    const page = { segment: 1, ordinal: this.below(1000) }
    return { page, bodyBytes: 1, decodedBytes: 1, content, contentType: 'text/html', isTruncated: false }
  }

  private observeRobots(): void {
    const host = `h${this.below(HOSTS)}.test`
    if (this.state.hosts.findKey(keyOf(host)) === 0) return
    const status = [200, 404, 503][this.below(3)]
    const body = Buffer.from(`User-agent: *\nCrawl-delay: ${this.below(5)}\n`)
    const result = { kind: 'answer', status, body, retryAfterMs: undefined } as const
    const isHttps = this.below(3) === 0
    this.observe({ kind: 'robots', host, hostKey: keyOf(host), isHttps, attempts: this.below(3), result })
  }

  private observeLookup(): void {
    const host = `h${this.below(HOSTS)}.test`
    if (this.state.hosts.findKey(keyOf(host)) === 0) return
    const addresses = Array.from({ length: 1 + this.below(3) }, () => `192.0.2.${this.below(256)}`)
    const result = { kind: 'addresses', addresses, ttlMs: this.below(100_000) } as const
    this.observe({ kind: 'lookup', host, hostKey: keyOf(host), result })
  }

  private relink(): void {
    const { relinks } = this.state
    if (relinks.count === 0) return
    const key = keyFromWords(relinks.firstWord(0), relinks.firstWord(1), relinks.firstWord(2), relinks.firstWord(3))
    this.observe({
      kind: 'relink',
      link: this.links.get(key)!,
      links: [{ url: this.url(), nofollow: false }],
      location: '',
    })
  }

  private gather(): void {
    const [group] = this.groups(this.pick(3, (rest) => stateOf(rest) === URL_STATE.pending && !(rest & URL_WAITING)))
    if (group !== undefined) this.apply({ kind: KIND.bulk, replaced: 1 + this.below(3), group })
  }

  /** A death: all that is in flight is given back. */
  private die(): void {
    const links: Link[] = []
    this.state.processing.forEach((entry) => {
      const { processing } = this.state
      const key = [0, 1, 2, 3].map((i) => processing.keyWord(entry, i)) as [number, number, number, number]
      links.push(this.links.get(keyFromWords(...key))!)
    })
    if (links.length > 0)
      this.apply({ kind: KIND.void, isDeath: this.below(3) > 0, groups: this.groups(links), asking: [] })
  }

  private declareBad(): void {
    const host = `h${this.below(HOSTS)}.test`
    if (this.state.hosts.findKey(keyOf(host)) === 0) return
    const { urls } = this.state
    const keys = [...this.links.values()].filter((link) => {
      const handle = urls.findKey(link.key)
      return hostOf(link.url) === host && stateOf(urls.word(handle, URL_WORD.rest)) === URL_STATE.pending
    })
    const reason = REASONS['connect.refused']
    const untilMs = this.nowMs + this.below(100_000)
    this.apply({ kind: KIND.badhost, host, reason, untilMs, keys: keys.map((link) => link.key), isLast: true })
  }

  private reopen(): void {
    const links = this.pick(3, (rest) => stateOf(rest) === URL_STATE.failed)
    if (links.length > 0) this.apply({ kind: KIND.reopened, groups: this.groups(links) })
  }

  private refuse(): void {
    const links = this.pick(2, (rest) => stateOf(rest) === URL_STATE.pending)
    if (links.length > 0)
      this.apply({ kind: KIND.refused, reason: REASONS['robots.denied'], groups: this.groups(links) })
  }

  private control(): void {
    const settings = JSON.stringify({ ...SETTINGS, delayMs: this.below(1000) })
    this.apply({ kind: KIND.control, act: 'resume', settings })
  }
}
