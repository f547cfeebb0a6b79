/**
 * Damaged files set aside under DIR/damaged/TIME, with the paths they had below DIR: never removed, only copied or moved
 * there. What stands there is durable when a call returns.
 */
import type { Disk, File } from '../env/disk.ts'
import type { Layout } from './layout.ts'

/** Copied at once. */
const COPY_BYTES = 1024 * 1024
const FOLDER = 'damaged'

export class DamagedFiles {
  /** Relative to DIR. */
  readonly folder: string
  /** What was set aside: paths relative to DIR, as they are now. */
  readonly files: string[] = []
  readonly #disk: Disk
  readonly #root: string

  constructor(disk: Disk, layout: Layout, nowMs: number) {
    this.#disk = disk
    this.#root = layout.root
    const time = new Date(nowMs).toISOString().replaceAll(':', '-').replace(/\..*/, 'Z')
    let folder = `${FOLDER}/${time}`
    for (let i = 2; disk.exists(`${layout.root}/${folder}`); i++) folder = `${FOLDER}/${time}-${i}`
    this.folder = folder
  }

  /** Copies a file that stays in use until it is replaced. No error where it does not exist. */
  copy(path: string): void {
    if (!this.#disk.exists(path)) return
    const to = this.#placeFor(path)
    const from = this.#disk.open(path, 'read')
    try {
      this.#write(to, (target) => {
        const bytes = Buffer.alloc(COPY_BYTES)
        for (let at = 0; ; ) {
          const read = from.read(bytes, at)
          if (read === 0) return
          target.write(bytes.subarray(0, read), at)
          at += read
        }
      })
    } finally {
      from.close()
    }
    this.#note(to)
  }

  /** Moves a file that nobody needs. No error where it does not exist. */
  move(path: string): void {
    if (!this.#disk.exists(path)) return
    const to = this.#placeFor(path)
    this.#disk.rename(path, to)
    this.#disk.syncDirectory(parentOf(to))
    this.#disk.syncDirectory(parentOf(path))
    this.#note(to)
  }

  /** A list that grows: a line each. Made with the first line; `end` makes it durable. */
  list(name: string): LineFile {
    return new LineFile(this.#disk, `${this.#root}/${this.folder}`, name)
  }

  #placeFor(path: string): string {
    const to = `${this.#root}/${this.folder}/${path.slice(this.#root.length + 1)}`
    this.#disk.makeDirectory(parentOf(to))
    return to
  }

  #write(path: string, write: (file: File) => void): void {
    const file = this.#disk.open(path, 'create')
    try {
      file.truncate(0)
      write(file)
      file.syncNow()
    } finally {
      file.close()
    }
    this.#disk.syncDirectory(parentOf(path))
  }

  #note(path: string): void {
    this.files.push(path.slice(this.#root.length + 1))
  }
}

export class LineFile {
  count = 0
  readonly #disk: Disk
  readonly #directory: string
  readonly #path: string
  #file: File | undefined
  #text = ''
  #position = 0

  constructor(disk: Disk, directory: string, name: string) {
    this.#disk = disk
    this.#directory = directory
    this.#path = `${directory}/${name}`
  }

  add(line: string): void {
    this.count++
    this.#text += `${line}\n`
    if (this.#text.length > COPY_BYTES) this.#flush()
  }

  /** Errors: DISK_FULL, DISK_FAILED. */
  end(): void {
    if (this.count === 0) return
    this.#flush()
    this.#file?.syncNow()
    this.close()
    this.#disk.syncDirectory(this.#directory)
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }

  #flush(): void {
    if (this.#file === undefined) {
      this.#disk.makeDirectory(this.#directory)
      this.#file = this.#disk.open(this.#path, 'create')
      this.#file.truncate(0)
    }
    const bytes = Buffer.from(this.#text)
    this.#file.write(bytes, this.#position)
    this.#position += bytes.length
    this.#text = ''
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}
