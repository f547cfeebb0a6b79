/**
 * A disk in memory that can die in every way a real one does. A second implementation of `env/disk.ts`.
 *
 * Contents: of every file the durable bytes and, since its last sync, the list of writes and truncations. A sync makes
 * what came before its start durable when it completes. `processDeath` keeps all; `powerLoss` keeps of every 4 KiB
 * block its own prefix of the operations that touched it, of every size and name its own choice.
 */
import { CrawlError } from '../../src/base/errors.ts'
import type { Disk, File } from '../../src/env/disk.ts'

const BLOCK_BYTES = 4096

/** Uniform in [0, 2³²). */
type Uint32 = () => number
/** Runs something later: a sync's completion. */
type Schedule = (run: () => void) => void

export interface Change {
  readonly position: number
  /** Undefined = a truncation (or extension) to `position`. */
  readonly bytes: Uint8Array | undefined
}

/** Bytes with room to grow; what is behind `size` is zero. */
interface Contents {
  bytes: Uint8Array
  size: number
}

interface Inode {
  /** What reads see. */
  readonly current: Contents
  readonly durable: Contents
  changes: Change[]
  /** Changes applied to `durable` so far: a sync remembers a number, not a place in the list. */
  applied: number
}

interface NameChange {
  readonly directory: string
  readonly apply: (names: Map<string, Inode>) => void
}

export interface DiskCounters {
  reads: number
  bytesRead: number
  writes: number
  bytesWritten: number
  syncs: number
  directorySyncs: number
}

export class SimulatedDisk implements Disk {
  /** Sum of all files' sizes, at most: a write that would pass it is cut short and fails with DISK_FULL. */
  budgetBytes = Number.POSITIVE_INFINITY
  /** Asked before every write and sync; an error returned is thrown (a write has then written nothing). */
  fault: (operation: 'write' | 'sync', path: string, change?: Change) => Error | undefined = () => undefined
  /** Asked before every change of a name that is no creation; what it throws is thrown. */
  nameFault: (operation: 'rename' | 'link' | 'remove', path: string) => void = () => {}
  readonly counters: DiskCounters = { reads: 0, bytesRead: 0, writes: 0, bytesWritten: 0, syncs: 0, directorySyncs: 0 }
  /** Handles and syncs of a dead process do nothing any more. */
  epoch = 0
  private readonly schedule: Schedule
  private names = new Map<string, Inode>()
  private durableNames = new Map<string, Inode>()
  private nameChanges: NameChange[] = []

  constructor(schedule: Schedule = queueMicrotask) {
    this.schedule = schedule
  }

  open(path: string, mode: 'read' | 'write' | 'create'): File {
    let inode = this.names.get(path)
    if (inode === undefined) {
      if (mode !== 'create') throw missing(path)
      inode = newInode(new Uint8Array(0))
      this.addName(path, inode)
    }
    return new SimulatedFile(this, path, inode, mode !== 'read')
  }

  list(directory: string): string[] {
    const prefix = `${directory}/`
    const found = new Set<string>()
    for (const path of this.names.keys())
      if (path.startsWith(prefix)) found.add(path.slice(prefix.length).split('/')[0])
    return [...found].sort()
  }

  exists(path: string): boolean {
    return this.names.has(path) || this.list(path).length > 0
  }

  makeDirectory(): void {
    // Directories are there as soon as something is in them.
  }

  rename(from: string, to: string): void {
    this.nameFault('rename', from)
    const inode = this.names.get(from)
    if (inode === undefined) return this.renameDirectory(from, to)
    this.changeNames(directoryOf(to), (names) => {
      names.set(to, inode)
      if (names.get(from) === inode) names.delete(from)
    })
  }

  /** The entry of a directory in its parent: all names below it move at once. */
  private renameDirectory(from: string, to: string): void {
    if (this.list(from).length === 0) throw missing(from)
    if (this.list(to).length > 0) throw new CrawlError('DISK_FAILED', `${to} is not empty`, { path: to })
    const prefix = `${from}/`
    this.changeNames(directoryOf(to), (names) => {
      for (const [path, inode] of [...names]) {
        if (!path.startsWith(prefix)) continue
        names.delete(path)
        names.set(`${to}/${path.slice(prefix.length)}`, inode)
      }
    })
  }

  link(from: string, to: string): void {
    this.nameFault('link', to)
    const inode = this.names.get(from)
    if (inode === undefined) throw missing(from)
    if (this.names.has(to)) throw new CrawlError('DISK_FAILED', `${to} exists`, { path: to, cause: 'EEXIST' })
    this.addName(to, inode)
  }

