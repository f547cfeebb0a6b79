import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DIGEST_BYTES, mixBytes, mixText, StateDigest } from '../../src/tables/digest.ts'

type Entry = readonly [number, number, number, number, number, number, number, number, number]

const word = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff),
)
const entry = fc.tuple(word, word, word, word, word, word, word, word, word)

function digestOf(entries: readonly Entry[]): StateDigest {
  const digest = new StateDigest()
  for (const words of entries) {
    digest.mix(...words)
    digest.add()
  }
  return digest
}

/** The two sums of a digest, by its bytes. */
function sumsOf(digest: StateDigest): [bigint, bigint] {
  const bytes = Buffer.from(digest.bytes())
  return [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)]
}

// Made with another implementation (Python's mmh3 5, x86 variants). On disk since v1: never change them.
const GOLDEN_ENTRIES: ReadonlyArray<readonly [Entry, string]> = [
  [[0, 0, 0, 0, 0, 0, 0, 0, 0], 'a60a82e5da5f29ee6e386c805964f985'],
  [[1, 0x01020304, 0x05060708, 0xdeadbeef, 0xffffffff, 7, 8, 9, 10], 'd2669ac3c3767476db224c3bd64a7d11'],
  [
    [12, 0x80000000, 0x7fffffff, 1, 2, 0xffffffff, 0xfffffffe, 0x12345678, 0x9abcdef0],
    'a7735e1ff422941fd9d742b265be829a',
  ],
]
const GOLDEN_TEXTS: ReadonlyArray<readonly [string, number, number]> = [
  ['', 0, 0],
  ['a', 0, 1009084850],
  ['ab', 0, 2613040991],
  ['abc', 0, 3017643002],
  ['example.org', 0, 1597541599],
  ['example.org', 1, 3222994459],
  ['é€', 0, 488885663],
  ['{"a":1}', 0x9747b28c, 551828412],
]

test('an entry and a text have the hashes they had in version 1', () => {
  for (const [words, hex] of GOLDEN_ENTRIES) assert.equal(digestOf([words]).toHex(), hex)
  for (const [text, seed, hash] of GOLDEN_TEXTS) assert.equal(mixText(text, seed), hash)
  assert.equal(mixBytes(Buffer.from('xabcx').subarray(1, 4)), mixText('abc'))
})

test('the digest is two sums modulo 2⁶⁴ of the hashes, whatever their order', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), (entries) => {
      const sums = [0n, 0n]
      for (const words of entries) {
        const [a, b] = sumsOf(digestOf([words]))
        sums[0] = BigInt.asUintN(64, sums[0] + a)
        sums[1] = BigInt.asUintN(64, sums[1] + b)
      }
      assert.deepEqual(sumsOf(digestOf(entries)), sums)
      assert.ok(digestOf(entries).equals(digestOf(entries.toReversed())))
    }),
  )
})

test('what was added can be taken out again, in any order', () => {
  fc.assert(
    fc.property(fc.array(entry), fc.array(entry), (kept, gone) => {
      const digest = digestOf([...gone, ...kept])
      for (const words of gone.toReversed()) {
        digest.mix(...words)
        digest.subtract()
      }
      assert.ok(digest.equals(digestOf(kept)))
    }),
  )
})

test('a change of any one word changes the digest, and the sign of a word does not', () => {
  fc.assert(
    fc.property(entry, fc.nat({ max: 8 }), fc.integer({ min: 1, max: 0xffffffff }), (words, place, change) => {
      const changed = words.map((w, i) => (i === place ? w ^ change : w | 0)) as unknown as Entry
      const signed = words.map((w) => w | 0) as unknown as Entry
      assert.ok(!digestOf([words]).equals(digestOf([changed])))
      assert.ok(digestOf([words]).equals(digestOf([signed])))
    }),
  )
})

test('a digest goes on from its bytes, and can be reset', () => {
  const digest = digestOf(GOLDEN_ENTRIES.map(([words]) => words))
  const bytes = digest.bytes()
  assert.equal(bytes.length, DIGEST_BYTES)
  const other = new StateDigest()
  other.load(bytes)
  assert.ok(other.equals(digest))
  assert.equal(Buffer.from(bytes).toString('hex'), digest.toHex())
  other.reset()
  assert.equal(other.toHex(), '0'.repeat(32))
})
