/**
 * Single bits flipped in the image of a checkpoint and in crawl.db: they make a replay shorter and nothing else, so
 * whatever happens to them the crawl opens with the undamaged digest.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCrawlDb } from '../../src/adapters/crawl-db.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { createState } from '../../src/core/state.ts'
import { closeLogs } from '../../src/crawl/reading.ts'
import type { Checkpoint, CheckpointStore } from '../../src/env/checkpoints.ts'
import { loadCheckpoint } from '../../src/shard/checkpoint.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import type { Report } from './damage.ts'
import { type SampleCrawl, SHARD } from './sample-crawl.ts'

interface Loaded {
  readonly digest: string
  readonly isUsed: boolean
  /** The log was said to be damaged, which it is not. */
  readonly isAlarmed: boolean
  readonly messages: readonly string[]
}

/** The state of the crawl as `resume` makes it: from a checkpoint where one can be used, and the log behind it. */
function load(disk: SimulatedDisk, store: CheckpointStore): Loaded {
  const opened = openShardLogs(disk, SHARD, 'read', newest(store))
  const messages: string[] = [...opened.messages]
  const onMessage = (message: string): void => void messages.push(message)
  const checkpoint = loadCheckpoint(disk, SHARD, opened, store, 0, { setsAside: true, onMessage })
  const state = checkpoint?.state ?? createState()
  replay(state, opened.events, checkpoint === undefined ? {} : { from: checkpoint.from })
  closeLogs(opened)
  const isAlarmed = opened.messages.length > 0
  return { digest: state.digest.toHex(), isUsed: checkpoint !== undefined, isAlarmed, messages }
}

function newest(store: CheckpointStore): Checkpoint | undefined {
  try {
    return store.newestCheckpoint(0)
  } catch (error) {
    if (error instanceof CrawlError) return undefined
    throw error
  }
}

/** Flips `count` bits of the image, one at a time: it is never used then, and that is said. */
export function flipImage({ ended, checkpoints }: SampleCrawl, count: number, report: Report): void {
  const right = load(ended, checkpoints)
  if (!right.isUsed) report.disagreements.push('the undamaged checkpoint is not used')
  const path = `${SHARD}/${checkpoints.newestCheckpoint(0)?.path}`
  const image = ended.peek(path) as Uint8Array
  const disk = ended.clone()
  for (let i = 0; i < count; i++) {
    const at = i % 4 === 0 ? Math.floor(Math.random() * 200) : Math.floor(Math.random() * image.length)
    const flipped = image.slice()
    flipped[at] ^= 1 << Math.floor(Math.random() * 8)
    disk.poke(path, flipped)
    const said = outcomeOf(() => load(disk, checkpoints), right.digest)
    if (said !== 'passed over') report.disagreements.push(`image, byte ${at}: ${said}`)
    note(report, `ended · flip image · ${said.slice(0, 20)}`)
  }
}

/** Flips `count` bits of crawl.db, one at a time. SQLite has no checksums: what it gives is believed only as far as the log agrees. */
export function flipDatabase({ ended, checkpoints }: SampleCrawl, count: number, report: Report): void {
  const directory = mkdtempSync(join(tmpdir(), 'crawl-db-'))
  try {
    const bytes = databaseOf(directory, checkpoints)
    const right = load(ended, checkpoints)
    // Most of the file is empty.
    const filled = [...bytes.keys()].filter((at) => bytes[at] !== 0)
    for (let i = 0; i < count; i++) {
      for (const name of readdirSync(directory)) rmSync(join(directory, name))
      const path = join(directory, 'crawl.db')
      const at =
        i % 4 === 0 ? Math.floor(Math.random() * bytes.length) : filled[Math.floor(Math.random() * filled.length)]
      const flipped = Buffer.from(bytes)
      flipped[at] ^= 1 << Math.floor(Math.random() * 8)
      writeFileSync(path, flipped)
      const said = outcomeOf(() => loadFrom(path, ended), right.digest)
      if (said.startsWith('!')) report.disagreements.push(`crawl.db, byte ${at}: ${said}`)
      note(report, `ended · flip crawl.db · ${said.slice(0, 20)}`)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function databaseOf(directory: string, checkpoints: SampleCrawl['checkpoints']): Buffer {
  const path = join(directory, 'crawl.db')
  const { store } = openCrawlDb(path)
  store.meta = { crawlId: '07'.repeat(16), createdMs: Date.now(), version: '0' }
  for (const checkpoint of checkpoints.checkpointsBefore(0, Number.POSITIVE_INFINITY, 0))
    store.addCheckpoint(checkpoint)
  store.close()
  return readFileSync(path)
}

function loadFrom(path: string, disk: SimulatedDisk): Loaded {
  const { store, message } = openCrawlDb(path)
  try {
    const loaded = load(disk, store)
    return message === '' ? loaded : { ...loaded, messages: [message, ...loaded.messages] }
  } finally {
    store.close()
  }
}

function outcomeOf(run: () => Loaded, digest: string): string {
  try {
    const loaded = run()
    if (loaded.digest !== digest) return '! another digest'
    if (loaded.isAlarmed) return `! false alarm: ${loaded.messages.join(' ')}`
    if (loaded.isUsed) return 'used'
    return loaded.messages.length > 0 ? 'passed over' : 'not there'
  } catch (error) {
    return `! CRASH ${(error as Error).stack?.split('\n').slice(0, 4).join(' | ')}`
  }
}

function note(report: Report, what: string): void {
  report.counts.set(what, (report.counts.get(what) ?? 0) + 1)
}
