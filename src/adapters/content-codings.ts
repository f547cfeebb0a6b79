/**
 * One compressed stream through Node's zlib, by its documented synchronous calls.
 *
 * They throw away what they had when a limit or damage stops them, so the start is decoded again from a shorter input:
 * twice the work, for broken and hostile answers only.
 */

import { brotliDecompressSync, constants, inflateRawSync, zstdDecompressSync } from 'node:zlib'

export interface Decoded {
  readonly bytes: Uint8Array
  /** `whole`; `cut` by the sender; `limit`: by us; `damaged`: no such stream from there on; `other`: not this coding. */
  readonly end: 'whole' | 'cut' | 'limit' | 'damaged' | 'other'
}

/** A stream's decoded bytes, and how many bytes of the input belong to it. */
export interface Stream {
  readonly bytes: Uint8Array
  readonly consumedBytes: number
  readonly end: 'whole' | 'cut' | 'limit' | 'damaged'
}

/** What is left when a limit stood before the first byte. */
export const OVER_LIMIT: Stream = { bytes: new Uint8Array(0), consumedBytes: 0, end: 'limit' }

interface Options {
  readonly maxOutputLength: number
  readonly chunkSize: number
  readonly finishFlush?: number
  readonly info?: boolean
}

interface Engine {
  /** Bytes of the input that went into the stream. */
  readonly bytesWritten: number
}

interface Codec {
  readonly decompress: (input: Uint8Array, options: Options) => unknown
  /** Gives out what is decoded, and does not mind that more should come. */
  readonly flush: number
  /** Most bytes that one byte of input can give; 0 = no such bound. */
  readonly ratioMax: number
}

const DEFLATE: Codec = { decompress: inflateRawSync, flush: constants.Z_SYNC_FLUSH, ratioMax: 1032 }
const BROTLI: Codec = { decompress: brotliDecompressSync, flush: constants.BROTLI_OPERATION_FLUSH, ratioMax: 0 }
const ZSTD: Codec = { decompress: zstdDecompressSync, flush: constants.ZSTD_e_flush, ratioMax: 0 }

const EMPTY = new Uint8Array(0)
/** Room set aside for the output of one call: with the whole page in one piece, nothing is joined afterwards. */
const ROOM_BYTES_MIN = 4096
const ROOM_BYTES_MAX = 1 << 20
const ROOM_BYTES_UNKNOWN = 65536
/** Attempts at the longest decodable start: exact for small inputs, bounded in time for large ones. */
const ATTEMPTS_SMALL = 16
const ATTEMPTS_LARGE = 4
const SMALL_INPUT_BYTES = 65536
/** A start that gives this share of the limit is long enough. */
const ENOUGH = 0.75

const START_ROOM_BYTES = 16384
/** Streams in one body (members, frames): each costs 20 µs, however empty. */
export const STREAMS_MAX = 2048

const ZSTD_MAGIC = 0xfd2fb528
const ZSTD_SKIPPABLE_MAGIC = 0x184d2a5

/** Raw deflate (RFC 1951). `sizeHint`: bytes expected, 0 = unknown; a wrong one costs time only. */
export function inflate(input: Uint8Array, bytesMax: number, sizeHint: number): Stream {
  return decodeStream(DEFLATE, input, bytesMax, sizeHint)
}

/** Brotli (RFC 7932). It has no magic number: text that fails to decode is taken for text. */
export function decodeBrotli(body: Uint8Array, bytesMax: number): Decoded {
  const stream = decodeStream(BROTLI, body, bytesMax, 0)
  const isOther = stream.end === 'damaged' && (stream.bytes.length === 0 || startsLikeText(body))
  return isOther ? { bytes: body, end: 'other' } : stream
}

/** Zstandard (RFC 8878): frames one after the other; what follows the last is ignored. */
export function decodeZstd(body: Uint8Array, bytesMax: number): Decoded {
  if (!isZstdFrame(body)) return { bytes: body, end: 'other' }
  const frames: Uint8Array[] = []
  let roomBytes = bytesMax
  for (let rest = body; isZstdFrame(rest); ) {
    const frame: Stream = frames.length < STREAMS_MAX ? decodeStream(ZSTD, rest, roomBytes, 0) : OVER_LIMIT
    frames.push(frame.bytes)
    if (frame.end !== 'whole') return { bytes: joined(frames), end: frame.end }
    roomBytes -= frame.bytes.length
    rest = rest.subarray(frame.consumedBytes)
  }
  return { bytes: joined(frames), end: 'whole' }
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0] : Buffer.concat(parts)
}

