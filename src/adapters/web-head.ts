/**
 * The head of an answer before the parser sees it: from the first byte to the blank line.
 *
 * Invariant: the parser gets a head whole or not at all, and never an interim (1xx) one: undici takes a `100` nobody
 * asked for as an error, though RFC 9110 15.2 obliges a client to skip it. Heads that browsers read but the strict
 * parser refuses are mended; what could be read in two ways is not, or forbids the connection's reuse.
 * Callers: `web-connection.ts`, which puts the filter between the socket and undici.
 */

const HT = 9
const LF = 10
const CR = 13
const SP = 32
const COLON = 58

const SWITCHING_PROTOCOLS = 101
const NO_CONTENT = 204
const NOT_MODIFIED = 304

/** Filters what a socket delivers; passes everything through until `open` and after the final head. */
export class HeadFilter {
  /** The head was changed: what follows it may be anything, so the connection should not be used again. */
  mended = false
  /** The head is longer than the limit; nothing more is let through. */
  overflowed = false
  private waiting = false
  private bytesMax = 0
  private interimBytes = 0
  private held: Buffer | null = null

  /** Expects an answer from here on, with at most `headBytesMax` bytes of heads, interim ones included. */
  open(headBytesMax: number): void {
    this.waiting = true
    this.mended = false
    this.overflowed = false
    this.bytesMax = headBytesMax
    this.interimBytes = 0
    this.held = null
  }

  /** Takes what the socket gave; returns what the parser may see now, null for nothing yet. */
  pass(chunk: Buffer): Buffer | null {
    if (!this.waiting) return chunk
    let bytes = this.held === null ? chunk : Buffer.concat([this.held, chunk])
    // The end of the head may straddle the chunks: a blank line has at most three bytes before its last.
    let from = this.held === null ? 0 : Math.max(0, this.held.length - 3)
    this.held = null
    for (;;) {
      const end = headEnd(bytes, from)
      if (this.interimBytes + (end === -1 ? bytes.length : end) > this.bytesMax) return this.overflow()
      if (end === -1) return this.hold(bytes)
      if (!isInterim(bytes)) return this.release(bytes, end)
      this.interimBytes += end
      bytes = bytes.subarray(end)
      from = 0
    }
  }

  private overflow(): null {
    this.overflowed = true
    return null
  }

  private hold(bytes: Buffer): Buffer | null {
    // Not HTTP at all: the parser says what is wrong with it, at once.
    if (!startsLikeHead(bytes)) {
      this.waiting = false
      return bytes
    }
    if (bytes.length > 0) this.held = bytes
    return null
  }

  private release(bytes: Buffer, end: number): Buffer {
    this.waiting = false
    if (!isOdd(bytes, end)) return bytes
    this.mended = true
    return Buffer.concat([Buffer.from(mendHead(bytes.toString('latin1', 0, end)), 'latin1'), bytes.subarray(end)])
  }
}

/** Index after the blank line that ends a head, or -1. Lines may end in LF alone (RFC 9112 2.2). */
function headEnd(bytes: Uint8Array, from: number): number {
  const start = from === 0 ? firstOfHead(bytes) : from
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] !== LF) continue
    if (bytes[at + 1] === LF) return at + 2
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3
  }
  return -1
}

// Empty lines before a head are skipped, as the parser does.
function firstOfHead(bytes: Uint8Array): number {
  let at = 0
  while (bytes[at] === CR || bytes[at] === LF) at++
  return at
}

function startsLikeHead(bytes: Buffer): boolean {
  const at = firstOfHead(bytes)
  return 'HTTP/'.startsWith(bytes.toString('latin1', at, at + 5))
}

function isInterim(bytes: Uint8Array): boolean {
  const status = statusOf(bytes)
  return status >= 100 && status < 200 && status !== SWITCHING_PROTOCOLS
}

// The three digits of `HTTP/1.1 200`; NaN or nonsense for anything else, which the parser then refuses.
function statusOf(bytes: Uint8Array): number {
  const at = firstOfHead(bytes) + 9
  return (bytes[at] - 48) * 100 + (bytes[at + 1] - 48) * 10 + (bytes[at + 2] - 48)
}

/**
 * Whether the strict parser would refuse or misread a head: LF alone, folded lines, blanks before a colon, two lengths,
 * a length beside chunks, a length where no body follows. Cost: one pass, about 1 ns a byte.
 */
function isOdd(bytes: Uint8Array, end: number): boolean {
  let lengths = 0
  let codings = 0
  let at = lineEnd(bytes, firstOfHead(bytes), end)
  if (bytes[at - 1] !== CR) return true
  for (at++; at < end; at++) {
    const lineStart = at
    if (bytes[at] === SP || bytes[at] === HT) return true
    while (at < end && bytes[at] !== COLON && bytes[at] !== LF) at++
    const nameLength = at - lineStart
    if (bytes[at] === COLON && (bytes[at - 1] === SP || bytes[at - 1] === HT)) return true
    if (nameLength === 14 && nameIs(bytes, lineStart, 'content-length')) lengths++
    if (nameLength === 17 && nameIs(bytes, lineStart, 'transfer-encoding')) codings++
    at = lineEnd(bytes, at, end)
    if (bytes[at - 1] !== CR) return true
  }
  return lengths > 1 || (lengths === 1 && (codings > 0 || hasNoBody(statusOf(bytes))))
}

function lineEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end - 1 && bytes[at] !== LF) at++
  return at
}

function nameIs(bytes: Uint8Array, at: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) if ((bytes[at + i] | 32) !== name.charCodeAt(i)) return false
  return true
}

function hasNoBody(status: number): boolean {
  return status === NO_CONTENT || status === NOT_MODIFIED
}

/**
 * Rewrites a head as the strict parser wants it: CRLF, unfolded (RFC 9112 5.2), no blank before a colon, one length
 * (RFC 9110 8.6; unequal ones stay, and are refused), none beside chunks (RFC 9112 6.3) or where there is no body.
 */
function mendHead(head: string): string {
  const [statusLine, ...lines] = unfold(head.trim().split(/\r?\n/))
  const status = Number(statusLine.slice(9, 12))
  const fields = lines.map((line) => line.replace(/^([^:\s]+)[ \t]+:/, '$1:'))
  const chunked = fields.some((field) => /^transfer-encoding:/i.test(field))
  const seen = new Set<string>()
  const kept = fields.filter((field) => {
    const length = /^content-length:[ \t]*(.*?)[ \t]*$/i.exec(field)
    if (length === null) return !(hasNoBody(status) && /^transfer-encoding:/i.test(field))
    if (chunked || hasNoBody(status) || seen.has(length[1])) return false
    seen.add(length[1])
    return true
  })
  return [statusLine, ...kept, '', ''].join('\r\n')
}

function unfold(lines: readonly string[]): string[] {
  const unfolded: string[] = []
  for (const line of lines) {
    const isFolded = unfolded.length > 1 && (line[0] === ' ' || line[0] === '\t')
    if (isFolded) unfolded[unfolded.length - 1] += ' ' + line.trim()
    else unfolded.push(line)
  }
  return unfolded
}
