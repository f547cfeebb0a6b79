/**
 * Creating a crawl, and opening one that is there to go on with it.
 *
 * A crawl exists from its first valid `open` record; a DIR with less counts as empty.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openCrawlDb } from '../adapters/crawl-db.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { acquireLock, type DirLock } from '../adapters/lock.ts'
import { CrawlError } from '../base/errors.ts'
import { changeSettings, type Settings } from '../core/settings.ts'
import { loadCheckpoint, saveCheckpoint } from '../shard/checkpoint.ts'
import { openShard, openShardLogs } from '../shard/opening.ts'
import { closeShard } from '../shard/stopping.ts'
import { socketPathOf } from './control.ts'
import { createEnv, type RealEnv } from './env.ts'
import { type Layout, layoutOf } from './layout.ts'
import { LiveCompaction } from './live-compacting.ts'
import { statedGeneration, writeManifest } from './manifest.ts'
import { crawlIn, keyMessages } from './reading.ts'
import { type CrawlListener, RunningCrawl } from './running.ts'
import { copySeeds, type SeedInput } from './seeds.ts'
import { segmentBytes } from './segment-bytes.ts'
import { serveControl } from './serving.ts'
import { VERSION } from './version.ts'

/** A crawl that is open for writing, with all that must be closed after it. */
export interface OpenCrawl {
  readonly crawl: RunningCrawl
  readonly layout: Layout
  /** Closes what is left open; call once the crawl has ended. Saves a checkpoint where it fits. */
  close(): Promise<void>
}

/**
 * Creates DIR and the crawl in it; nothing is fetched until `crawl.run()`.
 * Errors: DIR_HOLDS_CRAWL, DIR_IN_USE, DISK_DENIED, USAGE (seeds that cannot be read).
 */
export async function startCrawl(
  root: string,
  settings: Settings,
  seeds: SeedInput,
  listener: CrawlListener,
): Promise<OpenCrawl> {
  const layout = layoutOf(root)
  makeRoot(root)
  const lock = acquireLock(root, socketPathOf(root))
  const env = createEnv(settings)
  try {
    if (crawlIn(env.disk, layout))
      throw new CrawlError('DIR_HOLDS_CRAWL', `${root} holds a crawl already.`, { path: root })
    removeLeftovers(layout)
    await copySeeds(layout.seeds, seeds)
    const crawlId = randomBytes(env, 16)
    writeManifest(env.disk, layout, {
      version: 1,
      crawlId: Buffer.from(crawlId).toString('hex'),
      shards: 1,
      generation: 0,
      horizonMs: 0,
      horizonSequence: 0,
    })
    return await begin({ env, layout, lock, listener, settings, act: 'start', crawlId, generation: 0 })
  } catch (error) {
    await env.close()
    lock.release()
    throw error
  }
}

/**
 * Opens the crawl in DIR to go on with it. `changes` are settings chosen now; those that may not change are refused.
 * Errors: DIR_NO_CRAWL, DIR_IN_USE, LOG_CORRUPT, LOG_NEWER, DISK_DENIED.
 */
export async function resumeCrawl(
  root: string,
  changes: Readonly<Partial<Settings>>,
  listener: CrawlListener,
  act = 'resume',
): Promise<OpenCrawl> {
  const layout = layoutOf(root)
  if (!existsSync(root)) throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${root}.`, { path: root })
  const lock = acquireLock(root, socketPathOf(root))
  let env: RealEnv | undefined
  try {
    const before = crawlIn(nodeDisk, layout)
    if (before === undefined) throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${root}.`, { path: root })
    const settings = changeSettings(before.settings, changes)
    env = createEnv(settings)
    const { crawlId } = before
    return await begin({
      env,
      layout,
      lock,
      listener,
      settings,
      act,
      crawlId,
      generation: statedGeneration(env.disk, layout),
    })
  } catch (error) {
    await env?.close()
    lock.release()
    throw error
  }
}

interface Beginning {
  readonly env: RealEnv
  readonly layout: Layout
  readonly lock: DirLock
  readonly listener: CrawlListener
  readonly settings: Settings
  readonly act: string
  readonly crawlId: Uint8Array
  /** That MANIFEST states. */
  readonly generation: number | undefined
}

async function begin(beginning: Beginning): Promise<OpenCrawl> {
  const { env, layout, lock, listener, settings, act, crawlId, generation } = beginning
  const database = openCrawlDb(layout.database)
  const warn = (message: string): void => listener.onMessage('warn', message)
  if (database.message !== '') warn(database.message)
  const directory = layout.shard(0)
  const known = database.store.newestCheckpoint(0)
  const opened = openShardLogs(env.disk, directory, 'write', known, generation)
  for (const message of [...opened.messages, ...keyMessages(opened.events)]) warn(message)
  const checkpoint = loadCheckpoint(env.disk, directory, opened, database.store, 0, {
    setsAside: true,
    onMessage: warn,
  })
  const shard = openShard(env, directory, opened, {
    identity: { crawlId, shard: 0, generation: opened.generation },
    version: VERSION,
    pid: process.pid,
    shardCount: 1,
    settings: JSON.stringify(settings),
    act,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(listener.onReplay === undefined ? {} : { onProgress: listener.onReplay }),
    ...segmentBytes(),
  })
  const crawl = new RunningCrawl(env, layout, shard, listener)
  const compaction = new LiveCompaction(shard, layout, database.store, opened.generation)
  const control = await serveControl(crawl, compaction, socketPathOf(layout.root))
  return {
    crawl,
    layout,
    close: async () => {
      control.close()
      if (!shard.hasEnded) closeShard(shard, 'closed')
      if (!compaction.hasMoved) saveCheckpoint(shard, database.store)
      await compaction.close()
      database.store.close()
      await env.close()
      lock.release()
    },
  }
}

function makeRoot(root: string): void {
  try {
    nodeDisk.makeDirectory(root)
  } catch (error) {
    throw new CrawlError('DISK_DENIED', `${root} cannot be created: ${(error as Error).message}`, { path: root })
  }
}

/** What a death between creating DIR and the first record left: it never was a crawl. */
function removeLeftovers(layout: Layout): void {
  for (const path of [join(layout.root, 'shards'), layout.seeds, layout.database, layout.manifest]) {
    rmSync(path, { recursive: true, force: true })
  }
}

function randomBytes(env: RealEnv, count: number): Uint8Array {
  const bytes = new Uint8Array(count)
  for (let i = 0; i < count; i++) bytes[i] = env.random.uint32() & 0xff
  return bytes
}