function decodeStream(codec: Codec, input: Uint8Array, bytesMax: number, sizeHint: number): Stream {
  if (bytesMax === 0) return OVER_LIMIT
  const expectedBytes = sizeHint > 0 ? sizeHint + 1 : Math.min(input.length * 5, ROOM_BYTES_UNKNOWN)
  const roomBytes = Math.min(Math.max(expectedBytes, ROOM_BYTES_MIN), ROOM_BYTES_MAX, bytesMax + ROOM_BYTES_MIN)
  const whole = run(codec, input, { maxOutputLength: bytesMax, chunkSize: roomBytes })
  if ('bytes' in whole) return { ...whole, end: 'whole' }
  if (whole.failure === 'cut') {
    const start = run(codec, input, { maxOutputLength: bytesMax, chunkSize: roomBytes, finishFlush: codec.flush })
    if ('bytes' in start) return { ...start, end: 'cut' }
  }
  const isBounded = whole.failure === 'limit' && codec.ratioMax > 0
  const firstLength = isBounded ? Math.floor(bytesMax / codec.ratioMax) : input.length >> 1
  return { bytes: longestStart(codec, input, bytesMax, firstLength), consumedBytes: input.length, end: whole.failure }
}

type RunResult =
  | { readonly bytes: Uint8Array; readonly consumedBytes: number }
  | { readonly failure: 'cut' | 'limit' | 'damaged' }

const FAILURE_OF_CODE: Readonly<Record<string, 'cut' | 'limit'>> = {
  Z_BUF_ERROR: 'cut',
  ERR_BUFFER_TOO_LARGE: 'limit',
}

function run(codec: Codec, input: Uint8Array, options: Options): RunResult {
  try {
    // With `info`, zlib gives the engine beside the bytes; its types do not know.
    const result = codec.decompress(input, { ...options, info: true }) as { buffer: Buffer; engine: Engine }
    return { bytes: unpinned(result.buffer), consumedBytes: result.engine.bytesWritten }
  } catch (error) {
    return { failure: FAILURE_OF_CODE[codeOf(error)] ?? 'damaged' }
  }
}

// The output may sit in a much larger room.
function unpinned(bytes: Buffer): Uint8Array {
  return bytes.buffer.byteLength <= bytes.length * 1.25 ? bytes : new Uint8Array(bytes)
}

// Bisection: a start decodes if and only if it ends before the damage, or before the limit is reached.
function longestStart(codec: Codec, input: Uint8Array, bytesMax: number, firstLength: number): Uint8Array {
  const attempts = input.length <= SMALL_INPUT_BYTES ? ATTEMPTS_SMALL : ATTEMPTS_LARGE
  let best: Uint8Array = EMPTY
  let good = 0
  let bad = input.length
  let length = firstLength
  for (let i = 0; i < attempts && bad - good > 1 && best.length < bytesMax * ENOUGH; i++) {
    length = Math.min(Math.max(length, good + 1), bad - 1)
    const options = { maxOutputLength: bytesMax, chunkSize: START_ROOM_BYTES, finishFlush: codec.flush }
    const result = run(codec, input.subarray(0, length), options)
    if ('bytes' in result) {
      good = length
      best = result.bytes
    } else bad = length
    length = (good + bad) >> 1
  }
  return best
}

function isZstdFrame(bytes: Uint8Array): boolean {
  if (bytes.length < 4) return false
  const magic = (bytes[0] | (bytes[1] << 8) | (bytes[2] << 16) | (bytes[3] << 24)) >>> 0
  return magic === ZSTD_MAGIC || magic >>> 4 === ZSTD_SKIPPABLE_MAGIC
}

function startsLikeText(bytes: Uint8Array): boolean {
  return /^[\ufeff\s]*[<{[]/.test(Buffer.from(bytes.subarray(0, 64)).toString('utf8'))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
