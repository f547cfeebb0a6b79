/**
 * Little-endian bytes: a growing writer and a bounds-checked reader that mirrors it.
 *
 * What one writes with a method the other reads with the method of the same name. `latin1`, `utf8` and `bytes`
 * carry their length in front (varint); the `raw` ones do not. Callers: log records, images, messages.
 */
import assert from 'node:assert'

const U32 = 2 ** 32
const VARINT_MAX = Number.MAX_SAFE_INTEGER

/** Bytes that do not hold what was asked of them. Whoever knows the file and the offset says so in a CrawlError. */
export class MalformedValue extends Error {
  /** Offset within the reader's buffer at which the bytes stopped making sense. */
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.name = 'MalformedValue'
    this.at = at
  }
}

/** The same memory as a Buffer (no copy). */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Appends at `at` and grows as needed; `buffer` changes identity when it grows, so never keep it. */
export class ByteWriter {
  buffer: Buffer
  /** Where the next byte goes: bytes written so far. */
  at = 0
  /** Over the bytes of `buffer`; changes with it. */
  view: DataView

  constructor(capacityBytes = 4096) {
    this.buffer = Buffer.allocUnsafeSlow(capacityBytes)
    this.view = new DataView(this.buffer.buffer, 0, capacityBytes)
  }

  /** What was written, as a view: valid until the next append. */
  written(): Buffer {
    return this.buffer.subarray(0, this.at)
  }

  reset(): void {
    this.at = 0
  }

  /** Goes on in another buffer, at its start; the old one stays as it was. Returns the old one. */
  swap(buffer: Buffer): Buffer {
    const old = this.buffer
    this.buffer = buffer
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    this.at = 0
    return old
  }

  /** Makes room for `countBytes` more. Cost: amortised O(1) a byte. */
  reserve(countBytes: number): void {
    const needed = this.at + countBytes
    if (needed > this.buffer.length) this.grow(needed)
  }

  private grow(neededBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.at)
    this.buffer = larger
    this.view = new DataView(larger.buffer, 0, larger.length)
  }

  u8(value: number): void {
    this.reserve(1)
    this.buffer[this.at++] = value
  }

  u16(value: number): void {
    this.reserve(2)
    this.view.setUint16(this.at, value, true)
    this.at += 2
  }

  u32(value: number): void {
    this.reserve(4)
    this.view.setUint32(this.at, value, true)
    this.at += 4
  }

  u48(value: number): void {
    this.reserve(6)
    this.view.setUint32(this.at, value, true)
    this.view.setUint16(this.at + 4, Math.floor(value / U32), true)
    this.at += 6
  }

  /** A safe integer ≥ 0 as 8 bytes. */
  u64(value: number): void {
    this.reserve(8)
    this.view.setUint32(this.at, value, true)
    this.view.setUint32(this.at + 4, Math.floor(value / U32), true)
    this.at += 8
  }

  f64(value: number): void {
    this.reserve(8)
    this.view.setFloat64(this.at, value, true)
    this.at += 8
  }

  /** A safe integer ≥ 0, seven bits a byte, low ones first (LEB128): 1–8 bytes. */
  varint(value: number): void {
    assert(value >= 0 && value <= VARINT_MAX, 'varint out of range')
    this.reserve(8)
    while (value >= U32) {
      this.buffer[this.at++] = (value % 128) | 128
      value = Math.floor(value / 128)
    }
    value >>>= 0
    while (value > 127) {
      this.buffer[this.at++] = (value & 127) | 128
      value >>>= 7
    }
    this.buffer[this.at++] = value
  }

  /** One byte a character. A character above U+00FF is a programmer's error and loses its high bits. */
  latin1(text: string): void {
    this.varint(text.length)
    this.rawLatin1(text)
  }

  utf8(text: string): void {
    const length = Buffer.byteLength(text, 'utf8')
    this.varint(length)
    this.reserve(length)
    this.at += this.buffer.write(text, this.at, length, 'utf8')
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.rawBytes(value)
  }

  rawLatin1(text: string): void {
    this.reserve(text.length)
    this.at += this.buffer.write(text, this.at, text.length, 'latin1')
  }

  rawBytes(value: Uint8Array): void {
    this.reserve(value.length)
    this.buffer.set(value, this.at)
    this.at += value.length
  }

  /** The 16 bytes of a key, given as its four words. */
  words4(w0: number, w1: number, w2: number, w3: number): void {
    this.reserve(16)
    this.view.setUint32(this.at, w0, true)
    this.view.setUint32(this.at + 4, w1, true)
    this.view.setUint32(this.at + 8, w2, true)
    this.view.setUint32(this.at + 12, w3, true)
    this.at += 16
  }

  setU8(at: number, value: number): void {
    this.view.setUint8(at, value)
  }

  setU16(at: number, value: number): void {
    this.view.setUint16(at, value, true)
  }

  setU32(at: number, value: number): void {
    this.view.setUint32(at, value, true)
  }

  getU32(at: number): number {
    return this.view.getUint32(at, true)
  }
}

/** Reads from `at` to `end`; every read is checked and throws MalformedValue past the end. */
export class ByteReader {
  buffer: Buffer
  at: number
  end: number
  private view: DataView

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.buffer = asBuffer(bytes)
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.at = start
    this.end = end
  }

  /** Goes on with other bytes; no allocation where the buffer is the same. */
  reset(bytes: Uint8Array, start = 0, end = bytes.length): void {
    if (bytes !== this.buffer) {
      this.buffer = asBuffer(bytes)
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.at = start
    this.end = end
  }

  get remaining(): number {
    return this.end - this.at
  }

  private take(countBytes: number): number {
    const at = this.at
    if (!(countBytes <= this.end - at)) throw new MalformedValue('a value ends before its last field', at)
    this.at = at + countBytes
    return at
  }

  skip(countBytes: number): void {
    this.take(countBytes)
  }

  u8(): number {
    return this.buffer[this.take(1)]
  }

  u16(): number {
    return this.view.getUint16(this.take(2), true)
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true)
  }

  u48(): number {
    const at = this.take(6)
    return this.view.getUint32(at, true) + this.view.getUint16(at + 4, true) * U32
  }

  u64(): number {
    const at = this.take(8)
    const value = this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * U32
    if (value > VARINT_MAX) throw new MalformedValue('a number above 2^53', at)
    return value
  }

  f64(): number {
    return this.view.getFloat64(this.take(8), true)
  }

  varint(): number {
    const start = this.at
    let value = 0
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.buffer[this.take(1)]
      value += (byte & 127) * factor
      if (byte < 128) {
        if (value > VARINT_MAX) break
        return value
      }
    }
    throw new MalformedValue('a number above 2^53', start)
  }

  latin1(): string {
    return this.rawLatin1(this.varint())
  }

  utf8(): string {
    const length = this.varint()
    const at = this.take(length)
    return this.buffer.toString('utf8', at, at + length)
  }

  /** A view of the bytes, not a copy: valid as long as the buffer is. */
  bytes(): Buffer {
    return this.rawBytes(this.varint())
  }

  rawLatin1(countBytes: number): string {
    const at = this.take(countBytes)
    return this.buffer.toString('latin1', at, at + countBytes)
  }

  rawBytes(countBytes: number): Buffer {
    const at = this.take(countBytes)
    return this.buffer.subarray(at, at + countBytes)
  }
}
