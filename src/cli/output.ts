/**
 * Standard output for much of it: gathered, then written and waited for, so that memory stays small and a reader that
 * goes away (`| head`) ends the program at once.
 */
import { writeSync } from 'node:fs'
import { EXIT } from './errors.ts'

const STDOUT = 1
/** Bytes gathered before they are written. */
const CHUNK_BYTES = 64 * 1024
/** Pause before a pipe that was full is tried again, milliseconds. */
const FULL_PIPE_MS = 5

export class Output {
  readonly #fd: number
  #text = ''

  /** @param fd  open file; default: standard output */
  constructor(fd = STDOUT) {
    this.#fd = fd
  }

  line(text: string): void {
    this.#text += `${text}\n`
    if (this.#text.length >= CHUNK_BYTES) this.flush()
  }

  flush(): void {
    if (this.#text !== '') writeAll(Buffer.from(this.#text, 'utf8'), this.#fd)
    this.#text = ''
  }
}

/** Writes bytes, to standard output where no file is named; returns when they are with the operating system. */
export function writeAll(bytes: Uint8Array, fd = STDOUT): void {
  for (let at = 0; at < bytes.length; ) at += writeSome(bytes.subarray(at), fd)
}

function writeSome(bytes: Uint8Array, fd: number): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPIPE') process.exit(EXIT.done)
    if (code !== 'EAGAIN') throw error
    // The pipe is full and was opened without blocking by whoever made it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS)
    return 0
  }
}
