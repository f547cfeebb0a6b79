/** `verify --repair` of a directory: under its lock, with the disk, the clock and the database of this machine. */
import { existsSync } from 'node:fs'
import { createClock } from '../adapters/clock.ts'
import { type OpenedCrawlDb, openCrawlDb } from '../adapters/crawl-db.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { acquireLock } from '../adapters/lock.ts'
import { createRandom } from '../adapters/random.ts'
import { CrawlError } from '../base/errors.ts'
import type { DecodeContent } from '../env/content.ts'
import { socketPathOf } from './control.ts'
import { type Layout, layoutOf } from './layout.ts'
import { type Repair, type RepairStep, repairCrawl } from './repairing.ts'
import { segmentBytes } from './segment-bytes.ts'

/**
 * Errors: DIR_NO_CRAWL, DIR_IN_USE, LOG_NEWER, DISK_FULL, DISK_FAILED, DISK_DENIED; the crawl is the damaged one then.
 * Cost: see `repairCrawl`.
 */
export function repairDir(
  root: string,
  decode: DecodeContent,
  onProgress: (step: RepairStep, done: number, max: number) => void,
): Repair {
  const layout = layoutOf(root)
  if (!existsSync(root)) throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${root}.`, { path: root })
  const lock = acquireLock(root, socketPathOf(root))
  let database: OpenedCrawlDb | undefined
  try {
    const openStore = (setAside: (path: string) => void): { store: OpenedCrawlDb['store']; note: string } => {
      const opened = openDatabase(layout, setAside)
      database = opened
      return { store: opened.store, note: opened.message }
    }
    const nowMs = createClock().wallMs()
    const tools = { disk: nodeDisk, random: createRandom(), decode, nowMs, openStore, onProgress, ...segmentBytes() }
    return repairCrawl(tools, layout)
  } finally {
    database?.store.close()
    lock.release()
  }
}

/** A database that cannot be read goes aside with its journal, and a new one is begun: nothing is in it alone. */
function openDatabase({ database: path }: Layout, setAside: (path: string) => void): OpenedCrawlDb {
  const isThere = existsSync(path)
  const found = openCrawlDb(path, 'read')
  found.store.close()
  if (isThere && found.message !== '')
    for (const companion of ['', '-journal', '-wal', '-shm']) setAside(path + companion)
  const opened = openCrawlDb(path)
  if (opened.message !== '' || found.message === '') return opened
  return {
    ...opened,
    message: 'crawl.db could not be read, and is begun anew; replays are longer until a checkpoint is saved.',
  }
}
