/**
 * Undoes content codings: the bytes of an answer to the bytes of a page.
 *
 * Invariant: never throws for what a server sent, never gives more than the limit, and what could be decoded is kept
 * and flagged rather than lost. Synchronous: at 28 KB a page costs less than a trip through the thread pool.
 * Parts: `content-codings.ts` one coding; `content-gzip.ts` the members of gzip and the wrapper of deflate.
 */

import { type Decoded, decodeBrotli, decodeZstd } from './content-codings.ts'
import { decodeDeflate, decodeGzip } from './content-gzip.ts'

export interface DecodeLimits {
  /** Decoded bytes of a page; a longer one is cut there or a little before. */
  readonly decodedBytesMax: number
  /** Decoded bytes per byte received. Applies above 64 KiB only: a short page of blanks is no bomb. */
  readonly ratioMax: number
}

export interface DecodedContent {
  /** The page; `body` itself, uncopied, where there is nothing to undo. */
  readonly bytes: Uint8Array
  /** The stream was cut, by a limit or by the server. */
  readonly truncated: boolean
  /** The stream is damaged; `bytes` holds what came before the damage. */
  readonly trouble?: 'http.decode'
}

/** Codings one upon the other; more is an attack. */
const CODINGS_MAX = 5
const RATIO_FREE_BYTES = 65536

type Decoder = (body: Uint8Array, bytesMax: number) => Decoded

// A Map, for the names are the server's: an object has a `constructor`.
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', decodeGzip],
  ['x-gzip', decodeGzip],
  ['deflate', decodeDeflate],
  ['br', decodeBrotli],
  ['zstd', decodeZstd],
])

/**
 * @param contentEncoding  the header's value, e.g. `gzip, br` (undone from the last to the first); words that are no
 *                         coding are passed over, as browsers do
 * @returns the page; a body that is not what the header says is returned as it is
 * Cost: none without a coding, else that of zlib's own synchronous call (50 µs for a page of 24 KB). Memory: at most
 *       twice the limit.
 */
export function decodeContent(
  body: Uint8Array,
  contentEncoding: string | null | undefined,
  limits: DecodeLimits,
): DecodedContent {
  if (contentEncoding === null || contentEncoding === undefined || contentEncoding === '' || body.length === 0) {
    return { bytes: body, truncated: false }
  }
  const codings = contentEncoding.toLowerCase().split(',')
  const decoders = codings.flatMap((coding) => DECODERS.get(coding.trim()) ?? [])
  if (decoders.length > CODINGS_MAX) return { bytes: body, truncated: false, trouble: 'http.decode' }
  const byRatio = Math.max(limits.ratioMax * body.length, RATIO_FREE_BYTES)
  return decodeAll(body, decoders, Math.floor(Math.min(limits.decodedBytesMax, byRatio)))
}

function decodeAll(body: Uint8Array, decoders: readonly Decoder[], bytesMax: number): DecodedContent {
  let bytes = body
  let truncated = false
  let damaged = false
  for (const decode of decoders.toReversed()) {
    const decoded = decode(bytes, bytesMax)
    bytes = decoded.bytes
    truncated ||= decoded.end === 'cut' || decoded.end === 'limit'
    damaged ||= decoded.end === 'damaged'
  }
  return damaged ? { bytes, truncated, trouble: 'http.decode' } : { bytes, truncated }
}
