/**
 * A running crawl: one process that owns DIR. Creates or opens it, feeds the seeds, watches limits, answers `status`,
 * and ends in order.
 *
 * Invariant: whatever ends it (finished, a limit, a stop, a failure of the disk), the log ends between two records and
 * the promise is settled once.
 */
import { CrawlError } from '../base/errors.ts'
import type { SeedsObservation } from '../core/observation.ts'
import { reasonOf } from '../core/reasons.ts'
import { reviveExpired } from '../shard/reopening.ts'
import { isFinished, strandedHosts } from '../shard/shard.ts'
import { type Shard, wake } from '../shard/shard-parts.ts'
import { abandonShard, closeShard } from '../shard/stopping.ts'
import { whenSynced } from '../shard/syncing.ts'
import type { RealEnv } from './env.ts'
import type { Layout } from './layout.ts'
import { readSeeds, seedSourcePath, seedSources } from './seeds.ts'
import { isComplete, type Status, statusOf } from './status.ts'

/** How often limits are looked at without a turn, and free space at most, milliseconds. */
const WATCH_MS = 1000
/** Batches of seeds on their way to the disk at once: reading goes on while they are synced. */
const SEED_BATCHES_MAX = 64
const FREE_SPACE_CHECK_MS = 5000
/** How often bad hosts are looked at for expiry, milliseconds. */
const REVIVE_MS = 60_000

export interface CrawlEnd {
  /** `finished`, `stopped`, `limit`, `disk-full`. */
  readonly kind: 'finished' | 'stopped' | 'limit' | 'disk-full'
  /** For people. */
  readonly reason: string
  readonly status: Status
}

/** What a running crawl says while it runs; all optional to listen to. */
export interface CrawlListener {
  readonly onMessage: (
    level: 'info' | 'warn' | 'error',
    text: string,
    facts?: Readonly<Record<string, string | number>>,
  ) => void
  /** While the log is replayed: items applied, and nearly those there are. */
  readonly onReplay?: (items: number, itemsMax: number) => void
}

export class RunningCrawl {
  readonly shard: Shard
  readonly env: RealEnv
  readonly layout: Layout
  readonly #listener: CrawlListener
  readonly #ended: Promise<CrawlEnd>
  #settle!: (end: CrawlEnd) => void
  #fail!: (error: unknown) => void
  #isFeeding = false
  #stopReason: { kind: CrawlEnd['kind']; reason: string } | undefined
  #checkedSpaceMs = Number.NEGATIVE_INFINITY
  #revivedMs = Number.NEGATIVE_INFINITY
  readonly #startedMs: number
  #runMsBefore: number

  constructor(env: RealEnv, layout: Layout, shard: Shard, listener: CrawlListener) {
    this.env = env
    this.layout = layout
    this.shard = shard
    this.#listener = listener
    this.#startedMs = env.clock.monotonicMs()
    this.#runMsBefore = shard.totals.runMs
    this.#ended = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    shard.onTurn = () => this.#afterTurn()
    shard.onFailure = (error) => this.#failed(error)
  }

  /** Crawls until nothing is left, a limit is reached or `stop` is called. Errors: what the disk or the log threw. */
  run(): Promise<CrawlEnd> {
    this.#revive()
    // Every seed opens its part of the scope before the first page is fetched: a link to the host of a later seed would
    // else be turned away.
    void this.feedSeeds().then(() => {
      this.shard.isClaiming = this.#stopReason === undefined
      wake(this.shard)
    })
    this.#watch()
    return this.#ended
  }

