/**
 * The disk, as far as a log needs one. All calls are synchronous but the two syncs, which run beside the turns.
 *
 * Paths are absolute, or relative to whatever the implementation is rooted at. Implementations:
 * `adapters/disk.ts` (the real one) and the simulator's, which loses what was never synced.
 */
export interface Disk {
  /** Opens for reading and writing; `create` makes the file where it is missing. Errors: DISK_MISSING, DISK_DENIED. */
  open(path: string, mode: 'read' | 'write' | 'create'): File
  /** Names in a directory, sorted; [] where it does not exist. */
  list(directory: string): string[]
  exists(path: string): boolean
  /** Makes a directory and its parents; no error where it exists. */
  makeDirectory(path: string): void
  /** Atomic replacement, of a directory too where `to` is none; durable only after `syncDirectory` of the parent. */
  rename(from: string, to: string): void
  /** A second name for a file, on the same file system; durable only after `syncDirectory`. `to` must not exist. */
  link(from: string, to: string): void
  /** No error where it does not exist. */
  remove(path: string): void
  /** Removes a directory of files, file by file: no error where it does not exist. Not atomic. */
  removeDirectory(path: string): void
  /** Makes the names in a directory durable: on ext4 a new file's name is not, otherwise. */
  syncDirectory(path: string): void
  /** Bytes a writer may still use on the file system that holds `path`. */
  freeBytes(path: string): number
}

export interface File {
  readonly path: string
  sizeBytes(): number
  /** Reads up to `target.length` bytes from `position`; returns how many were there. */
  read(target: Uint8Array, position: number): number
  /** Writes all of `source` at `position`, or throws DISK_FULL / DISK_FAILED (then nothing may be assumed written). */
  write(source: Uint8Array, position: number): void
  truncate(sizeBytes: number): void
  /** Starts a sync; calls back once, later, with the error or undefined. Data and size are durable then. */
  sync(done: (error?: Error) => void): void
  /** Syncs before it returns. */
  syncNow(): void
  close(): void
}
