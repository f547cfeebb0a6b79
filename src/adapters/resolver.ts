/**
 * Host names to addresses through c-ares: asynchronous, with the records' own time to live, off the thread pool.
 *
 * Invariant: one look-up in flight per name, at most `lookupsMax` in all; every caller is called back once, in a
 * microtask of its own. The addresses are what the servers said: judging them (private, loopback) is the caller's work.
 * Parts: `resolver-cache.ts` what is remembered; `resolver-hosts.ts` what needs no server.
 * Rejected: `dns.lookup`, which holds one of four threads for as long as a name server is silent.
 */

import { Resolver as Ares, NODATA, NOTFOUND, type RecordWithTtl } from 'node:dns'
import type { Clock } from '../env/clock.ts'
import type { Resolution, Resolver } from '../env/resolver.ts'
import { createClock } from './clock.ts'
import { ResolverCache } from './resolver-cache.ts'
import { knownWithoutServer, readHostsFile } from './resolver-hosts.ts'

export interface ResolverOptions {
  /** Name servers, `ADDRESS` or `ADDRESS:PORT` (`[V6]:PORT`); default: the system's. */
  readonly servers?: readonly string[]
  /** Names remembered, about 300 bytes each; default 10,000. */
  readonly cacheEntriesMax?: number
  /** Bounds on the records' time to live, milliseconds; default 10 s to 1 day. */
  readonly ttlMinMs?: number
  readonly ttlMaxMs?: number
  /** How long a name without address is remembered, milliseconds; default 60 s. Passing failures: 1 s. */
  readonly negativeMs?: number
  /** Wait for the first reply of a server, milliseconds, default 5,000; c-ares waits longer at each further try. */
  readonly timeoutMs?: number
  /** Tries per server; default 2. */
  readonly tries?: number
  /** Names looked up at once, the rest wait; default 256. */
  readonly lookupsMax?: number
  /** Default `/etc/hosts`, read once; a missing file is empty. */
  readonly hostsFile?: string
  /** For expiry and for the wait for a second answer; default: the machine's. */
  readonly clock?: Clock
}

/** A resolver that can be shut down. */
export interface AresResolver extends Resolver {
  /** Gives up all look-ups; each is called back as `dns.temporary`, and so are later ones. */
  stop(): void
}

/** With addresses of one family at hand, the wait for the other: some servers never answer for IPv6. */
const SECOND_FAMILY_MS = 500
/** A failure of the servers is remembered this long: enough to spare them a burst of questions for one host. */
const TEMPORARY_MS = 1000

type Done = (answer: Resolution) => void
type FamilyReply = { readonly code: string } | { readonly records: readonly RecordWithTtl[] }

export function createResolver(options: ResolverOptions = {}): AresResolver {
  return new CachingResolver(options)
}

class CachingResolver implements AresResolver {
  private readonly ares: Ares
  private readonly clock: Clock
  private readonly cache: ResolverCache
  private readonly hosts: ReadonlyMap<string, readonly string[]>
  private readonly ttlMinMs: number
  private readonly ttlMaxMs: number
  private readonly negativeMs: number
  private readonly lookupsMax: number
  /** Callers by name, for every name in flight or queued. */
  private readonly waiting = new Map<string, Done[]>()
  private readonly queue: string[] = []
  private running = 0
  private isStopped = false

  constructor(options: ResolverOptions) {
    this.ares = new Ares({ timeout: options.timeoutMs ?? 5000, tries: options.tries ?? 2 })
    if (options.servers !== undefined && options.servers.length > 0) this.ares.setServers(options.servers)
    this.clock = options.clock ?? createClock()
    this.cache = new ResolverCache(options.cacheEntriesMax ?? 10_000, () => this.clock.monotonicMs())
    this.hosts = readHostsFile(options.hostsFile ?? '/etc/hosts')
    this.ttlMinMs = options.ttlMinMs ?? 10_000
    this.ttlMaxMs = options.ttlMaxMs ?? 86_400_000
    this.negativeMs = options.negativeMs ?? 60_000
    this.lookupsMax = options.lookupsMax ?? 256
  }

  resolve(hostname: string, done: Done): void {
    const name = canonicalName(hostname)
    const addresses = knownWithoutServer(name, this.hosts)
    const known = addresses === undefined ? this.cache.get(name) : found(addresses, this.ttlMaxMs)
    if (known !== undefined) queueMicrotask(() => done(known))
    else if (this.isStopped) queueMicrotask(() => done(temporary(name, 'stopped')))
    else this.enqueue(name, done)
  }

