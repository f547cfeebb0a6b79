/**
 * The digest of a log, computed once more from VAL alone by code that shares nothing with `evolve`: another way to the
 * same sum. `verify` compares the two.
 *
 * It reads every record, follows each URL and host by name, and at the end hashes all entries there are; nothing is kept
 * up on the way. What an entry is made of is said in FORMAT-EVENTS.md, and here a second time.
 */
import { type Key, keyOf, word } from '../base/md5.ts'
import type { CrawlEvent, Findings, Link, LinkedEvent, LinkGroup } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { REASONS } from '../core/reasons.ts'
import { hostOf } from '../core/url.ts'
import { comparePositions, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { mixText, StateDigest } from '../tables/digest.ts'
import { OrderedTable } from '../tables/ordered.ts'
import { eventOf } from './link-source.ts'

export interface Audit {
  /** 32 hexadecimal digits. */
  readonly digest: string
  readonly pending: number
  readonly processing: number
  readonly done: number
  readonly failed: number
  readonly refused: number
  readonly records: number
}

/** Fields of a URL in the auditor's own table. */
const U = { state: 0, depth: 1, relink: 2, host: 3, waits: 4, attempts: 5, deaths: 6, dueLow: 7, dueHigh: 8 } as const
const URL_FIELDS = 9
const S = { pending: 1, processing: 2, done: 3, failed: 4, refused: 5 } as const

/** Fields of a host, one column each. */
const H = {
  k0: 0,
  k1: 1,
  k2: 2,
  k3: 3,
  pending: 4,
  processing: 5,
  done: 6,
  failed: 7,
  refused: 8,
  pages: 9,
  flags: 10,
  level: 11,
  blocked: 12,
  bad: 13,
  addresses: 14,
  resolved: 15,
  isResolved: 16,
  robotsDelay: 17,
  verdictHttp: 18,
  untilHttp: 19,
  attemptsHttp: 20,
  verdictHttps: 21,
  untilHttps: 22,
  attemptsHttps: 23,
} as const
const HOST_FIELDS = 24
const COUNT_OF_STATE = [0, H.pending, H.processing, H.done, H.failed, H.refused]
const FLAG = { answered: 1, askingHttp: 2, askingHttps: 4 } as const
const LOW = 2 ** 32

/**
 * @param until place before which records count
 * Cost: a sequential read of VAL, one md5 per link in it. Memory: about 60 bytes a URL.
 */
export function auditLog(log: OpenedLog, until: Position): Audit {
  const auditor = new Auditor()
  let records = 0
  for (const { number } of log.segments) {
    if (number > until.segment) break
    log.scan(number, (record) => {
      if (comparePositions({ segment: number, position: record.position }, until) >= 0) return
      records++
      if (record.kind !== KIND.segment && record.kind !== KIND.mark) auditor.take(eventOf(record, number))
    })
  }
  return auditor.result(records)
}

class Auditor {
  readonly #urls = new OrderedTable({ valueWords: URL_FIELDS })
  readonly #hostIds = new OrderedTable({ valueWords: 1 })
  #hosts = new Float64Array(HOST_FIELDS * 64)
  #hostCount = 0
  readonly #contents = new OrderedTable({ valueWords: 0 })
  readonly #scopes = new OrderedTable({ valueWords: 0 })
  readonly #seeds = new Map<number, readonly [lines: number, isLast: boolean]>()
  #settings = ''

  take(event: CrawlEvent): void {
    switch (event.kind) {
      case KIND.open:
      case KIND.control:
        this.#settings = event.settings
        return
      case KIND.seeded:
        this.#seeds.set(event.source, [event.lines, event.isLast])
        return this.#findings(event)
      case KIND.bulk:
        return this.#links([event.group])
      case KIND.claim:
        for (const group of event.groups) {
          const host = this.#host(group.hostKey)
          if (group.asksHttp) this.#setFlag(host, FLAG.askingHttp)
          if (group.asksHttps) this.#setFlag(host, FLAG.askingHttps)
          for (const key of group.keys) this.#claimed(key)
        }
        return
      case KIND.void:
        for (const key of event.asking) this.#clearFlags(this.#host(key), FLAG.askingHttp | FLAG.askingHttps)
        for (const { links } of event.groups) for (const { key } of links) this.#returned(key, event.isDeath ? 1 : 0)
        return
      case KIND.fetched:
        return this.#fetched(event)
      case KIND.failed:
        if (event.isCompacted) this.#admitEnded(event.attempt.link)
        return this.#ended(event.attempt.link.key, S.failed, event.reason)
      case KIND.retry:
        return this.#retried(event)
      default:
        return this.#takeRarer(event)
    }
  }

  #takeRarer(event: CrawlEvent): void {
    switch (event.kind) {
      case KIND.refused:
        if (event.isCompacted) this.#links(event.groups)
        for (const { links } of event.groups) for (const { key } of links) this.#ended(key, S.refused, 0)
        return
      case KIND.reopened:
        for (const { links } of event.groups) for (const link of links) this.#reopened(link)
        return
      case KIND.relinked:
        this.#set(this.#at(event.link.key), U.relink, 0)
        return this.#findings(event)
      case KIND.resolved: {
        const host = this.#host(keyOf(event.host))
        this.#hosts[host + H.addresses] = mixText(event.addresses.join(' '))
        this.#hosts[host + H.resolved] = event.expiresMs
        this.#hosts[host + H.isResolved] = 1
        return
      }
      case KIND.badhost:
        this.#hosts[this.#host(keyOf(event.host)) + H.bad] = event.untilMs
        for (const key of event.keys) this.#ended(key, S.failed, 0)
        return
      case KIND.delay: {
        const host = this.#host(keyOf(event.host))
        this.#hosts[host + H.blocked] = event.untilMs
        this.#hosts[host + H.level] = event.level
        return
      }
      case KIND.robots:
        return this.#robots(event)
      case KIND.hosts:
        for (const { host, hasAnswered } of event.hosts) {
          const at = this.#host(keyOf(host))
          if (hasAnswered) this.#setFlag(at, FLAG.answered)
        }
        return
      case KIND.linked:
        return this.#linked(event)
    }
  }

  /** A URL whose end a compaction kept, and nothing else of it: it is admitted here. */
  #admitEnded(link: Link): void {
    const host = hostOf(link.url)
    this.#links([{ host, hostKey: keyOf(host), isPreferred: false, links: [link] }])
  }

  #linked({ groups, standings }: LinkedEvent): void {
    this.#links(groups)
    const links = groups.flatMap((group) => group.links)
    for (const [i, { what, attempts, deaths, dueMs }] of standings.entries()) {
      const at = this.#at(links[i].key)
      if (what === 2) this.#ended(links[i].key, S.failed, 0)
      if (what !== 1) continue
      this.#set(at, U.waits, 1)
      this.#set(at, U.attempts, attempts)
      this.#set(at, U.deaths, deaths)
      this.#set(at, U.dueLow, dueMs % LOW)
      this.#set(at, U.dueHigh, Math.floor(dueMs / LOW))
    }
  }

  #robots(event: Extract<CrawlEvent, { kind: typeof KIND.robots }>): void {
    const host = this.#host(keyOf(event.host))
    const hosts = this.#hosts
    const isHeld = event.verdict === 3
    hosts[host + H.robotsDelay] = event.delayMs
    hosts[host + (event.isHttps ? H.verdictHttps : H.verdictHttp)] = event.verdict
    hosts[host + (event.isHttps ? H.untilHttps : H.untilHttp)] = event.expiresMs
    hosts[host + (event.isHttps ? H.attemptsHttps : H.attemptsHttp)] = isHeld ? event.attempts : 0
    this.#clearFlags(host, event.isHttps ? FLAG.askingHttps : FLAG.askingHttp)
    if (event.status > 0) this.#setFlag(host, FLAG.answered)
  }

  #fetched(event: Extract<CrawlEvent, { kind: typeof KIND.fetched }>): void {
    const { attempt, stored } = event
    if (event.isCompacted) this.#admitEnded(attempt.link)
    this.#ended(attempt.link.key, S.done, 0)
    const host = this.#get(this.#at(attempt.link.key), U.host)
    this.#setFlag(host, FLAG.answered)
    if (stored !== undefined) {
      if (attempt.status >= 200 && attempt.status < 300) this.#hosts[host + H.pages]++
      this.#contents.insertKey(stored.content)
    }
    this.#findings(event)
  }

  #retried(event: Extract<CrawlEvent, { kind: typeof KIND.retry }>): void {
    const at = this.#at(event.attempt.link.key)
    this.#move(at, S.pending)
    this.#set(at, U.waits, 1)
    this.#set(at, U.attempts, event.attempt.attempts)
    this.#set(at, U.dueLow, event.dueMs % LOW)
    this.#set(at, U.dueHigh, Math.floor(event.dueMs / LOW))
    if (tellsOfAnswer(event.reason)) this.#setFlag(this.#get(at, U.host), FLAG.answered)
  }

  #findings(findings: Findings): void {
    for (const key of findings.scopeKeys) this.#scopes.insertKey(key)
    for (const way of findings.shorter) {
      const at = this.#at(way.key)
      this.#set(at, U.depth, Math.min(this.#get(at, U.depth), way.depth))
      if (way.relink) this.#set(at, U.relink, 1)
    }
    this.#links(findings.groups)
  }

  #links(groups: readonly LinkGroup[]): void {
    for (const { host, links } of groups) {
      const hostAt = this.#host(keyOf(host))
      for (const link of links) {
        const at = this.#urls.insertKey(link.key)
        if (this.#urls.wasNew) {
          this.#set(at, U.host, hostAt)
          this.#set(at, U.depth, link.depth)
          this.#set(at, U.state, S.pending)
          this.#hosts[hostAt + H.pending]++
        } else {
          this.#set(at, U.depth, Math.min(this.#get(at, U.depth), link.depth))
        }
      }
    }
  }

  #claimed(key: Key): void {
    const at = this.#at(key)
    if (this.#get(at, U.waits) === 0) {
      this.#set(at, U.attempts, 0)
      this.#set(at, U.deaths, 0)
    }
    this.#set(at, U.waits, 0)
    this.#move(at, S.processing)
  }

  #returned(key: Key, deaths: number): void {
    const at = this.#at(key)
    this.#move(at, S.pending)
    this.#set(at, U.waits, 1)
    this.#set(at, U.deaths, this.#get(at, U.deaths) + deaths)
    this.#set(at, U.dueLow, 0)
    this.#set(at, U.dueHigh, 0)
  }

  #ended(key: Key, state: number, reason: number): void {
    const at = this.#at(key)
    this.#move(at, state)
    this.#set(at, U.waits, 0)
    if (state === S.failed && tellsOfAnswer(reason)) this.#setFlag(this.#get(at, U.host), FLAG.answered)
  }

  #reopened(link: Link): void {
    const at = this.#at(link.key)
    this.#move(at, S.pending)
    this.#set(at, U.depth, link.depth)
    this.#set(at, U.waits, 0)
  }

  #move(at: number, state: number): void {
    const host = this.#get(at, U.host)
    this.#hosts[host + COUNT_OF_STATE[this.#get(at, U.state)]]--
    this.#hosts[host + COUNT_OF_STATE[state]]++
    this.#set(at, U.state, state)
  }

  /** Entry of a URL; one that was never met is made, so that a log which contradicts itself gives another digest. */
  #at(key: Key): number {
    return this.#urls.insertKey(key)
  }

  #get(at: number, field: number): number {
    return this.#urls.word(at, field)
  }

  #set(at: number, field: number, value: number): void {
    this.#urls.setWord(at, field, value)
  }

  /** Where the columns of a host begin. */
  #host(key: Key): number {
    const entry = this.#hostIds.insertKey(key)
    if (!this.#hostIds.wasNew) return this.#hostIds.word(entry, 0)
    const at = ++this.#hostCount * HOST_FIELDS
    if (at + HOST_FIELDS > this.#hosts.length) {
      const larger = new Float64Array(this.#hosts.length * 2)
      larger.set(this.#hosts)
      this.#hosts = larger
    }
    this.#hostIds.setWord(entry, 0, at)
    for (let i = 0; i < 4; i++) this.#hosts[at + i] = word(key, i)
    return at
  }

  #setFlag(host: number, flag: number): void {
    this.#hosts[host + H.flags] |= flag
  }

  #clearFlags(host: number, flags: number): void {
    this.#hosts[host + H.flags] &= ~flags
  }

  result(records: number): Audit {
    const digest = new StateDigest()
    const counts = [0, 0, 0, 0, 0, 0]
    this.#urls.forEach((at) => {
      counts[this.#get(at, U.state)]++
      this.#hashUrl(digest, at)
    })
    for (let id = 1; id <= this.#hostCount; id++) this.#hashHost(digest, id * HOST_FIELDS)
    for (const [entry, table] of [
      [9, this.#contents],
      [10, this.#scopes],
    ] as const) {
      table.forEach((at) => {
        digest.mix(
          entry,
          table.keyWord(at, 0),
          table.keyWord(at, 1),
          table.keyWord(at, 2),
          table.keyWord(at, 3),
          0,
          0,
          0,
          0,
        )
        digest.add()
      })
    }
    digest.mix(11, mixText(this.#settings), this.#settings.length, 0, 0, 0, 0, 0, 0)
    digest.add()
    for (const [source, [lines, isLast]] of this.#seeds) {
      digest.mix(12, source, 0, 0, 0, lines % LOW, Math.floor(lines / LOW), isLast ? 1 : 0, 0)
      digest.add()
    }
    const [, pending, processing, done, failed, refused] = counts
    return { digest: digest.toHex(), pending, processing, done, failed, refused, records }
  }

  #hashUrl(digest: StateDigest, at: number): void {
    const urls = this.#urls
    const k0 = urls.keyWord(at, 0)
    const k1 = urls.keyWord(at, 1)
    const k2 = urls.keyWord(at, 2)
    const k3 = urls.keyWord(at, 3)
    const state = this.#get(at, U.state)
    const rest = (this.#get(at, U.depth) << 8) | (this.#get(at, U.relink) << 4) | state
    digest.mix(1, k0, k1, k2, k3, rest, 0, 0, 0)
    digest.add()
    const attempts = this.#get(at, U.attempts)
    const deaths = this.#get(at, U.deaths)
    if (state === S.pending && this.#get(at, U.waits) === 1) {
      digest.mix(2, k0, k1, k2, k3, attempts, deaths, this.#get(at, U.dueLow), this.#get(at, U.dueHigh))
      digest.add()
    } else if (state === S.processing) {
      digest.mix(3, k0, k1, k2, k3, attempts, deaths, 0, 0)
      digest.add()
    }
  }

  #hashHost(digest: StateDigest, at: number): void {
    const hosts = this.#hosts
    const add = (entry: number, f0: number, f1: number, f2: number, f3: number): void => {
      digest.mix(entry, hosts[at], hosts[at + 1], hosts[at + 2], hosts[at + 3], f0, f1, f2, f3)
      digest.add()
    }
    add(4, hosts[at + H.pending], hosts[at + H.processing], hosts[at + H.done], hosts[at + H.failed])
    add(5, hosts[at + H.refused], hosts[at + H.pages], hosts[at + H.flags], hosts[at + H.level])
    const blocked = hosts[at + H.blocked]
    const bad = hosts[at + H.bad]
    if (blocked !== 0 || bad !== 0) add(6, blocked % LOW, Math.floor(blocked / LOW), bad % LOW, Math.floor(bad / LOW))
    const resolved = hosts[at + H.resolved]
    if (hosts[at + H.isResolved] === 1) add(7, hosts[at + H.addresses], 0, resolved % LOW, Math.floor(resolved / LOW))
    const delay = hosts[at + H.robotsDelay]
    for (const https of [0, 1]) {
      const verdict = hosts[at + (https ? H.verdictHttps : H.verdictHttp)]
      if (verdict === 0) continue
      const until = hosts[at + (https ? H.untilHttps : H.untilHttp)]
      const attempts = hosts[at + (https ? H.attemptsHttps : H.attemptsHttp)]
      add(8, verdict | (https << 8) | (attempts << 16), delay, until % LOW, Math.floor(until / LOW))
    }
  }
}

/** A reason that shows a connection was accepted. */
function tellsOfAnswer(reason: number): boolean {
  return reason === REASONS['connect.reset'] || reason === REASONS['tls.invalid'] || (reason >= 16 && reason <= 39)
}
