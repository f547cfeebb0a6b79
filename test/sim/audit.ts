/**
 * A second opinion: reads the written bytes of a log of events, record by record, into JS Maps, and computes from them
 * what must be true by code of its own. Of the product it uses the decoding of a record and the hash of a digest's entry.
 *
 * Invariant: `digestHex` is that of the records read so far; a mark's digest, and the live one after a turn, must equal it.
 */
import assert from 'node:assert/strict'
import { ByteReader } from '../../src/base/bytes.ts'
import { type Key, keyOf } from '../../src/base/md5.ts'
import { decodeEvent } from '../../src/core/decode.ts'
import {
  type Attempt,
  type CrawlEvent,
  type Findings,
  type Link,
  type LinkedEvent,
  type LinkGroup,
  type RobotsEvent,
  STANDING,
} from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import { reasonOf } from '../../src/core/reasons.ts'
import { type Settings, settingsOfHost } from '../../src/core/settings.ts'
import { hostOf } from '../../src/core/url.ts'
import type { Disk } from '../../src/env/disk.ts'
import { NOWHERE, type Position } from '../../src/log/format.ts'
import { mixText } from '../../src/tables/digest.ts'
import { createHost, createUrl, ENTRY, EntrySum, type HostEntry, halves, type UrlEntry } from './audit-entries.ts'

const AT = {
  ...{ length: 0, kind: 5, flags: 6, timeMs: 8, body: 20, generation: 44 },
  ...{ markSegment: 24, markPosition: 28, markDigest: 40 },
} as const
/** What robots.txt came to: the host is held. */
const HELD = 3
/** Reasons that show that somebody answered at the host. */
const ANSWERED = /^(?:connect\.reset|tls\.invalid|http\.|redirect\.)/

export class Audit {
  readonly urls = new Map<Key, UrlEntry>()
  readonly hosts = new Map<string, HostEntry>()
  readonly cursors: Array<{ readonly lines: number; readonly segment: number; readonly end: number }> = []
  settings: Settings | undefined
  records = 0
  /** `void` records of a death. */
  deathVoids = 0
  /** Up to where the last mark says that all is synced. */
  promised: Position = NOWHERE
  lastMs = 0
  readonly #disk: Disk
  #directory: string
  readonly #sum = new EntrySum()
  #segment: number
  #position = 0
  /** What is read stands for what a compaction left out: it tells where things stand, not how they came there. */
  #isCompacted = false

  constructor(disk: Disk, directory: string) {
    this.#disk = disk
    this.#directory = directory
    const first = disk.list(directory).find((name) => name.endsWith('.val'))
    this.#segment = first === undefined ? 1 : Number.parseInt(first, 10)
  }

