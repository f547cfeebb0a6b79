import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keyOf, keyWordsOf, word } from '../../src/base/md5.ts'

/** RFC 1321, appendix A.5. */
const VECTORS: ReadonlyArray<readonly [string, string]> = [
  ['', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['a', '0cc175b9c0f1b6a831c399e269772661'],
  ['abc', '900150983cd24fb0d6963f7d28e17f72'],
  ['message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
  ['abcdefghijklmnopqrstuvwxyz', 'c3fcd3d76192e4007dfb496cca67e13b'],
  ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'd174ab98d277d9f5a5611c2c9f419d9f'],
  [
    '12345678901234567890123456789012345678901234567890123456789012345678901234567890',
    '57edf4a22be3c955ac49da2e2107b67a',
  ],
]

function hexOf(words: Readonly<Int32Array>): string {
  return Buffer.from(Int32Array.from(words).buffer).toString('hex')
}

function assertSame(text: string): void {
  const key = keyOf(text)
  const words = [...keyWordsOf(text)].map((w) => w >>> 0)
  assert.deepEqual(
    words,
    [0, 1, 2, 3].map((i) => word(key, i)),
    `${text.length} characters`,
  )
}

test('the words of a key are those of the RFC’s examples', () => {
  for (const [text, digest] of VECTORS) assert.equal(hexOf(keyWordsOf(text)), digest)
})

test('they equal Node’s md5 at every length around a block’s end and around the longest text', () => {
  for (const character of ['x', 'é', '€', '😀', '\ud800']) {
    for (let length = 0; length < 600; length++) assertSame(character.repeat(length))
  }
})

test('they equal Node’s md5 of any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 700, size: 'max' }), assertSame))
})