  stop(): void {
    this.isStopped = true
    const queued = this.queue.splice(0)
    for (const name of queued) this.callBack(name, temporary(name, 'stopped'))
    this.ares.cancel()
  }

  private enqueue(name: string, done: Done): void {
    const others = this.waiting.get(name)
    if (others !== undefined) {
      others.push(done)
      return
    }
    this.waiting.set(name, [done])
    if (this.running < this.lookupsMax) this.lookUp(name)
    else this.queue.push(name)
  }

  private lookUp(name: string): void {
    this.running++
    askBothFamilies(this.ares, this.clock, name, (v4, v6) => {
      const answer = this.judge(name, v4, v6)
      this.cache.set(name, answer, this.rememberMs(answer))
      this.running--
      const next = this.queue.shift()
      if (next !== undefined) this.lookUp(next)
      this.callBack(name, answer)
    })
  }

  private callBack(name: string, answer: Resolution): void {
    const callers = this.waiting.get(name) ?? []
    this.waiting.delete(name)
    for (const done of callers) queueMicrotask(() => done(answer))
  }

  private judge(name: string, v4: FamilyReply, v6: FamilyReply): Resolution {
    // IPv4 first: many crawlers have no route for IPv6, and none lacks IPv4.
    const records = [...recordsOf(v4), ...recordsOf(v6)]
    if (records.length > 0) {
      const ttlMs = Math.min(...records.map((record) => record.ttl)) * 1000
      return found([...new Set(records.map((record) => record.address))], this.boundedTtlMs(ttlMs))
    }
    const codes = [v4, v6].flatMap((reply) => ('code' in reply ? [reply.code] : []))
    // A name that does not exist has no records of any kind, whatever became of the other question (RFC 8020).
    if (codes.some(isNoSuchName) || codes.every(isNoAddress)) return notFound(name, codes[0] ?? NODATA)
    return temporary(name, codes.find((code) => !isNoAddress(code)) ?? 'no answer')
  }

  private boundedTtlMs(ttlMs: number): number {
    return Math.min(Math.max(ttlMs, this.ttlMinMs), this.ttlMaxMs)
  }

  private rememberMs(answer: Resolution): number {
    if (answer.kind === 'addresses') return answer.ttlMs
    return answer.class === 'dns.notfound' ? this.negativeMs : TEMPORARY_MS
  }
}

/** Asks for A and AAAA at once; calls back when both are known, or soon after one of them has given addresses. */
function askBothFamilies(
  ares: Ares,
  clock: Clock,
  name: string,
  done: (v4: FamilyReply, v6: FamilyReply) => void,
): void {
  const replies: [FamilyReply | null, FamilyReply | null] = [null, null]
  let isDone = false
  let cancelWait = () => {}
  const finish = () => {
    if (isDone) return
    isDone = true
    cancelWait()
    done(replies[0] ?? { code: NODATA }, replies[1] ?? { code: NODATA })
  }
  const take = (family: 0 | 1) => (error: Error | null, records: RecordWithTtl[] | undefined) => {
    replies[family] = error === null ? { records: records ?? [] } : { code: codeOf(error) }
    if (replies[0] !== null && replies[1] !== null) finish()
    else if (error === null && !isDone) cancelWait = clock.after(SECOND_FAMILY_MS, finish)
  }
  ares.resolve4(name, { ttl: true }, take(0))
  ares.resolve6(name, { ttl: true }, take(1))
}

function canonicalName(hostname: string): string {
  const name = hostname.toLowerCase()
  return name.endsWith('.') ? name.slice(0, -1) : name
}

function recordsOf(reply: FamilyReply): readonly RecordWithTtl[] {
  return 'records' in reply ? reply.records : []
}

function isNoSuchName(code: string): boolean {
  return code === NOTFOUND || code === 'EBADNAME'
}

function isNoAddress(code: string): boolean {
  return code === NODATA || isNoSuchName(code)
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}

function found(addresses: readonly string[], ttlMs: number): Resolution {
  return { kind: 'addresses', addresses, ttlMs }
}

function notFound(name: string, code: string): Resolution {
  const what = code === NODATA ? 'has no address' : 'does not exist'
  return { kind: 'trouble', class: 'dns.notfound', message: `${name} ${what} (${code})` }
}

function temporary(name: string, code: string): Resolution {
  return { kind: 'trouble', class: 'dns.temporary', message: `no name server answered for ${name} (${code})` }
}
