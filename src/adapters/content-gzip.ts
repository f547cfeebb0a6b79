/**
 * The wrappers round deflate: gzip (RFC 1952) and zlib (RFC 1950), read here so that trailing rubbish, a missing end
 * and several members can be told apart, which zlib's own gunzip does not.
 */

import { crc32 } from 'node:zlib'
import { type Decoded, inflate, joined, OVER_LIMIT, STREAMS_MAX } from './content-codings.ts'

/** Offsets in a member's header and trailer, little-endian. */
const GZIP = { flags: 3, header: 10, trailer: 8 } as const
const FLAG = { headerChecksum: 2, extra: 4, name: 8, comment: 16 } as const
const ZLIB = { header: 2, trailer: 4, dictionaryFlag: 32 } as const

/** All members, one after the other. What follows the last is ignored, as browsers and gzip do. */
export function decodeGzip(body: Uint8Array, bytesMax: number): Decoded {
  if (!isGzip(body, 0)) return { bytes: body, end: 'other' }
  const members: Uint8Array[] = []
  let roomBytes = bytesMax
  let at = 0
  while (isGzip(body, at)) {
    const start = headerEnd(body, at)
    if (start === -1) return { bytes: joined(members), end: 'cut' }
    // The length at the very end is that of the last member, which is nearly always the only one. It may be a lie.
    const hint = members.length === 0 ? uint32At(body, body.length - 4) : 0
    const member = members.length < STREAMS_MAX ? inflate(body.subarray(start), roomBytes, hint) : OVER_LIMIT
    members.push(member.bytes)
    roomBytes -= member.bytes.length
    at = start + member.consumedBytes + GZIP.trailer
    if (member.end !== 'whole') return { bytes: joined(members), end: member.end }
    if (at > body.length) return { bytes: joined(members), end: 'cut' }
    if (!isIntact(body, at - GZIP.trailer, member.bytes)) return { bytes: joined(members), end: 'damaged' }
  }
  return { bytes: joined(members), end: 'whole' }
}

/** `deflate` as the standard has it, in zlib's wrapper, or raw, as old servers send it. */
export function decodeDeflate(body: Uint8Array, bytesMax: number): Decoded {
  if (isZlib(body)) {
    const stream = inflate(body.subarray(ZLIB.header), bytesMax, 0)
    const isShort = ZLIB.header + stream.consumedBytes + ZLIB.trailer > body.length
    if (stream.end === 'whole') return { bytes: stream.bytes, end: isShort ? 'cut' : 'whole' }
    if (stream.bytes.length > 0) return stream
  }
  const stream = inflate(body, bytesMax, 0)
  const isOther = stream.bytes.length === 0 && stream.end === 'damaged'
  return isOther ? { bytes: body, end: 'other' } : stream
}

function isGzip(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x1f && bytes[at + 1] === 0x8b && bytes[at + 2] === 8
}

// Method 8, no preset dictionary, and a check value that random or raw bytes have once in 31 times.
function isZlib(bytes: Uint8Array): boolean {
  const [method, flags] = bytes
  return (method & 15) === 8 && (method * 256 + flags) % 31 === 0 && (flags & ZLIB.dictionaryFlag) === 0
}

// Index of the compressed data, or -1 where the header is cut.
function headerEnd(bytes: Uint8Array, member: number): number {
  const flags = bytes[member + GZIP.flags]
  let at = member + GZIP.header
  if (flags & FLAG.extra) at += 2 + (bytes[at] | (bytes[at + 1] << 8))
  if (flags & FLAG.name) at = afterZero(bytes, at)
  if (flags & FLAG.comment) at = afterZero(bytes, at)
  if (flags & FLAG.headerChecksum) at += 2
  return at > 0 && at < bytes.length ? at : -1
}

function afterZero(bytes: Uint8Array, from: number): number {
  const zero = bytes.indexOf(0, from)
  return zero === -1 ? bytes.length : zero + 1
}

function isIntact(bytes: Uint8Array, trailer: number, member: Uint8Array): boolean {
  return uint32At(bytes, trailer) === crc32(member) && uint32At(bytes, trailer + 4) === member.length % 2 ** 32
}

function uint32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
}
