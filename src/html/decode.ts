/**
 * Bytes to text by the Encoding Standard.
 *
 * Most encodings are the runtime's own. Its decoders of Big5, EUC-KR, EUC-JP, Shift_JIS and ISO-2022-JP differ from the
 * standard (missing characters; after a broken lead byte they swallow a good one), so those are decoded here.
 */
import { TextDecoder } from 'node:util'
import { decodeIso2022Jp } from './iso-2022-jp.ts'
import { jis0212Table, type PairTable, pairTable } from './pairs.ts'

const decoders = new Map<string, TextDecoder>()

/**
 * Decodes bytes, replacing what is malformed by U+FFFD. A byte order mark of a Unicode encoding is not part of the text.
 *
 * @param encoding  a name of the Encoding Standard in lower case, as `encodingOf` and `detectCharset` give it
 * Errors: none for names of the standard. Cost: linear.
 */
export function decodeText(bytes: Uint8Array, encoding: string): string {
  switch (encoding) {
    case 'replacement':
      return bytes.length === 0 ? '' : '\ufffd'
    case 'big5':
      return decodeBig5(bytes)
    case 'euc-kr':
      return decodeEucKr(bytes)
    case 'shift_jis':
      return decodeShiftJis(bytes)
    case 'euc-jp':
      return decodeEucJp(bytes)
    case 'iso-2022-jp':
      return decodeIso2022Jp(bytes)
  }
  let decoder = decoders.get(encoding)
  if (decoder === undefined) {
    decoder = new TextDecoder(encoding)
    decoders.set(encoding, decoder)
  }
  return decoder.decode(bytes)
}

/** UTF-16 under construction; no encoding here gives more code units than bytes. */
type Output = { readonly units: Uint16Array; length: number }

function outputFor(bytes: Uint8Array): Output {
  return { units: new Uint16Array(bytes.length), length: 0 }
}

function textOf(output: Output): string {
  return Buffer.from(output.units.buffer, 0, output.length * 2).toString('utf16le')
}

function put(output: Output, codePoint: number): void {
  if (codePoint > 0xffff) {
    output.units[output.length++] = 0xd7c0 + (codePoint >> 10)
    codePoint = 0xdc00 | (codePoint & 0x3ff)
  }
  output.units[output.length++] = codePoint
}

/**
 * Puts the character of the pair at `at`, or U+FFFD for a pair without one.
 *
 * @returns where to go on: an ASCII byte is never swallowed by a broken pair
 */
function putPair(output: Output, bytes: Uint8Array, at: number, table: PairTable): number {
  const trail = at + 1 < bytes.length ? bytes[at + 1] : 0
  const codePoint = table[((bytes[at] & 0x7f) << 8) | trail]
  put(output, codePoint === 0 ? 0xfffd : codePoint)
  return codePoint === 0 && trail < 0x80 ? at + 1 : at + 2
}

/** The four pairs of Big5 that stand for a letter and a combining mark. */
const BIG5_COMBINED: ReadonlyMap<number, readonly [number, number]> = new Map([
  [0x8862, [0xca, 0x304]],
  [0x8864, [0xca, 0x30c]],
  [0x88a3, [0xea, 0x304]],
  [0x88a5, [0xea, 0x30c]],
])

function decodeBig5(bytes: Uint8Array): string {
  const table = pairTable('big5')
  const output = outputFor(bytes)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    const combined = byte === 0x88 ? BIG5_COMBINED.get((byte << 8) | bytes[at + 1]) : undefined
    if (combined !== undefined) {
      put(output, combined[0])
      put(output, combined[1])
      at += 2
    } else if (byte > 0x80 && byte < 0xff) at = putPair(output, bytes, at, table)
    else put(output, bytes[at++] < 0x80 ? byte : 0xfffd)
  }
  return textOf(output)
}

function decodeEucKr(bytes: Uint8Array): string {
  const table = pairTable('euc-kr')
  const output = outputFor(bytes)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    if (byte > 0x80 && byte < 0xff) at = putPair(output, bytes, at, table)
    else put(output, bytes[at++] < 0x80 ? byte : 0xfffd)
  }
  return textOf(output)
}

function decodeShiftJis(bytes: Uint8Array): string {
  const table = pairTable('shift_jis')
  const output = outputFor(bytes)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    if ((byte > 0x80 && byte < 0xa0) || (byte > 0xdf && byte < 0xfd)) {
      at = putPair(output, bytes, at, table)
      continue
    }
    if (byte <= 0x80) put(output, byte)
    else put(output, byte > 0xa0 && byte < 0xe0 ? 0xff61 - 0xa1 + byte : 0xfffd)
    at++
  }
  return textOf(output)
}

function decodeEucJp(bytes: Uint8Array): string {
  const table = pairTable('euc-jp')
  const output = outputFor(bytes)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    const next = at + 1 < bytes.length ? bytes[at + 1] : 0
    if (byte === 0x8e && next > 0xa0 && next < 0xe0) {
      put(output, 0xff61 - 0xa1 + next)
      at += 2
    } else if (byte === 0x8f && next > 0xa0 && next < 0xff) {
      at = putPair(output, bytes, at + 1, jis0212Table())
    } else if (byte === 0x8e || byte === 0x8f || (byte > 0xa0 && byte < 0xff)) {
      at = putPair(output, bytes, at, table)
    } else put(output, bytes[at++] < 0x80 ? byte : 0xfffd)
  }
  return textOf(output)
}