  removeDirectory(path: string): void {
    for (const name of this.list(path)) this.remove(`${path}/${name}`)
  }

  remove(path: string): void {
    this.nameFault('remove', path)
    const inode = this.names.get(path)
    if (inode === undefined) return
    this.changeNames(directoryOf(path), (names) => {
      if (names.get(path) === inode) names.delete(path)
    })
  }

  syncDirectory(path: string): void {
    this.throwFault('sync', path)
    this.counters.directorySyncs++
    const rest: NameChange[] = []
    for (const change of this.nameChanges) {
      if (change.directory === path) change.apply(this.durableNames)
      else rest.push(change)
    }
    this.nameChanges = rest
  }

  freeBytes(): number {
    return Math.max(0, this.budgetBytes - this.usedBytes())
  }

  usedBytes(): number {
    let used = 0
    for (const inode of this.names.values()) used += inode.current.size
    return used
  }

  /** A copy of a file's bytes, or undefined. For tests. */
  peek(path: string): Uint8Array | undefined {
    const current = this.names.get(path)?.current
    return current?.bytes.slice(0, current.size)
  }

  /** Replaces a file's bytes durably, as damage does. For tests. */
  poke(path: string, bytes: Uint8Array): void {
    const inode = newInode(bytes)
    this.names.set(path, inode)
    this.durableNames.set(path, inode)
  }

  /** A durable copy of all that is there, with nothing unsynced. For tests that damage one log many times. */
  clone(): SimulatedDisk {
    const copy = new SimulatedDisk(this.schedule)
    for (const [path, inode] of this.names) copy.poke(path, inode.current.bytes.subarray(0, inode.current.size))
    return copy
  }

  /** The process dies: what it wrote stays, its handles and running syncs are dead. */
  processDeath(): void {
    this.epoch++
  }

  /** The machine dies: of what was not synced, each block, size and name survives or not, on its own. */
  powerLoss(uint32: Uint32): void {
    this.epoch++
    for (const change of this.nameChanges) if (uint32() % 2 === 0) change.apply(this.durableNames)
    this.nameChanges = []
    const inodes = new Set(this.durableNames.values())
    for (const inode of inodes) {
      const survivor = survivorOf(inode, uint32)
      inode.changes = []
      Object.assign(inode.durable, { bytes: survivor, size: survivor.length })
      Object.assign(inode.current, { bytes: survivor.slice(), size: survivor.length })
    }
    this.names = new Map(this.durableNames)
  }

  /** For SimulatedFile: throws what `fault` returns. */
  throwFault(operation: 'write' | 'sync', path: string, change?: Change): void {
    const error = this.fault(operation, path, change)
    if (error !== undefined) throw error
  }

  /** For SimulatedFile. */
  later(run: () => void): void {
    this.schedule(run)
  }

  private addName(path: string, inode: Inode): void {
    this.changeNames(directoryOf(path), (names) => names.set(path, inode))
  }

  private changeNames(directory: string, apply: (names: Map<string, Inode>) => void): void {
    apply(this.names)
    this.nameChanges.push({ directory, apply })
  }
}

class SimulatedFile implements File {
  readonly path: string
  private readonly disk: SimulatedDisk
  private readonly inode: Inode
  private readonly isWritable: boolean
  private readonly epoch: number
  private isOpen = true

  constructor(disk: SimulatedDisk, path: string, inode: Inode, isWritable: boolean) {
    this.disk = disk
    this.path = path
    this.inode = inode
    this.isWritable = isWritable
    this.epoch = disk.epoch
  }

  sizeBytes(): number {
    this.check()
    return this.inode.current.size
  }

  read(target: Uint8Array, position: number): number {
    this.check()
    const { bytes, size } = this.inode.current
    const count = Math.max(0, Math.min(target.length, size - position))
    target.set(bytes.subarray(position, position + count))
    this.disk.counters.reads++
    this.disk.counters.bytesRead += count
    return count
  }

  write(source: Uint8Array, position: number): void {
    this.check()
    if (!this.isWritable) throw new CrawlError('DISK_FAILED', 'opened for reading', { path: this.path })
    this.disk.throwFault('write', this.path, { position, bytes: source })
    const growth = Math.max(0, position + source.length - this.inode.current.size)
    const over = growth - this.disk.freeBytes()
    const fits = over > 0 ? Math.max(0, source.length - over) : source.length
    if (fits > 0) {
      // A copy: `slice` of a Buffer is a view of memory that its owner uses again.
      change(this.inode, { position, bytes: Uint8Array.prototype.slice.call(source, 0, fits) })
      this.disk.counters.writes++
      this.disk.counters.bytesWritten += fits
    }
    if (fits < source.length) throw new CrawlError('DISK_FULL', 'no space left', { path: this.path, cause: 'ENOSPC' })
  }

