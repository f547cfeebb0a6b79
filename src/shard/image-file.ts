/**
 * The file of an image: pieces one behind the other, each with a head of twelve bytes. Format: IMAGE.md.
 *
 * Invariant: what a head covers is checked before it is used, and the heads are covered by the last piece; so an image
 * is read in one pass, every byte is checked once, and a file that ends well is whole.
 */
import { crc32 } from 'node:zlib'
import type { File } from '../env/disk.ts'

/** "RCim", then the version. Change the version with anything in IMAGE.md: an image of another version is ignored. */
const MAGIC = 0x6d69_4352
const VERSION = 2
const FILE_HEADER_BYTES = 8

/** Bytes of a piece's head, in ours and in a table's. */
const HEAD_BYTES = 12
/** Bytes up to which a read is one of a head: a table's header has sixteen; no body is that short but an empty one. */
const HEAD_READ_BYTES_MAX = 16

/** Written at once, read ahead. */
const BUFFER_BYTES = 1024 * 1024
/**
 * Written and not synced, at most: with most file systems a sync waits also for what others have written, so the crawl's
 * own syncs would wait behind a gigabyte of image.
 */
const UNSYNCED_BYTES_MAX = 8 * 1024 * 1024
/** Bytes of a part, at most: a damaged length must not ask for all the memory there is. */
const PART_BYTES_MAX = 64 * 1024 * 1024
/** Words of a part of a stream. */
const STREAM_WORDS = 65_536

/** Kinds of part, in the order in which they stand in the file. */
export const PART = { facts: 1, rows: 2, strings: 3, queues: 4, waiting: 5, relinks: 6, end: 7 } as const

/** Why an image cannot be used. Thrown and caught within image.ts: to its callers it is a value. */
export class BadImage extends Error {}

export class ImageWriter {
  private readonly file: File
  /** CRC-32 of all heads so far. */
  private chain = 0
  private readonly buffer = new Uint8Array(BUFFER_BYTES)
  private buffered = 0
  /** Bytes given to the file, and how many of them when it was last synced. */
  private flushed = 0
  private synced = 0

  constructor(file: File) {
    this.file = file
    this.write(bytesOf(Uint32Array.of(MAGIC, VERSION)))
  }

  /** Bytes of the image so far. */
  get bytes(): number {
    return this.flushed + this.buffered
  }

  /** A piece that brings its head along. */
  readonly piece = (bytes: Uint8Array): void => {
    this.chain = crc32(bytes.subarray(0, HEAD_BYTES), this.chain)
    this.write(bytes)
  }

  /** A part, of which there may be many of one kind, counted by `index`. */
  part(kind: number, index: number, bytes: Uint8Array): void {
    this.piece(headOf(kind, index, bytes))
    this.write(bytes)
  }

  /** Writes the last part and what is left. Returns the checksum of the image. */
  end(): number {
    const { chain } = this
    this.part(PART.end, 0, bytesOf(Uint32Array.of(chain)))
    this.flush()
    return chain
  }

  private write(bytes: Uint8Array): void {
    if (this.buffered + bytes.length > BUFFER_BYTES) this.flush()
    if (bytes.length < BUFFER_BYTES) {
      this.buffer.set(bytes, this.buffered)
      this.buffered += bytes.length
    } else {
      this.give(bytes)
    }
  }

  private flush(): void {
    this.give(this.buffer.subarray(0, this.buffered))
    this.buffered = 0
  }

  private give(bytes: Uint8Array): void {
    this.file.write(bytes, this.flushed)
    this.flushed += bytes.length
    if (this.flushed - this.synced < UNSYNCED_BYTES_MAX) return
    this.file.syncNow()
    this.synced = this.flushed
  }
}

export class ImageReader {
  private readonly file: File
  private readonly sizeBytes: number
  private readonly buffer = new Uint8Array(BUFFER_BYTES)
  private buffered = 0
  private at = 0
  /** Position in the file behind the buffer. */
  private position = 0
  private chain = 0

  /** Errors: BadImage where the file is none of this version. */
  constructor(file: File) {
    this.file = file
    this.sizeBytes = file.sizeBytes()
    const header = new Uint32Array(FILE_HEADER_BYTES / 4)
    if (this.read(bytesOf(header)) < FILE_HEADER_BYTES || header[0] !== MAGIC) throw new BadImage('it is no image')
    if (header[1] !== VERSION) throw new BadImage(`it is of version ${header[1]}, not ${VERSION}`)
  }