  /** The log goes on in another directory; its segments up to a number have been compacted, and were read before. */
  follow(directory: string, compactedUntil: number): void {
    this.#directory = directory
    if (this.#segment > compactedUntil) return
    this.#segment = compactedUntil + 1
    this.#position = 0
  }

  get digestHex(): string {
    return this.#sum.hex
  }

  get position(): { readonly segment: number; readonly position: number } {
    return { segment: this.#segment, position: this.#position }
  }

  /** Reads what was written since. A record that is not whole yet is left. */
  advance(): void {
    for (;;) {
      this.#readSegment()
      const next = `${this.#directory}/${String(this.#segment + 1).padStart(6, '0')}.val`
      if (!this.#disk.exists(next)) return
      this.#segment++
      this.#position = 0
    }
  }

  #readSegment(): void {
    const path = `${this.#directory}/${String(this.#segment).padStart(6, '0')}.val`
    if (!this.#disk.exists(path)) return
    const file = this.#disk.open(path, 'read')
    const bytes = Buffer.alloc(Math.max(0, file.sizeBytes() - this.#position))
    file.read(bytes, this.#position)
    file.close()
    let at = 0
    while (at + 4 <= bytes.length) {
      const length = bytes.readUInt32LE(at) + 4
      if (length < AT.body || at + length > bytes.length) break
      this.#position += length
      this.#record(bytes.subarray(at, at + length))
      at += length
    }
  }

  #record(bytes: Buffer): void {
    const kind = bytes[AT.kind]
    const timeMs = Number(bytes.readBigUInt64LE(AT.timeMs))
    assert.ok(timeMs >= this.lastMs, `time goes back in the log: ${this.lastMs}, then ${timeMs}`)
    this.lastMs = timeMs
    this.records++
    if (kind === KIND.segment)
      this.#isCompacted = (this.records === 1 && bytes.readUInt32LE(AT.generation) > 0) || this.#isCompacted
    if (kind === KIND.mark) {
      this.#isCompacted = false
      this.promised = { segment: bytes.readUInt32LE(AT.markSegment), position: bytes.readUInt32LE(AT.markPosition) }
      const digest = bytes.toString('hex', AT.markDigest, AT.markDigest + 16)
      assert.equal(digest, this.digestHex, 'the digest in a mark is that of the records before it')
      return
    }
    const event = decodeEvent(new ByteReader(bytes, AT.body), kind, bytes.readUInt16LE(AT.flags))
    if (event !== undefined) this.#apply(event, timeMs)
  }

  #apply(event: CrawlEvent, timeMs: number): void {
    switch (event.kind) {
      case KIND.open:
        return this.#change(event.settings)
      case KIND.control:
        return this.#change(event.settings)
      case KIND.close:
        return
      case KIND.seeded: {
        this.cursors[event.source] = { lines: event.lines, segment: this.#segment, end: this.#position }
        const { source, lines, isLast } = event
        this.#sum.set(`seeds ${source}`, [ENTRY.seeds, source, 0, 0, 0, ...halves(lines), isLast ? 1 : 0, 0])
        return this.#find(event)
      }
      case KIND.bulk:
        if (event.isCompacted) return this.#admit(event.group)
        return this.#move(event.group)
      case KIND.hosts:
        for (const { host: name, hasAnswered } of event.hosts) {
          const host = this.#host(name)
          if (hasAnswered) host.flags |= 1
          this.#sum.putCounts(host)
        }
        return
      case KIND.linked:
        return this.#linked(event)
      case KIND.claim:
        for (const group of event.groups) {
          const host = this.#hostByKey(group.hostKey)
          if (group.asksHttp) this.#ask(host, 'http', timeMs)
          if (group.asksHttps) this.#ask(host, 'https', timeMs)
          for (const key of group.keys) this.#claim(key, host, timeMs)
          this.#sum.putCounts(host)
        }
        return
      case KIND.void:
        if (event.isDeath) this.deathVoids++
        for (const key of event.asking) this.#giveBackRobots(this.#hostByKey(key))
        for (const group of event.groups) for (const link of group.links) this.#void(link, event.isDeath)
        return
      case KIND.fetched: {
        if (event.isCompacted) this.#begin(event.attempt)
        const entry = this.#finish(event.attempt, 'done', '', event)
        entry.host.flags |= 1
        if (event.stored !== undefined && event.attempt.status < 300) entry.host.pages++
        this.#sum.putCounts(entry.host)
        if (event.stored !== undefined)
          this.#sum.add(`content ${event.stored.content}`, ENTRY.content, event.stored.content)
        return this.#find(event)
      }
      case KIND.failed: {
        const why = reasonOf(event.reason)!
        if (event.isCompacted) this.#begin(event.attempt, why)
        const entry = this.#finish(event.attempt, 'failed', why, event)
        if (ANSWERED.test(why)) entry.host.flags |= 1
        return this.#sum.putCounts(entry.host)
      }
      case KIND.retry:
        return this.#retry(event.attempt, event.dueMs, reasonOf(event.reason)!, event)
      case KIND.refused:
        if (event.isCompacted) for (const group of event.groups) this.#admit(group)
        for (const group of event.groups) for (const link of group.links) this.#refuse(link, reasonOf(event.reason)!)
        return
      case KIND.reopened:
        return assert.fail('nothing is reopened in these crawls')
      case KIND.resolved: {
        const host = this.#host(event.host)
        this.#sum.putHost(host, 'addresses', ENTRY.addresses, [
          mixText(event.addresses.join(' ')),
          0,
          ...halves(event.expiresMs),
        ])
        return
      }
      case KIND.badhost: {
        const host = this.#host(event.host)
        host.badUntilMs = event.untilMs
        this.#sum.putBlocked(host)
        for (const key of event.keys) this.#failWithHost(key, host)
        if (event.isLast) assert.equal(host.counts.pending, 0, 'a bad host has nothing pending any more')
        return this.#sum.putCounts(host)
      }
      case KIND.robots:
        return this.#robots(event)
      case KIND.delay: {
        const host = this.#host(event.host)
        host.blockedUntilMs = event.untilMs
        host.level = event.level
        this.#sum.putBlocked(host)
        return this.#sum.putCounts(host)
      }
      case KIND.relinked: {
        const entry = this.urls.get(event.link.key)!
        entry.relink = false
        this.#sum.putUrl(entry)
        return this.#find(event)
      }
    }
  }

  #change(json: string): void {
    this.settings = JSON.parse(json) as Settings
    this.#sum.set('settings', [ENTRY.settings, mixText(json), json.length, 0, 0, 0, 0, 0, 0])
  }

  #find({ groups, shorter, scopeKeys }: Findings): void {
    for (const way of shorter) {
      const entry = this.urls.get(way.key)!
      entry.depth = Math.min(entry.depth, way.depth)
      if (way.relink) entry.relink = true
      this.#sum.putUrl(entry)
    }
    for (const key of scopeKeys) this.#sum.add(`scope ${key}`, ENTRY.scope, key)
    for (const group of groups) this.#admit(group)
  }

  #admit(group: LinkGroup): void {
    const host = this.#host(group.host)
    for (const link of group.links) this.#enqueue(link, host)
    this.#sum.putCounts(host)
  }