  truncate(sizeBytes: number): void {
    this.check()
    change(this.inode, { position: sizeBytes, bytes: undefined })
  }

  sync(done: (error?: Error) => void): void {
    this.check()
    const { inode, disk } = this
    const until = inode.applied + inode.changes.length
    disk.later(() => {
      if (this.epoch !== disk.epoch) return
      const error = disk.fault('sync', this.path)
      if (error === undefined) makeDurable(inode, until)
      disk.counters.syncs++
      done(error)
    })
  }

  syncNow(): void {
    this.check()
    this.disk.throwFault('sync', this.path)
    this.disk.counters.syncs++
    makeDurable(this.inode, this.inode.applied + this.inode.changes.length)
  }

  close(): void {
    if (this.epoch === this.disk.epoch) this.check()
    this.isOpen = false
  }

  private check(): void {
    if (this.epoch !== this.disk.epoch) throw new Error(`${this.path}: the process that opened it is dead`)
    if (!this.isOpen) throw new Error(`${this.path}: closed`)
  }
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

function missing(path: string): CrawlError {
  return new CrawlError('DISK_MISSING', `no such file: ${path}`, { path, cause: 'ENOENT' })
}

function newInode(bytes: Uint8Array): Inode {
  const contents = () => ({ bytes: new Uint8Array(bytes), size: bytes.length })
  return { current: contents(), durable: contents(), changes: [], applied: 0 }
}

function change(inode: Inode, change: Change): void {
  apply(inode.current, change)
  inode.changes.push(change)
}

function apply(contents: Contents, { position, bytes }: Change): void {
  if (bytes === undefined) {
    resize(contents, position)
    return
  }
  if (position + bytes.length > contents.size) resize(contents, position + bytes.length)
  contents.bytes.set(bytes, position)
}

function resize(contents: Contents, size: number): void {
  if (size > contents.bytes.length) {
    const larger = new Uint8Array(Math.max(size, contents.bytes.length * 2))
    larger.set(contents.bytes.subarray(0, contents.size))
    contents.bytes = larger
  } else if (size < contents.size) contents.bytes.fill(0, size, contents.size)
  contents.size = size
}

function makeDurable(inode: Inode, until: number): void {
  const count = Math.max(0, until - inode.applied)
  for (const change of inode.changes.splice(0, count)) apply(inode.durable, change)
  inode.applied += count
}

/** How many of `count` operations reached the platter: none, all, or some. */
function choose(count: number, uint32: Uint32): number {
  const draw = uint32() % 3
  if (draw === 0) return 0
  return draw === 1 ? count : uint32() % (count + 1)
}

function survivorOf(inode: Inode, uint32: Uint32): Uint8Array {
  const { changes } = inode
  const durable = inode.durable.bytes.subarray(0, inode.durable.size)
  if (changes.length === 0) return durable.slice()
  const size = sizeAfter(durable.length, changes, choose(changes.length, uint32))
  const survivor = new Uint8Array(size)
  survivor.set(durable.subarray(0, size))
  for (let start = 0; start < size; start += BLOCK_BYTES) {
    const end = Math.min(size, start + BLOCK_BYTES)
    const touching = changes.filter((change) => touches(change, start, end))
    applyToBlock(survivor, start, end, touching.slice(0, choose(touching.length, uint32)))
  }
  return survivor
}

function sizeAfter(size: number, changes: readonly Change[], count: number): number {
  for (const { position, bytes } of changes.slice(0, count)) {
    size = bytes === undefined ? position : Math.max(size, position + bytes.length)
  }
  return size
}

function touches({ position, bytes }: Change, start: number, end: number): boolean {
  return position < end && (bytes === undefined || position + bytes.length > start)
}

function applyToBlock(target: Uint8Array, start: number, end: number, changes: readonly Change[]): void {
  for (const { position, bytes } of changes) {
    if (bytes === undefined) {
      target.fill(0, Math.max(start, position), end)
      continue
    }
    const from = Math.max(start, position)
    const to = Math.min(end, position + bytes.length)
    target.set(bytes.subarray(from - position, to - position), from)
  }
}
