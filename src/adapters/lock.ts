/**
 * The lock of a DIR: one process writes there. `BEGIN EXCLUSIVE` on DIR/lock.db, held for the life of the process: it is
 * a lock of the operating system on an open file, so it dies with its owner, however that dies.
 *
 * DIR/owner.json only says who holds it, for people and for `status`; whoever reads it believes nothing of it while the
 * lock can be had. lock.db stays empty. Nobody else may open it: closing any descriptor of a file drops a process's
 * locks on it.
 */
import {
  accessSync,
  existsSync,
  constants as fs,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { CrawlError } from '../base/errors.ts'
import { isBusy, isNoDatabase, sqliteError } from './sqlite-error.ts'

/** What DIR/owner.json holds. */
export interface Owner {
  readonly pid: number
  /** ISO 8601, UTC. */
  readonly started: string
  /** Path of the socket on which the process answers. */
  readonly socket: string
}

export interface DirLock {
  /** Gives the lock back; the second time nothing happens. */
  release(): void
}

/**
 * Takes the lock of a directory, which must exist.
 *
 * @param socket  where this process will answer
 * Errors: DIR_IN_USE, with pid, started and socket of the owner where they can be read; DISK_DENIED, DISK_MISSING,
 * DISK_FULL (owner.json).
 */
export function acquireLock(directory: string, socket: string): DirLock {
  checkWritable(directory)
  const database = lockDatabase(directory)
  const ownerPath = join(directory, 'owner.json')
  try {
    writeOwner(ownerPath, { pid: process.pid, started: new Date().toISOString(), socket })
  } catch (error) {
    database.close()
    throw error
  }
  return {
    release: () => {
      if (!database.open) return
      // Before the lock goes: the file of a successor must not be taken for ours.
      rmSync(ownerPath, { force: true })
      database.close()
    },
  }
}

/** Who says to hold the lock of a directory, if that process is alive; undefined otherwise. */
export function readOwner(directory: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(directory, 'owner.json'), 'utf8')) as Partial<Owner>
    const { pid, started, socket } = owner
    if (typeof pid !== 'number' || typeof started !== 'string' || typeof socket !== 'string') return undefined
    return isAlive(pid) ? { pid, started, socket } : undefined
  } catch {
    // None, or half of one: the lock itself says what counts.
    return undefined
  }
}

/** Signal 0 reaches nobody; whether it could says whether the process is there. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** SQLite would open a file it may not write for reading, and then lock nothing. */
function checkWritable(directory: string): void {
  const path = join(directory, 'lock.db')
  if (!existsSync(directory))
    throw new CrawlError('DISK_MISSING', `no such directory: ${directory}`, { path: directory })
  try {
    accessSync(directory, fs.W_OK | fs.X_OK)
    if (existsSync(path)) accessSync(path, fs.W_OK)
  } catch (error) {
    throw new CrawlError('DISK_DENIED', (error as Error).message, { path: directory })
  }
}

function lockDatabase(directory: string): Database.Database {
  const path = join(directory, 'lock.db')
  try {
    return begin(directory, path)
  } catch (error) {
    if (!isNoDatabase(error)) throw error
    // Not ours, as ours stays empty. Emptied and not replaced, so that two who do this at once still meet at one file.
    truncateSync(path)
    return begin(directory, path)
  }
}

function begin(directory: string, path: string): Database.Database {
  let database: Database.Database | undefined
  try {
    database = new Database(path, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    if (isBusy(error)) throw inUse(directory)
    throw isNoDatabase(error) ? error : sqliteError(error, path)
  }
}

function inUse(directory: string): CrawlError {
  const owner = readOwner(directory)
  const who = owner === undefined ? 'Another process' : `Process ${owner.pid}, since ${owner.started},`
  return new CrawlError('DIR_IN_USE', `${who} is crawling in ${directory}.`, { path: directory, ...owner })
}

/** Written aside and renamed: a reader sees a whole one, or none. */
function writeOwner(path: string, owner: Owner): void {
  try {
    writeFileSync(`${path}.tmp`, `${JSON.stringify(owner)}\n`)
    renameSync(`${path}.tmp`, path)
  } catch (error) {
    const { code = 'unknown', message } = error as NodeJS.ErrnoException
    throw new CrawlError(code === 'ENOSPC' || code === 'EDQUOT' ? 'DISK_FULL' : 'DISK_FAILED', message, { path })
  }
}