  /** The next bytes, as a table asks for them: heads and bodies each by themselves. */
  readonly piece = (target: Uint8Array): number => {
    const read = this.read(target)
    if (target.length > 0 && target.length <= HEAD_READ_BYTES_MAX) {
      this.chain = crc32(target.subarray(0, HEAD_BYTES), this.chain)
    }
    return read
  }

  /** The bytes of the next part, which must be this one. Errors: BadImage. */
  part(kind: number, index: number): Uint8Array<ArrayBuffer> {
    const head = new Uint32Array(HEAD_BYTES / 4)
    if (this.piece(bytesOf(head)) < HEAD_BYTES) throw new BadImage('it ends too early')
    const length = head[1]
    if (length > PART_BYTES_MAX || length > this.sizeBytes) throw new BadImage(`part ${kind}.${index} has no length`)
    const bytes = new Uint8Array(length)
    const isWhole = this.read(bytes) === length
    if (!isWhole || Buffer.compare(bytesOf(head), headOf(kind, index, bytes)) !== 0) {
      throw new BadImage(`part ${kind}.${index} is damaged`)
    }
    return bytes
  }

  /** Checks that the image ends here, and well. Returns its checksum. Errors: BadImage. */
  end(): number {
    const { chain } = this
    const [stated] = wordsOf(this.part(PART.end, 0))
    if (stated !== chain) throw new BadImage('its parts do not belong together')
    if (this.position - this.buffered + this.at !== this.sizeBytes) throw new BadImage('something follows its end')
    return chain
  }

  private read(target: Uint8Array): number {
    let done = this.fromBuffer(target)
    if (target.length - done >= BUFFER_BYTES) {
      const read = this.file.read(done === 0 ? target : target.subarray(done), this.position)
      this.position += read
      return done + read
    }
    if (done < target.length) {
      this.buffered = this.file.read(this.buffer, this.position)
      this.position += this.buffered
      this.at = 0
      done += this.fromBuffer(target.subarray(done))
    }
    return done
  }

  private fromBuffer(target: Uint8Array): number {
    const count = Math.min(target.length, this.buffered - this.at)
    if (count > 0) target.set(this.buffer.subarray(this.at, this.at + count))
    this.at += count
    return count
  }
}

/** Words, one after the other, in as many parts of one kind as they need. */
export class WordWriter {
  private readonly writer: ImageWriter
  private readonly kind: number
  private readonly words = new Uint32Array(STREAM_WORDS)
  private count = 0
  private parts = 0

  constructor(writer: ImageWriter, kind: number) {
    this.writer = writer
    this.kind = kind
  }

  readonly push = (word: number): void => {
    if (this.count === STREAM_WORDS) this.flush()
    this.words[this.count++] = word
  }

  /** To be called when all words are in. */
  flush(): void {
    if (this.count === 0) return
    this.writer.part(this.kind, this.parts++, bytesOf(this.words.subarray(0, this.count)))
    this.count = 0
  }
}

/** Reads what a WordWriter wrote; how many words there are its user knows. */
export class WordReader {
  private readonly reader: ImageReader
  private readonly kind: number
  private words = new Uint32Array(0)
  private at = 0
  private parts = 0

  constructor(reader: ImageReader, kind: number) {
    this.reader = reader
    this.kind = kind
  }

  readonly next = (): number => {
    if (this.at === this.words.length) {
      this.words = wordsOf(this.reader.part(this.kind, this.parts++))
      this.at = 0
    }
    return this.words[this.at++]
  }

  /** To be called when all words are out. Errors: BadImage where there are more. */
  end(): void {
    if (this.at !== this.words.length) throw new BadImage(`part ${this.kind} is too long`)
  }
}

function headOf(kind: number, index: number, bytes: Uint8Array): Uint8Array {
  const words = Uint32Array.of((kind | (index << 8)) >>> 0, bytes.length, 0)
  words[2] = crc32(bytes, crc32(bytesOf(words.subarray(0, 2))))
  return bytesOf(words)
}

export function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}

/** The same memory as words. Errors: BadImage where it is no whole number of them. */
function wordsOf(bytes: Uint8Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  if (bytes.length === 0 || bytes.length % 4 !== 0) throw new BadImage('a part is cut')
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
}
