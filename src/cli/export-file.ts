/**
 * The file that an export goes to: whole lines only. What a death left torn is cut, and the last whole line says where the
 * export goes on.
 */
import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { usageError } from './errors.ts'

/** Read at once while the beginning of the last line is looked for. */
const CHUNK_BYTES = 64 * 1024
const LINE_FEED = 10
/** How every line begins. */
const LINE_START = '{"seq":'

export interface LastLine {
  readonly seq: number
  readonly url: string
}

export interface ExportFile {
  /** Open for appending. */
  readonly fd: number
  /** Undefined in a new file. */
  readonly last: LastLine | undefined
}

/** Errors: USAGE where the file holds something else; those of the system. Cost: a read of the last line. */
export function openExportFile(path: string): ExportFile {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o666)
  try {
    const last = mend(fd, path)
    return { fd: openSync(path, constants.O_WRONLY | constants.O_APPEND), last }
  } finally {
    closeSync(fd)
  }
}

export function closeExportFile(fd: number): void {
  fsyncSync(fd)
  closeSync(fd)
}

/** Cuts what is torn. @returns the last whole line */
function mend(fd: number, path: string): LastLine | undefined {
  const { size } = fstatSync(fd)
  const end = lineStartBefore(fd, size)
  const torn = bytesAt(fd, end, Math.min(size, end + LINE_START.length)).toString('latin1')
  if (!LINE_START.startsWith(torn)) throw otherFile(path)
  const last = end === 0 ? undefined : lastLineOf(bytesAt(fd, lineStartBefore(fd, end - 1), end).toString('utf8'))
  if (end > 0 && last === undefined) throw otherFile(path)
  if (end < size) ftruncateSync(fd, end)
  return last
}

/** Where the line begins that holds, or ends before, position `end`: behind the last line feed before it. */
function lineStartBefore(fd: number, end: number): number {
  for (let to = end; to > 0; to -= CHUNK_BYTES) {
    const from = Math.max(0, to - CHUNK_BYTES)
    const at = bytesAt(fd, from, to).lastIndexOf(LINE_FEED)
    if (at >= 0) return from + at + 1
  }
  return 0
}

function bytesAt(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from)
  let done = 0
  while (done < bytes.length) {
    const read = readSync(fd, bytes, done, bytes.length - done, from + done)
    if (read === 0) break
    done += read
  }
  return bytes.subarray(0, done)
}

function lastLineOf(line: string): LastLine | undefined {
  try {
    const { seq, url } = JSON.parse(line) as Partial<LastLine>
    return typeof seq === 'number' && typeof url === 'string' ? { seq, url } : undefined
  } catch {
    return undefined
  }
}

function otherFile(path: string): Error {
  return usageError(`${path} holds something else than an export, and stays as it is.`, 'Name another file with --out.')
}
