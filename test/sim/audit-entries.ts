/** What the audit keeps of each URL and host, and what each of them adds to the state digest, by rules of its own. */
import { type Key, word } from '../../src/base/md5.ts'
import type { CrawlEvent } from '../../src/core/event.ts'
import { StateDigest } from '../../src/tables/digest.ts'

export const STATES = ['', 'pending', 'processing', 'done', 'failed', 'refused'] as const
/** Entries of the digest, as frozen on disk. */
export const ENTRY = {
  url: 1,
  waiting: 2,
  processing: 3,
  counts: 4,
  more: 5,
  blocked: 6,
  addresses: 7,
  robots: 8,
  content: 9,
  scope: 10,
  settings: 11,
  seeds: 12,
} as const
const RELINK = 16

export interface UrlEntry {
  readonly url: string
  readonly key: Key
  /** Of the key, for the digest. */
  readonly words: readonly number[]
  readonly host: HostEntry
  state: (typeof STATES)[number]
  /** Class or reason of a failed or refused URL. */
  why: string
  depth: number
  relink: boolean
  /** Set while it waits. */
  waiting: { readonly attempts: number; readonly deaths: number; readonly dueMs: number } | undefined
  attempts: number
  deaths: number
  claims: number
  /** The request of the present claim has left. */
  isRequested: boolean
  lastOutcome: CrawlEvent | undefined
}

export interface HostEntry {
  readonly name: string
  readonly key: Key
  readonly words: readonly number[]
  readonly counts: Record<(typeof STATES)[number], number>
  pages: number
  flags: number
  level: number
  blockedUntilMs: number
  badUntilMs: number
  robotsDelayMs: number
  /** By scheme. A robots.txt asked for may be requested once. */
  readonly robots: { http: Robots; https: Robots }
}

interface Robots {
  isAsked: boolean
  isRequested: boolean
  verdict: number
  attempts: number
  untilMs: number
}

export function createHost(name: string, key: Key): HostEntry {
  const robots = () => ({ isAsked: false, isRequested: false, verdict: 0, attempts: 0, untilMs: 0 })
  return {
    ...{ name, key, words: wordsOf(key), pages: 0, flags: 0, level: 0 },
    ...{ blockedUntilMs: 0, badUntilMs: 0, robotsDelayMs: 0 },
    counts: { '': 0, pending: 0, processing: 0, done: 0, failed: 0, refused: 0 },
    robots: { http: robots(), https: robots() },
  }
}

export function createUrl(url: string, key: Key, host: HostEntry, depth: number): UrlEntry {
  return {
    ...{ url, key, words: wordsOf(key), host, state: 'pending', why: '', depth, relink: false, waiting: undefined },
    ...{ attempts: 0, deaths: 0, claims: 0, isRequested: false, lastOutcome: undefined },
  }
}

/** The state digest as a sum over entries that are set, changed and removed by name. */
export class EntrySum {
  readonly #digest = new StateDigest()
  readonly #entries = new Map<string, readonly number[]>()

  get hex(): string {
    return this.#digest.toHex()
  }

  /** @param fields nine words; undefined removes the entry */
  set(id: string, fields: readonly number[] | undefined): void {
    const before = this.#entries.get(id)
    if (before !== undefined) {
      this.#mix(before)
      this.#digest.subtract()
    }
    if (fields === undefined) {
      this.#entries.delete(id)
      return
    }
    this.#entries.set(id, fields)
    this.#mix(fields)
    this.#digest.add()
  }

  /** An entry that is only there, once. */
  add(id: string, kind: number, key: Key): void {
    if (!this.#entries.has(id)) this.set(id, [kind, ...wordsOf(key), 0, 0, 0, 0])
  }

  putUrl(entry: UrlEntry): void {
    const rest = (entry.depth << 8) | (entry.relink ? RELINK : 0) | STATES.indexOf(entry.state)
    this.set(`url ${entry.key}`, [ENTRY.url, ...entry.words, rest, 0, 0, 0])
  }

  putWaiting({ key, words, waiting }: UrlEntry): void {
    const fields = waiting && [ENTRY.waiting, ...words, waiting.attempts, waiting.deaths, ...halves(waiting.dueMs)]
    this.set(`waiting ${key}`, fields)
  }

  putProcessing({ key, words, state, attempts, deaths }: UrlEntry): void {
    const isFetched = state === 'processing'
    this.set(`processing ${key}`, isFetched ? [ENTRY.processing, ...words, attempts, deaths, 0, 0] : undefined)
  }

  putHost(host: HostEntry, what: string, kind: number, fields: readonly number[]): void {
    this.set(`${what} ${host.key}`, [kind, ...host.words, ...fields])
  }

  putCounts(host: HostEntry): void {
    const { pending, processing, done, failed, refused } = host.counts
    this.putHost(host, 'counts', ENTRY.counts, [pending, processing, done, failed])
    this.putHost(host, 'more', ENTRY.more, [refused, host.pages, host.flags, host.level])
  }

  putBlocked(host: HostEntry): void {
    this.putHost(host, 'blocked', ENTRY.blocked, [...halves(host.blockedUntilMs), ...halves(host.badUntilMs)])
  }

  putRobots(host: HostEntry): void {
    for (const scheme of ['http', 'https'] as const) {
      const { verdict, attempts, untilMs } = host.robots[scheme]
      if (verdict === 0) continue
      const f0 = verdict | (attempts << 16) | (scheme === 'https' ? 256 : 0)
      this.putHost(host, `robots ${scheme}`, ENTRY.robots, [f0, host.robotsDelayMs, ...halves(untilMs)])
    }
  }

  #mix([kind, k0, k1, k2, k3, f0, f1, f2, f3]: readonly number[]): void {
    this.#digest.mix(kind, k0, k1, k2, k3, f0, f1, f2, f3)
  }
}

function wordsOf(key: Key): number[] {
  return [word(key, 0), word(key, 1), word(key, 2), word(key, 3)]
}

/** A number above 32 bits as two words. */
export function halves(value: number): [number, number] {
  return [value % 2 ** 32, Math.floor(value / 2 ** 32)]
}
