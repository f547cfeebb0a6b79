import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BulkDeques, DEQUE_WORDS } from '../../src/tables/deque.ts'

const DEQUES = 3

const operation = fc.record({
  deque: fc.nat({ max: DEQUES - 1 }),
  kind: fc.constantFrom('push', 'push', 'push', 'push', 'popHead', 'popTail', 'removeAt', 'get', 'dropTail', 'clear'),
  n: fc.nat({ max: 70 }),
  times: fc.integer({ min: 1, max: 12 }),
})

function listOf(deques: BulkDeques, words: Uint32Array, at: number): number[] {
  const list: number[] = []
  deques.forEach(words, at, (word0, word1) => {
    assert.equal(word1, ~word0 >>> 0)
    list.push(word0)
  })
  return list
}

test('any sequence of operations on deques of one arena leaves what arrays would hold', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 150, size: 'max' }), (operations) => {
      const deques = new BulkDeques()
      const words = new Uint32Array(DEQUES * DEQUE_WORDS + 1)
      const models: number[][] = Array.from({ length: DEQUES }, () => [])
      let next = 0xfffffff0
      for (const { deque, kind, n, times } of operations) {
        const at = 1 + deque * DEQUE_WORDS
        const model = models[deque]
        const agree = (found: boolean, expected: number | undefined): void => {
          assert.equal(found, expected !== undefined)
          if (expected !== undefined) assert.deepEqual([deques.word0, deques.word1], [expected, ~expected >>> 0])
        }
        for (let time = 0; time < times; time++) {
          if (kind === 'push') {
            next = (next + 1) >>> 0
            deques.pushTail(words, at, next, ~next)
            model.push(next)
          } else if (kind === 'popHead') agree(deques.popHead(words, at), model.shift())
          else if (kind === 'popTail') agree(deques.popTail(words, at), model.pop())
          else if (kind === 'removeAt') agree(deques.removeAt(words, at, n), model.splice(n, 1)[0])
          else if (kind === 'get') {
            agree(deques.get(words, at, n), model[n])
            agree(deques.getFromTail(words, at, n), model[model.length - 1 - n])
          } else if (kind === 'clear' && n < 10) {
            deques.clear(words, at)
            model.length = 0
          } else if (kind === 'dropTail' && time === 0) {
            deques.dropTail(words, at, n % 9)
            model.length = Math.max(0, model.length - (n % 9))
          }
          assert.equal(deques.count(words, at), model.length)
        }
        for (let i = 0; i < DEQUES; i++) assert.deepEqual(listOf(deques, words, 1 + i * DEQUE_WORDS), models[i])
      }
      assert.equal(words[0], 0)
    }),
    { numRuns: 200 },
  )
})

test('an empty deque is zeros again, and a deque of one entry needs no chunk', () => {
  const deques = new BulkDeques()
  const words = new Uint32Array(DEQUE_WORDS)
  deques.pushTail(words, 0, 1, 2)
  assert.equal(deques.bytes, 0)
  for (let i = 0; i < 30; i++) deques.pushTail(words, 0, i, i)
  while (deques.popHead(words, 0));
  assert.deepEqual([...words], [0, 0, 0, 0])
  for (let i = 0; i < 30; i++) deques.pushTail(words, 0, i, i)
  while (deques.popTail(words, 0));
  assert.deepEqual([...words], [0, 0, 0, 0])
})

test('freed chunks are used again: a queue that moves on takes no more memory', () => {
  const deques = new BulkDeques()
  const words = new Uint32Array(DEQUE_WORDS)
  for (let i = 0; i < 1000; i++) deques.pushTail(words, 0, i, 0)
  const { bytes } = deques
  for (let i = 1000; i < 100_000; i++) {
    deques.pushTail(words, 0, i, 0)
    deques.popHead(words, 0)
    assert.equal(deques.word0, i - 1000)
  }
  for (let round = 0; round < 100; round++) {
    deques.clear(words, 0)
    for (let i = 0; i < 1000; i++) deques.pushTail(words, 0, i, 0)
  }
  assert.equal(deques.bytes, bytes)
})
