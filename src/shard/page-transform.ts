/**
 * What becomes of a page when its segment is rewritten: what the wire did not compress is compressed. Values: pages.ts.
 *
 * Pure, but for the knowledge of the record before: the parts of a value follow each other, and what the first says of
 * its content coding holds for all.
 */
import { ByteReader, MalformedValue } from '../base/bytes.ts'
import { KEY_BYTES } from '../base/md5.ts'
import { KIND } from '../log/format.ts'
import { CONTINUED } from '../log/pages.ts'
import type { RecordView } from '../log/record.ts'
import type { Transform } from '../log/rewrite.ts'
import { PART_ZSTD } from './pages.ts'

/** Compresses bytes into one zstd frame, of memory of its own. */
export type Compress = (bytes: Uint8Array) => Uint8Array

/** Parts up to this length stay as they are. */
const PART_BYTES_MIN = 512
/** A part stays as it is unless it gets smaller than this part of itself: reading it would cost more than it saves. */
const SIZE_RATIO_MAX = 0.95
/** Bytes of a value before its headers: flags, status, digest. */
const VALUE_HEAD_BYTES = 1 + 2 + 32

/** A transform for one segment, its records in order. */
export function createPageTransform(compress: Compress): Transform {
  let isContinuation = false
  let isEncoded = false
  return (record) => {
    if (record.kind !== KIND.value) return undefined
    const isCompressed = (record.flags & PART_ZSTD) !== 0
    // Of a value that begins in the segment before, the coding is not known; the attempt shows whether it was worth it.
    if (!isContinuation) isEncoded = !isCompressed && isContentEncoded(record.body.subarray(KEY_BYTES))
    isContinuation = (record.flags & CONTINUED) !== 0
    return isCompressed || isEncoded ? undefined : compressPart(record, compress)
  }
}

function compressPart({ body, flags }: RecordView, compress: Compress): ReturnType<Transform> {
  const part = body.subarray(KEY_BYTES)
  if (part.length <= PART_BYTES_MIN) return undefined
  const compressed = compress(part)
  if (compressed.length >= part.length * SIZE_RATIO_MAX) return undefined
  return { flags: flags | PART_ZSTD, body: Buffer.concat([body.subarray(0, KEY_BYTES), compressed]) }
}

/** Whether the headers at the start of a value name a content coding. */
function isContentEncoded(value: Uint8Array): boolean {
  try {
    const input = new ByteReader(value, VALUE_HEAD_BYTES)
    for (let left = input.varint(); left > 0; left--) {
      const name = input.latin1()
      const coding = input.latin1()
      if (name === 'content-encoding' && coding !== '' && coding.toLowerCase() !== 'identity') return true
    }
    return false
  } catch (error) {
    // The rest of a value that began in the segment before, or no page of ours.
    if (!(error instanceof MalformedValue)) throw error
    return false
  }
}
