/**
 * The real disk, by node:fs. Calls are synchronous: a turn's write is one pwrite into the page cache, cheaper than
 * the thread pool's round trip. Only `sync` runs beside the turns, as fdatasync on the pool.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  constants as fs,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CrawlError, type ErrorCode } from '../base/errors.ts'
import type { Disk, File } from '../env/disk.ts'

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EFBIG: 'DISK_FULL',
  EACCES: 'DISK_DENIED',
  EPERM: 'DISK_DENIED',
  EROFS: 'DISK_DENIED',
  ENOENT: 'DISK_MISSING',
  ENOTDIR: 'DISK_MISSING',
}

const FLAGS = { read: fs.O_RDONLY, write: fs.O_RDWR, create: fs.O_RDWR | fs.O_CREAT } as const

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown'
}

/** What the operating system said, as an error of ours: EIO and all the unforeseen are DISK_FAILED. */
function diskError(error: unknown, path: string): CrawlError {
  const cause = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return new CrawlError(CODES[cause] ?? 'DISK_FAILED', message, { path, cause })
}

function attempt<T>(path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw diskError(error, path)
  }
}

class NodeFile implements File {
  readonly path: string
  private readonly fd: number

  constructor(path: string, fd: number) {
    this.path = path
    this.fd = fd
  }

  sizeBytes(): number {
    return attempt(this.path, () => fstatSync(this.fd).size)
  }

  read(target: Uint8Array, position: number): number {
    let done = 0
    try {
      while (done < target.length) {
        const read = readSync(this.fd, target, done, target.length - done, position + done)
        if (read === 0) break
        done += read
      }
    } catch (error) {
      throw diskError(error, this.path)
    }
    return done
  }

  /** A short write is followed by another, which says why it was short. */
  write(source: Uint8Array, position: number): void {
    let done = 0
    try {
      while (done < source.length) {
        const written = writeSync(this.fd, source, done, source.length - done, position + done)
        if (written === 0) throw Object.assign(new Error('nothing could be written'), { code: 'ENOSPC' })
        done += written
      }
    } catch (error) {
      throw diskError(error, this.path)
    }
  }

  truncate(sizeBytes: number): void {
    attempt(this.path, () => ftruncateSync(this.fd, sizeBytes))
  }

  sync(done: (error?: Error) => void): void {
    fdatasync(this.fd, (error) => {
      if (error) done(diskError(error, this.path))
      else done()
    })
  }

  syncNow(): void {
    attempt(this.path, () => fdatasyncSync(this.fd))
  }

  close(): void {
    closeSync(this.fd)
  }
}

function syncDirectory(path: string): void {
  attempt(path, () => {
    const fd = openSync(path, fs.O_RDONLY)
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  })
}

/** The names of the directories made are durable too: a log in them would be lost with them otherwise. */
/**
 * Parents first, one call each: Node's own recursion does not end where a parent can be seen but nothing made in it
 * (`/proc`). Each new name is durable when this returns.
 */
function makeDirectory(path: string): void {
  const absolute = resolve(path)
  if (isDirectory(absolute)) return
  const parent = dirname(absolute)
  if (parent !== absolute) makeDirectory(parent)
  attempt(path, () => {
    try {
      mkdirSync(absolute)
    } catch (error) {
      // Another process may have made it meanwhile.
      if (codeOf(error) !== 'EEXIST' || !isDirectory(absolute)) throw error
    }
  })
  syncDirectory(parent)
}

function isDirectory(path: string): boolean {
  return attempt(path, () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw diskError(error, directory)
  }
}

function exists(path: string): boolean {
  return attempt(path, () => statSync(path, { throwIfNoEntry: false }) !== undefined)
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw diskError(error, path)
  }
}

function removeDirectory(path: string): void {
  for (const name of list(path)) remove(`${path}/${name}`)
  try {
    rmdirSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw diskError(error, path)
  }
}

function freeBytes(path: string): number {
  return attempt(path, () => {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  })
}

/** The disk of this machine. */
export const nodeDisk: Disk = {
  open: (path, mode) =>
    new NodeFile(
      path,
      attempt(path, () => openSync(path, FLAGS[mode], 0o666)),
    ),
  list,
  exists,
  makeDirectory,
  rename: (from, to) => attempt(from, () => renameSync(from, to)),
  link: (from, to) => attempt(from, () => linkSync(from, to)),
  remove,
  removeDirectory,
  syncDirectory,
  freeBytes,
}