  /** A URL of which a compaction has kept the outcome alone: all that came before it. */
  #begin({ link, attempts }: Attempt, why = ''): void {
    const host = hostOf(link.url)
    this.#admit({ host, hostKey: keyOf(host), isPreferred: false, links: [link] })
    const entry = this.urls.get(link.key)!
    entry.attempts = attempts - 1
    entry.deaths = why === 'poison' ? 4 : 0
    this.#turn(entry, 'processing')
  }

  #linked({ groups, standings }: LinkedEvent): void {
    const links = groups.flatMap((group) => group.links)
    for (const group of groups) this.#admit(group)
    for (const [i, { what, attempts, deaths, dueMs }] of standings.entries()) {
      const entry = this.urls.get(links[i].key)!
      entry.attempts = attempts
      entry.deaths = deaths
      if (what === STANDING.waits) this.#wait(entry, dueMs)
      if (what === STANDING.failed) this.#failWithHost(entry.key, entry.host)
      this.#sum.putCounts(entry.host)
    }
  }

  #enqueue(link: Link, host: HostEntry): void {
    assert.ok(!this.urls.has(link.key), `${link.url} is admitted twice`)
    const entry = createUrl(link.url, link.key, host, link.depth)
    this.urls.set(link.key, entry)
    host.counts.pending++
    this.#sum.putUrl(entry)
  }

  /** A gathered bulk: its links stand there now. */
  #move(group: LinkGroup): void {
    for (const link of group.links) {
      const entry = this.urls.get(link.key)!
      assert.ok(entry.state === 'pending' && entry.waiting === undefined, `${link.url} is gathered but not queued`)
      entry.depth = Math.min(entry.depth, link.depth)
      this.#sum.putUrl(entry)
    }
  }

  #claim(key: Key, host: HostEntry, timeMs: number): void {
    const entry = this.urls.get(key)
    assert.ok(entry !== undefined && entry.state === 'pending', `${entry?.url}: claimed while ${entry?.state}`)
    assert.equal(entry.host, host)
    this.#mayContact(host, timeMs, entry.url)
    if (entry.waiting !== undefined && !this.#isCompacted)
      assert.ok(entry.waiting.dueMs <= timeMs, `${entry.url}: claimed before it is due`)
    this.#wait(entry, undefined)
    entry.claims++
    entry.isRequested = false
    this.#turn(entry, 'processing')
  }

  #mayContact(host: HostEntry, timeMs: number, what: string): void {
    // When a claim of before was made is not known any more.
    if (this.#isCompacted) return
    assert.ok(
      host.blockedUntilMs <= timeMs,
      `${what}: claimed ${host.blockedUntilMs - timeMs} ms before its host's delay is over`,
    )
    assert.ok(host.badUntilMs <= timeMs, `${what}: claimed while its host is bad`)
  }

  #ask(host: HostEntry, scheme: 'http' | 'https', timeMs: number): void {
    this.#mayContact(host, timeMs, `robots.txt of ${host.name}`)
    const robots = host.robots[scheme]
    assert.ok(!robots.isAsked, `robots.txt of ${host.name} is asked for twice at once`)
    robots.isAsked = true
    robots.isRequested = false
    host.flags |= scheme === 'http' ? 2 : 4
  }

  #giveBackRobots(host: HostEntry): void {
    host.robots.http.isAsked = false
    host.robots.https.isAsked = false
    host.flags &= 1
    this.#sum.putCounts(host)
  }

  /** @returns the entry of a URL that is being fetched, taken out of those */
  #leave(key: Key, url: string): UrlEntry {
    const entry = this.urls.get(key)
    assert.ok(
      entry !== undefined && entry.state === 'processing',
      `${url}: an outcome while ${entry?.state ?? 'unknown'}`,
    )
    return entry
  }

  #void(link: Link, isDeath: boolean): void {
    const entry = this.#leave(link.key, link.url)
    if (isDeath) entry.deaths++
    assert.ok(entry.deaths < 5, `${link.url}: was in flight at ${entry.deaths} deaths and is tried again`)
    this.#wait(entry, 0)
    this.#turn(entry, 'pending')
    this.#sum.putCounts(entry.host)
  }

  #retry(attempt: Attempt, dueMs: number, why: string, event: CrawlEvent): void {
    const entry = this.#attempted(attempt, event)
    const { retriesMax } = settingsOfHost(this.settings!, entry.host.name)
    assert.ok(
      entry.attempts <= retriesMax,
      `${entry.url}: retried after ${entry.attempts} attempts of ${retriesMax + 1}`,
    )
    if (ANSWERED.test(why)) entry.host.flags |= 1
    this.#wait(entry, dueMs)
    this.#turn(entry, 'pending')
    this.#sum.putCounts(entry.host)
  }

  #attempted(attempt: Attempt, event: CrawlEvent): UrlEntry {
    const entry = this.#leave(attempt.link.key, attempt.link.url)
    entry.attempts++
    entry.lastOutcome = event
    assert.equal(attempt.attempts, entry.attempts, `attempts of ${entry.url}`)
    return entry
  }

  #finish(attempt: Attempt, state: 'done' | 'failed', why: string, event: CrawlEvent): UrlEntry {
    const entry = this.#attempted(attempt, event)
    if (why === 'poison') assert.equal(entry.deaths, 4, `${entry.url}: deaths before it is called poison`)
    entry.why = why
    this.#turn(entry, state)
    return entry
  }

  #refuse(link: Link, why: string): void {
    const entry = this.urls.get(link.key)!
    assert.equal(entry.state, 'pending', `${link.url} is refused`)
    this.#wait(entry, undefined)
    entry.why = why
    this.#turn(entry, 'refused')
    this.#sum.putCounts(entry.host)
  }

  #failWithHost(key: Key, host: HostEntry): void {
    const entry = this.urls.get(key)!
    assert.equal(entry.state, 'pending', `${entry.url} fails with its host`)
    assert.equal(entry.host, host)
    this.#wait(entry, undefined)
    entry.why = 'host.bad'
    this.#turn(entry, 'failed')
  }

  #robots(event: RobotsEvent): void {
    const host = this.#host(event.host)
    const scheme = event.isHttps ? 'https' : 'http'
    const robots = host.robots[scheme]
    if (!this.#isCompacted) {
      assert.ok(robots.isAsked, `robots.txt of ${event.host}: an answer, and nobody asked`)
      assert.equal(event.attempts, robots.attempts + 1, `attempts of the robots.txt of ${event.host}`)
    }
    robots.isAsked = false
    host.flags &= event.isHttps ? ~4 : ~2
    if (event.status > 0) host.flags |= 1
    robots.verdict = event.verdict
    robots.attempts = event.verdict === HELD ? event.attempts : 0
    robots.untilMs = event.expiresMs
    host.robotsDelayMs = event.delayMs
    this.#sum.putRobots(host)
    this.#sum.putCounts(host)
  }

  #host(name: string): HostEntry {
    const key = keyOf(name)
    let host = this.hosts.get(key)
    if (host === undefined) {
      host = createHost(name, key)
      this.hosts.set(host.key, host)
      this.#sum.putCounts(host)
    }
    return host
  }

  #hostByKey(key: Key): HostEntry {
    const host = this.hosts.get(key)
    assert.ok(host, 'a host that no record names')
    return host
  }

  #turn(entry: UrlEntry, state: UrlEntry['state']): void {
    entry.host.counts[entry.state]--
    entry.host.counts[state]++
    entry.state = state
    this.#sum.putUrl(entry)
    this.#sum.putProcessing(entry)
  }

  /** Waits from now on, or (undefined) no more. */
  #wait(entry: UrlEntry, dueMs: number | undefined): void {
    const { attempts, deaths } = entry
    entry.waiting = dueMs === undefined ? undefined : { attempts, deaths, dueMs }
    this.#sum.putWaiting(entry)
  }
}
