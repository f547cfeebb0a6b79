/**
 * A fork: a new DIR whose log is another crawl's up to a cut, and goes on by itself from there.
 *
 * Sealed segments become second names of the parent's files, those in which the cut falls are copied. FORMAT.md wants all
 * segments of a log to state the same crawl, so a fork keeps its parent's crawl id; its `forked` record tells them apart.
 *
 * Invariants: the parent is only read. A death half way leaves DIR/FORKING, and every command refuses a DIR with that.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { nodeDisk } from '../adapters/disk.ts'
import { acquireLock } from '../adapters/lock.ts'
import { CrawlError } from '../base/errors.ts'
import { changeSettings, type Settings } from '../core/settings.ts'
import type { Disk } from '../env/disk.ts'
import { copyFile, copyLastSegment, shareSegment } from '../log/copying.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { logDirectory } from '../shard/generations.ts'
import { pagesEndAt } from '../shard/opening.ts'
import { socketPathOf } from './control.ts'
import { createEnv } from './env.ts'
import { type Layout, layoutOf } from './layout.ts'
import { readManifest, writeManifest } from './manifest.ts'
import { crawlIn, type PastCrawl } from './reading.ts'
import type { CrawlListener } from './running.ts'
import { seedSourcePath, seedSources } from './seeds.ts'
import { beginCrawl } from './starting.ts'
import type { Status } from './status.ts'

/** What is said of a directory that cannot take a fork. Errors: FORK_REFUSED. */
export function checkForkTarget(root: string): void {
  const layout = layoutOf(root)
  const refuse = (what: string, hint: string): never => {
    throw new CrawlError('FORK_REFUSED', `${root} ${what}`, { path: root }, hint)
  }
  if (!existsSync(root)) return
  if (existsSync(layout.forking)) {
    refuse('holds an unfinished fork.', 'Remove it and fork again; its parent is as it was.')
  }
  if (existsSync(layout.shard(0)) && crawlIn(nodeDisk, layout) !== undefined) {
    refuse('holds a crawl already.', 'Name a directory that does not exist yet, or remove that crawl first.')
  }
  let names: string[]
  try {
    names = readdirSync(root)
  } catch (error) {
    return refuse(`cannot be read: ${(error as Error).message}`, 'Name a directory that does not exist yet.')
  }
  if (names.length > 0) refuse('is not empty.', 'Name a directory that does not exist yet, or an empty one.')
}

/**
 * Makes a fork of a past, which the caller has read and keeps open. It is stopped then, and `resume` goes on with it.
 *
 * @param root     where it goes: see `checkForkTarget`
 * @param changes  settings that are others in the fork
 * @returns the fork's figures
 * Errors: FORK_REFUSED, DISK_FULL, DISK_FAILED, DISK_DENIED; what was made is removed then.
 * Cost: a name per sealed segment, a copy of two segments, and an opening.
 */
export async function forkCrawl(
  parent: Layout,
  past: PastCrawl,
  root: string,
  changes: Readonly<Partial<Settings>>,
  listener: CrawlListener,
): Promise<Status> {
  checkForkTarget(root)
  const layout = layoutOf(root)
  const wasThere = existsSync(root)
  nodeDisk.makeDirectory(root)
  try {
    markUnfinished(nodeDisk, layout, parent)
    const lock = acquireLock(root, socketPathOf(root))
    try {
      copyParent(nodeDisk, parent, past, layout)
      return await openFork(past, layout, changes, lock, listener)
    } finally {
      lock.release()
    }
  } catch (error) {
    // The mark goes last, so a death within this is one half way too.
    const made = wasThere ? readdirSync(root).filter((name) => name !== 'FORKING') : []
    for (const name of [...made, 'FORKING']) rmSync(join(root, name), { recursive: true, force: true })
    if (!wasThere) rmSync(root, { recursive: true, force: true })
    throw error
  }
}

function markUnfinished(disk: Disk, layout: Layout, parent: Layout): void {
  const file = disk.open(layout.forking, 'create')
  try {
    file.write(Buffer.from(`${parent.root}\n`), 0)
    file.syncNow()
  } finally {
    file.close()
  }
  disk.syncDirectory(layout.root)
}

/** All files of the fork but its database, each durable. */
function copyParent(disk: Disk, parent: Layout, { logs, cut, state }: PastCrawl, layout: Layout): void {
  const pagesEnd = pagesEndAt(logs.events, logs.pages, cut.position)
  const [from, to] = [parent.shard(0), layout.shard(0)]
  copyLog(disk, logs.events, logDirectory(from, logs.generation), logDirectory(to, logs.generation), cut.position)
  // How much of its last segment counts is settled by the opening: a place in it is another once it was compressed.
  const pagesBytes = logs.pages.has(pagesEnd.segment) ? logs.pages.valBytes(pagesEnd.segment) : 0
  copyLog(disk, logs.pages, `${from}/pages`, `${to}/pages`, { segment: pagesEnd.segment, position: pagesBytes })
  disk.makeDirectory(layout.seeds)
  // What was added after the cut, the fork has never heard of.
  const known = seedSources(parent.seeds).filter((source) => source === 0 || state.seeds[source] !== undefined)
  for (const source of known) {
    copyFile(disk, seedSourcePath(parent.seeds, source), seedSourcePath(layout.seeds, source))
  }
  disk.syncDirectory(layout.seeds)
  const manifest = readManifest(disk, parent)
  const crawlId = Buffer.from(logs.events.header?.crawlId ?? []).toString('hex')
  const inherited = manifest ?? { version: 1, shards: 1, horizonMs: 0, horizonSequence: 0 }
  writeManifest(disk, layout, { ...inherited, crawlId, generation: logs.generation })
}

function copyLog(disk: Disk, log: OpenedLog, from: string, to: string, end: Position): void {
  disk.makeDirectory(to)
  for (const { number } of log.segments) {
    if (number < end.segment) shareSegment(disk, from, to, number)
    else if (number === end.segment) copyLastSegment(disk, from, to, number, end.position)
  }
  disk.syncDirectory(to)
}

/** The first records of the fork, a checkpoint, and the end of the mark that it is unfinished. */
async function openFork(
  { state, cut, logs }: PastCrawl,
  layout: Layout,
  changes: Readonly<Partial<Settings>>,
  lock: ReturnType<typeof acquireLock>,
  listener: CrawlListener,
): Promise<Status> {
  const settings = changeSettings(state.settings, changes)
  const crawlId = logs.events.header?.crawlId ?? new Uint8Array(0)
  const env = createEnv(settings)
  try {
    const open = await beginCrawl({
      ...{ env, layout, lock, listener, settings, act: 'fork', crawlId },
      generation: logs.generation,
      forked: { crawlId: Buffer.from(crawlId).toString('hex'), sequence: cut.sequence, timeMs: cut.timeMs },
      checkpoint: { state, from: cut.position },
    })
    // Also where the cut is of before the first seed: nothing is fetched, so it ends where it begins.
    await open.close()
    const status = open.crawl.statusAtEnd()
    nodeDisk.remove(layout.forking)
    nodeDisk.syncDirectory(layout.root)
    return status
  } catch (error) {
    await env.close()
    throw error
  }
}
