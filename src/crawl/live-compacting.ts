/**
 * `compact` asked of a running crawl: the segment being written is sealed, a thread compacts from the files, then the crawl
 * goes on in the new generation. It keeps reading what was compacted from the old files, which go when it ends.
 */
import { startCompactor } from '../adapters/compactor.ts'
import { CrawlError } from '../base/errors.ts'
import type { CheckpointStore } from '../env/checkpoints.ts'
import { renewCheckpoints } from '../shard/checkpoint.ts'
import { removeOtherGenerations } from '../shard/generations.ts'
import { sealForCompaction, takeOver } from '../shard/live-compaction.ts'
import type { Shard } from '../shard/shard-parts.ts'
import { type CompactionReport, commitGeneration } from './compacting.ts'
import type { Layout } from './layout.ts'
import { readManifest } from './manifest.ts'
import { segmentBytes } from './segment-bytes.ts'

export class LiveCompaction {
  readonly #shard: Shard
  readonly #layout: Layout
  readonly #store: CheckpointStore
  /** Of the files that count. */
  #generation: number
  #hasMoved = false
  #running: ReturnType<typeof startCompactor> | undefined
  #isBusy = false

  constructor(shard: Shard, layout: Layout, store: CheckpointStore, generation: number) {
    this.#shard = shard
    this.#layout = layout
    this.#store = store
    this.#generation = generation
  }

  /** The state in memory names places of an older generation: no checkpoint may be made of it. */
  get hasMoved(): boolean {
    return this.#hasMoved
  }

  /** Errors: where one is under way, or the crawl ends before it is done; LOG_CORRUPT, DISK_FULL, DISK_FAILED. */
  async compact(keepMs: number | undefined): Promise<CompactionReport> {
    if (this.#isBusy) throw new Error('a compaction is under way already')
    if (this.#shard.hasEnded) throw new Error('the crawl has ended')
    this.#isBusy = true
    try {
      return await this.#compact(keepMs)
    } finally {
      this.#isBusy = false
      this.#running = undefined
    }
  }

  async #compact(keepMs: number | undefined): Promise<CompactionReport> {
    const shard = this.#shard
    const { env, directory } = shard
    const segment =
      keepMs === undefined ? await new Promise<number>((done) => sealForCompaction(shard, done)) : undefined
    this.#running = startCompactor({
      directory,
      database: this.#layout.database,
      from: this.#generation,
      segment,
      keepMs,
      pagesSynced: shard.pages.synced,
      segmentBytesMax: segmentBytes().segmentBytesMax,
      freeBytesMin: shard.state.settings.freeBytesMin,
      wallMs: env.clock.wallMs(),
    })
    const written = await this.#running.answer
    if (written.kind === 'nothing') return this.#report(false, written.why, 0, 0)
    if (shard.hasEnded) throw new Error('the crawl has ended meanwhile')
    const { plan, horizon, checkpoint } = written
    const crawlId = shard.state.crawlId
    takeOver(shard, plan, () => commitGeneration(env.disk, this.#layout, plan.to, horizon, crawlId))
    this.#generation = plan.to
    this.#hasMoved = true
    if (checkpoint !== undefined) renewCheckpoints(env.disk, directory, this.#store, () => checkpoint)
    return this.#report(true, '', written.bytesBefore, written.bytesAfter)
  }

  #report(compacted: boolean, why: string, bytesBefore: number, bytesAfter: number): CompactionReport {
    const manifest = readManifest(this.#shard.env.disk, this.#layout)
    const { horizonMs = 0, horizonSequence = 0 } = manifest ?? {}
    return {
      ...{ compacted, why, bytesBefore, bytesAfter, pagesEmptied: 0, generation: this.#generation, running: true },
      earliest: horizonMs === 0 ? null : new Date(horizonMs).toISOString(),
      earliestSeq: horizonSequence === 0 ? null : String(horizonSequence),
    }
  }

  /** Call once the log is closed: a compaction under way is given up, and the files that do not count any more go. */
  async close(): Promise<void> {
    await this.#running?.stop()
    if (!this.#hasMoved && this.#running === undefined) return
    try {
      removeOtherGenerations(this.#shard.env.disk, this.#shard.directory, this.#generation)
    } catch (error) {
      // They are ignored, and go at the next opening.
      if (!(error instanceof CrawlError)) throw error
    }
  }
}
