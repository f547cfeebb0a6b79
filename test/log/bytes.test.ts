import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { ByteReader, ByteWriter, MalformedValue } from '../../src/base/bytes.ts'
import { keyFromHex, keyFromWords, keyOf, keyToHex, word } from '../../src/base/md5.ts'
import { recordChecksum, saltOf } from '../../src/log/checksum.ts'
import { viewOf } from '../../src/log/record.ts'

const safe = fc.maxSafeNat()
const field = fc.oneof(
  fc.tuple(fc.constant('u8' as const), fc.nat(255)),
  fc.tuple(fc.constant('u16' as const), fc.nat(65_535)),
  fc.tuple(fc.constant('u32' as const), fc.nat(2 ** 32 - 1)),
  fc.tuple(fc.constant('u48' as const), fc.nat(2 ** 48 - 1)),
  fc.tuple(fc.constant('u64' as const), safe),
  fc.tuple(fc.constant('varint' as const), fc.oneof(safe, fc.nat(300), fc.nat(2 ** 35))),
  fc.tuple(fc.constant('f64' as const), fc.double()),
  fc.tuple(fc.constant('latin1' as const), fc.string({ maxLength: 200, unit: 'grapheme-ascii' })),
  fc.tuple(fc.constant('utf8' as const), fc.string({ maxLength: 50, unit: 'binary' })),
  fc.tuple(fc.constant('bytes' as const), fc.uint8Array({ maxLength: 200 })),
)

test('what a writer writes, a reader reads by the method of the same name, and nothing is left', () => {
  fc.assert(
    fc.property(fc.array(field), (fields) => {
      const writer = new ByteWriter(1)
      for (const [method, value] of fields) (writer[method] as (value: unknown) => void)(value)
      const bytes = writer.written()
      const reader = new ByteReader(bytes)
      for (const [method, value] of fields) {
        const found = reader[method]()
        assert.deepEqual(found instanceof Uint8Array ? new Uint8Array(found) : found, value)
      }
      assert.equal(reader.remaining, 0)
    }),
  )
})

test('reading past the end throws, at whatever byte the bytes are cut', () => {
  const writer = new ByteWriter()
  writer.u32(5)
  writer.varint(300)
  writer.latin1('hello')
  writer.u64(2 ** 40)
  const bytes = new Uint8Array(writer.written())
  for (let cut = 0; cut < bytes.length; cut++) {
    const reader = new ByteReader(bytes, 0, cut)
    assert.throws(() => [reader.u32(), reader.varint(), reader.latin1(), reader.u64()], MalformedValue)
  }
})

test('numbers above 2^53 are refused, not rounded', () => {
  const ones = new Uint8Array(16).fill(255)
  assert.throws(() => new ByteReader(ones).u64(), MalformedValue)
  assert.throws(() => new ByteReader(ones).varint(), MalformedValue)
  assert.throws(() => new ByteWriter().varint(-1))
  assert.throws(() => new ByteWriter().varint(2 ** 53))
})

test('a field can be set after what follows it was written, also when the writer has grown since', () => {
  const writer = new ByteWriter(4)
  const at = writer.at
  writer.u32(0)
  writer.rawLatin1('x'.repeat(1000))
  writer.setU32(at, writer.at)
  assert.equal(new ByteReader(writer.written()).u32(), 1004)
})

test('a key is md5, its words are little-endian, and all its shapes are the same key', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const digest = createHash('md5').update(text).digest()
      const key = keyOf(text)
      assert.equal(keyToHex(key), digest.toString('hex'))
      assert.deepEqual(
        [0, 1, 2, 3].map((i) => word(key, i)),
        [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)),
      )
      assert.equal(keyFromWords(word(key, 0), word(key, 1), word(key, 2), word(key, 3)), key)
      assert.equal(keyFromHex(keyToHex(key)), key)
    }),
  )
  assert.equal(keyFromHex('xyz'), undefined)
})

test('a record’s checksum is CRC-32 of all but the checksum itself, short or long, and gives its salt back', () => {
  const lengths = fc.oneof(fc.integer({ min: 20, max: 80 }), fc.integer({ min: 20, max: 3000 }))
  fc.assert(
    fc.property(lengths, fc.nat(2 ** 32 - 1), fc.nat(20), fc.nat(), (length, salt, offset, seed) => {
      const bytes = Buffer.alloc(offset + length + 9).map((_, i) => (Math.imul(i + 1, seed | 1) >>> 11) & 255)
      const view = viewOf(bytes)
      const end = offset + length
      const expected = crc32(bytes.subarray(offset + 20, end), crc32(bytes.subarray(offset, offset + 16), salt))
      assert.equal(recordChecksum(bytes, view, offset, end, salt), expected)
      view.setUint32(offset + 16, expected, true)
      assert.equal(saltOf(bytes, view, offset, end), salt)
    }),
  )
})
