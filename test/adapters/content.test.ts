import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import fc from 'fast-check'
import { decodeContent } from '../../src/adapters/content.ts'

const PAGE = Buffer.from(`<!doctype html><title>ok</title>${'<p>some text <a href="p2">p2</a></p>\n'.repeat(900)}`)
const LIMITS = { decodedBytesMax: 1 << 24, ratioMax: 1000 }
const ENCODERS: Record<string, (bytes: Uint8Array) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
}

function decoded(body: Uint8Array, coding: string, limits = LIMITS) {
  const { bytes, ...rest } = decodeContent(body, coding, limits)
  return { ...rest, text: Buffer.from(bytes).toString('latin1') }
}

/** Text that hardly compresses: a linear congruence, so the same in every run. */
function noisyText(length: number): Buffer {
  const text = Buffer.alloc(length)
  let seed = 1
  for (let i = 0; i < length; i++) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    text[i] = 33 + ((seed >>> 16) % 94)
  }
  return text
}

const WHOLE = { truncated: false, text: PAGE.toString('latin1') }

describe('content codings', () => {
  for (const [coding, encode] of Object.entries(ENCODERS)) {
    test(`${coding} is undone`, () => {
      assert.deepEqual(decoded(encode(PAGE), coding), WHOLE)
      assert.deepEqual(decoded(encode(PAGE), ` ${coding.toUpperCase()} `), WHOLE)
    })

    test(`${coding}: what is behind the stream is ignored`, () => {
      assert.deepEqual(decoded(Buffer.concat([encode(PAGE), Buffer.from('junk\0junk')]), coding), WHOLE)
    })

    test(`${coding}: of a cut stream the start is kept and marked`, () => {
      const noise = noisyText(60_000)
      const body = encode(noise)
      for (const length of [body.length - 1, body.length - 9, body.length >> 1]) {
        const { bytes, ...rest } = decodeContent(body.subarray(0, length), coding, LIMITS)
        assert.deepEqual(rest, { truncated: true }, `${length} of ${body.length}`)
        assert.deepEqual(Buffer.from(bytes), noise.subarray(0, bytes.length))
      }
    })

    test(`${coding}: a bomb is cut at the limit of size and at that of the ratio`, () => {
      const bomb = encode(Buffer.alloc(4 << 20, '<p>boom</p>'))
      const bySize = decodeContent(bomb, coding, { decodedBytesMax: 1 << 20, ratioMax: 1e9 })
      assert.ok(bySize.truncated && bySize.bytes.length <= 1 << 20)
      const byRatio = decodeContent(bomb, coding, { decodedBytesMax: 1 << 30, ratioMax: 5 })
      assert.ok(byRatio.truncated && byRatio.bytes.length <= Math.max(5 * bomb.length, 65536))
    })

    test(`${coding}: a page of exactly the limit is whole, one byte more is not`, () => {
      assert.deepEqual(decoded(encode(PAGE), coding, { ...LIMITS, decodedBytesMax: PAGE.length }), WHOLE)
      const cut = decodeContent(encode(PAGE), coding, { ...LIMITS, decodedBytesMax: PAGE.length - 1 })
      assert.ok(cut.truncated && cut.bytes.length < PAGE.length)
    })

    test(`${coding}: a plain page under that name is the page`, () => {
      assert.deepEqual(decoded(PAGE, coding), WHOLE)
    })

    test(`${coding}: any bytes under that name give a result, within the limit`, () => {
      const limits = { decodedBytesMax: 100_000, ratioMax: 50 }
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(), fc.nat({ max: 255 }), (noise, at, byte) => {
          assert.ok(decodeContent(noise, coding, limits).bytes.length <= 100_000)
          const hurt = Uint8Array.from(encode(noise))
          hurt[at % hurt.length] = byte
          assert.ok(decodeContent(hurt, coding, limits).bytes.length <= 100_000)
        }),
        { numRuns: 50 },
      )
    })
  }

  test('without a coding the body itself is given back', () => {
    for (const coding of [null, undefined, '', 'identity', 'utf-8', 'none, identity', 'constructor, __proto__']) {
      assert.equal(decodeContent(PAGE, coding, LIMITS).bytes, PAGE)
    }
  })

  test('an empty body has nothing to decode', () => {
    assert.deepEqual(decoded(Buffer.alloc(0), 'gzip'), { truncated: false, text: '' })
  })

  test('raw deflate passes for deflate', () => {
    assert.deepEqual(decoded(zlib.deflateRawSync(PAGE), 'deflate'), WHOLE)
    const cut = decodeContent(zlib.deflateRawSync(PAGE).subarray(0, -3), 'deflate', LIMITS)
    assert.ok(cut.truncated && cut.bytes.length > 0)
  })

  test('several gzip members and zstd frames follow each other', () => {
    const half = PAGE.length >> 1
    for (const coding of ['gzip', 'zstd']) {
      const parts = [PAGE.subarray(0, half), PAGE.subarray(half), Buffer.alloc(0)].map(ENCODERS[coding])
      assert.deepEqual(decoded(Buffer.concat(parts), coding), WHOLE)
    }
  })

  test('gzip headers with name, comment, extra field and checksum are passed over', () => {
    const plain = zlib.gzipSync(PAGE)
    const extra = Buffer.from('\u0003\0abcname\0comment\0\u0001\u0002', 'latin1')
    const header = Buffer.from(plain.subarray(0, 10))
    header[3] = 2 | 4 | 8 | 16
    assert.deepEqual(decoded(Buffer.concat([header, extra, plain.subarray(10)]), 'gzip'), WHOLE)
  })

  test('codings are undone from the last to the first, five at most', () => {
    const codings = ['gzip', 'br', 'deflate', 'zstd', 'gzip']
    const body = codings.reduce<Uint8Array>((bytes, coding) => ENCODERS[coding](bytes), PAGE)
    assert.deepEqual(decoded(body, codings.join(', ')), WHOLE)
    assert.equal(decodeContent(body, [...codings, 'br'].join(','), LIMITS).trouble, 'http.decode')
  })

  test('damage within a stream: what came before it is kept, with the trouble named', () => {
    const noise = noisyText(60_000)
    const body = Buffer.from(zlib.gzipSync(noise))
    body.fill(0xff, body.length >> 1, (body.length >> 1) + 200)
    const { bytes, trouble } = decodeContent(body, 'gzip', LIMITS)
    assert.equal(trouble, 'http.decode')
    assert.ok(bytes.length > 1000 && bytes.length < noise.length)
    const wrongSum = Buffer.from(zlib.gzipSync(PAGE))
    wrongSum[wrongSum.length - 6] ^= 1
    assert.deepEqual(decoded(wrongSum, 'gzip'), { ...WHOLE, trouble: 'http.decode' })
  })

  test('a body of ten thousand empty members ends early', () => {
    const empty = zlib.gzipSync('')
    const result = decodeContent(Buffer.concat(Array<Buffer>(10_000).fill(empty)), 'gzip', LIMITS)
    assert.deepEqual({ truncated: result.truncated, bytes: result.bytes.length }, { truncated: true, bytes: 0 })
  })
})
