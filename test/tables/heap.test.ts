import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DueHeap } from '../../src/tables/heap.ts'

const operation = fc.record({
  kind: fc.constantFrom('update', 'update', 'update', 'remove', 'pop'),
  id: fc.nat({ max: 200 }),
  due: fc.oneof(fc.nat({ max: 5 }), fc.double({ noNaN: true })),
})

/** The id due first in a model, the smallest of those due together. */
function firstOf(model: Map<number, number>): number {
  let first = -1
  for (const [id, due] of model) {
    const least = model.get(first)
    if (least === undefined || due < least || (due === least && id < first)) first = id
  }
  return first
}

test('any sequence of operations leaves what a Map would hold, and the first is the earliest, then the smallest id', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const heap = new DueHeap()
      const model = new Map<number, number>()
      for (const { kind, id, due } of operations) {
        if (kind === 'update') {
          heap.update(id, due)
          model.set(id, due)
        } else if (kind === 'remove') assert.equal(heap.remove(id), model.delete(id))
        else {
          const first = firstOf(model)
          assert.equal(heap.popId(), first)
          model.delete(first)
        }
        assert.equal(heap.size, model.size)
        assert.equal(heap.has(id), model.has(id))
        assert.equal(heap.peekId(), firstOf(model))
        assert.equal(heap.dueOf(id), model.get(id) ?? Infinity)
        assert.equal(heap.peekDue(), model.get(firstOf(model)) ?? Infinity)
      }
    }),
    { numRuns: 300 },
  )
})

test('ids come out by due time and then by id, however they came in', () => {
  const heap = new DueHeap()
  for (let i = 0; i < 10_000; i++) heap.update((i * 7919) % 10_000, (i * 7919) % 100)
  heap.update(77, -1)
  const out: number[] = []
  for (let id = heap.popId(); id >= 0; id = heap.popId()) out.push(id)
  const expected = Array.from({ length: 10_000 }, (_, id) => id)
  expected.sort((a, b) => (a === 77 ? -1 : b === 77 ? 1 : (a % 100) - (b % 100) || a - b))
  assert.deepEqual(out, expected)
})

test('a heap can be cleared and used again, and refuses a due time that is no number', () => {
  const heap = new DueHeap()
  heap.update(5, 1)
  heap.clear()
  assert.equal(heap.has(5), false)
  assert.equal(heap.popId(), -1)
  heap.update(5, 2)
  assert.equal(heap.peekDue(), 2)
  assert.throws(() => heap.update(6, Number.NaN))
})