  /** Limits of time and space hold also while every host waits and no turn is taken. */
  #watch(): void {
    this.env.clock.after(WATCH_MS, () => {
      if (this.shard.hasEnded) return
      this.#checkLimits()
      this.#revive()
      this.#watch()
    })
  }

  /** Stops in order at the end of the turn in hand. */
  stop(reason: string, kind: CrawlEnd['kind'] = 'stopped'): void {
    if (this.#stopReason !== undefined || this.shard.hasEnded) return
    this.#stopReason = { kind, reason }
    this.shard.isClaiming = false
    wake(this.shard)
  }

  /** Reads the seed sources that are not settled yet, batch by batch, and waits until all are in the log. */
  async feedSeeds(): Promise<void> {
    if (this.#isFeeding) return
    this.#isFeeding = true
    try {
      for (let source = this.#unreadSource(); source >= 0; source = this.#unreadSource()) await this.#feedSource(source)
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isFeeding = false
    }
    wake(this.shard)
  }

  /** The first source that is not settled, also one that was added meanwhile; −1 where there is none. */
  #unreadSource(): number {
    if (this.shard.hasEnded) return -1
    return seedSources(this.layout.seeds).find((source) => !this.shard.state.seeds[source]?.isLast) ?? -1
  }

  async #feedSource(source: number): Promise<void> {
    const cursor = this.shard.state.seeds[source]
    if (cursor?.isLast) return
    const path = seedSourcePath(this.layout.seeds, source)
    const batches: Promise<void>[] = []
    for await (const { urls, lines, isLast, bad } of readSeeds(path, cursor?.lines ?? 0, this.shard.state.settings)) {
      for (const { line, text, why } of bad) {
        this.#listener.onMessage('warn', `seed line ${line}: ${why}: ${JSON.stringify(text)}`, { source, line })
      }
      if (this.shard.hasEnded) return
      batches.push(this.#observeSeeds({ kind: 'seeds', source, lines, isLast, urls }))
      // A crawl that ends meanwhile never acknowledges: its seeds are read again by `resume`.
      if (batches.length >= SEED_BATCHES_MAX) await batches.shift()
    }
    await Promise.all(batches)
  }

  /** Resolves when the seeds are in the log and synced. */
  #observeSeeds(observation: SeedsObservation): Promise<void> {
    return new Promise((done) => {
      this.shard.inbox.push({ kind: 'owner', observation, done })
      wake(this.shard)
    })
  }

  /** The figures of a crawl that was closed. */
  statusAtEnd(): Status {
    return this.#statusNow()
  }

  /** The figures as of now, given out when all they tell of is synced; later records are at least 1 ms later. */
  status(): Promise<Status> {
    const status = this.#statusNow()
    this.shard.clock.closeInstant()
    return new Promise((resolve) => whenSynced(this.shard, () => resolve(status)))
  }

  /** Hosts whose badness has expired get another chance, with the URLs that failed for it. */
  #revive(): void {
    const now = this.shard.clock.now()
    if (now.monotonicMs - this.#revivedMs < REVIVE_MS) return
    this.#revivedMs = now.monotonicMs
    const reopened = reviveExpired(this.shard, now)
    if (reopened === 0) return
    this.#listener.onMessage('info', `${reopened} URLs of hosts that were bad are pending again`)
    wake(this.shard)
  }

  #statusNow(): Status {
    const { state, totals, events, clock } = this.shard
    return statusOf(state, totals, events.sequence - 1, clock.lastRecordMs)
  }

  #afterTurn(): void {
    const { shard } = this
    const now = this.env.clock.monotonicMs()
    shard.totals.runMs = this.#runMsBefore + Math.round(now - this.#startedMs)
    this.#checkLimits()
    if (this.#stopReason !== undefined) {
      // What has arrived is settled first: it was fetched already.
      if (shard.inbox.length > 0) return
      return this.#close(this.#stopReason.kind, this.#stopReason.reason)
    }
    // A crawl that was opened only to add or retry is not run, so it does not end by itself either.
    if (!shard.isClaiming) return
    if (isFinished(shard) && isComplete(shard.state)) return this.#finish()
    const stranded = strandedHosts(shard)
    if (stranded.length > 0 && !this.#isFeeding) {
      const names = stranded.map((host) => shard.source.hostName(host)).join(', ')
      throw new CrawlError(
        'LOG_CORRUPT',
        `URLs are pending that no queue holds, at: ${names}.`,
        {},
        'Please report this. `crawler verify` shows more.',
      )
    }
  }

  #checkLimits(): void {
    if (this.#stopReason !== undefined) return
    const { state, totals } = this.shard
    const { pagesMax, bytesMax, timeMaxMs, freeBytesMin } = state.settings
    if (pagesMax !== null && state.pages >= pagesMax && state.processing.count === 0)
      this.stop(`--max-pages ${pagesMax} reached`, 'limit')
    else if (bytesMax !== null && totals.bytes >= bytesMax) this.stop(`--max-bytes ${bytesMax} reached`, 'limit')
    else if (timeMaxMs !== null && totals.runMs >= timeMaxMs) this.stop(`--max-time ${timeMaxMs}ms reached`, 'limit')
    const now = this.env.clock.monotonicMs()
    if (now - this.#checkedSpaceMs < FREE_SPACE_CHECK_MS) return
    this.#checkedSpaceMs = now
    const free = this.env.disk.freeBytes(this.layout.root)
    if (free < freeBytesMin) this.stop(`only ${free} bytes are free, --min-free is ${freeBytesMin}`, 'disk-full')
  }

  /** All is crawled. The compression of sealed pages is waited for, so that the crawl is whole when it says so. */
  #finish(): void {
    const { sealing } = this.shard
    if (sealing.isRunning || sealing.waiting.length > 0) return
    this.#close('finished', 'finished')
  }

  #close(kind: CrawlEnd['kind'], reason: string): void {
    try {
      closeShard(this.shard, reason)
    } catch (error) {
      return this.#failed(error)
    }
    this.#settle({ kind, reason, status: this.#statusNow() })
  }

  #failed(error: unknown): void {
    const isFull = error instanceof CrawlError && error.code === 'DISK_FULL'
    const isClosed = abandonShard(this.shard, error instanceof Error ? error.message : String(error))
    if (!isFull) return this.#fail(error)
    const text = isClosed ? 'the disk is full' : 'the disk is full, even for the last record'
    this.#settle({ kind: 'disk-full', reason: text, status: this.#statusNow() })
  }

  /** Failures and refusals by word, most frequent first: what the last lines of a crawl name. */
  reasons(): Array<readonly [string, number]> {
    const counted = Object.entries(this.shard.totals.byReason).map(
      ([number, count]) => [reasonOf(Number(number)) ?? number, count] as const,
    )
    return counted.sort((a, b) => b[1] - a[1])
  }
}
