import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { OrderedTable } from '../../src/tables/ordered.ts'

type Key = readonly [number, number, number, number]

const word = fc.integer({ min: 0, max: 0xffffffff })
/** Words that collide: equal, neighbouring, at the ends of their range. */
const nastyWord = fc.constantFrom(0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)
const anyKey: fc.Arbitrary<Key> = fc.tuple(word, word, word, word)
const nastyKey: fc.Arbitrary<Key> = fc.tuple(nastyWord, nastyWord, nastyWord, nastyWord)
/** Keys of one home slot and many of them: the overflow slots at the end run out. */
const crowdedKey: fc.Arbitrary<Key> = fc.tuple(fc.constant(0xffffffff), nastyWord, word, nastyWord)
const key: fc.Arbitrary<Key> = fc.oneof(anyKey, nastyKey, crowdedKey)

const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('insert' as const), key, value: word }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('find' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('random' as const), r: word }) },
)

const textOf = (key: Key): string => key.map((w) => w.toString(16).padStart(8, '0')).join('')

function keyOf(table: OrderedTable, handle: number): Key {
  return [table.keyWord(handle, 0), table.keyWord(handle, 1), table.keyWord(handle, 2), table.keyWord(handle, 3)]
}

function entriesOf(table: OrderedTable): Array<[string, number, number]> {
  const entries: Array<[string, number, number]> = []
  table.forEach((handle) => {
    entries.push([textOf(keyOf(table, handle)), table.word(handle, 0), table.word(handle, 1)])
  })
  return entries
}

function imageOf(table: OrderedTable): Buffer {
  const pieces: Buffer[] = []
  table.writeImage((bytes) => pieces.push(Buffer.from(bytes)))
  return Buffer.concat(pieces)
}

function readerOf(image: Uint8Array): (target: Uint8Array) => number {
  let at = 0
  return (target) => {
    const piece = image.subarray(at, at + target.length)
    target.set(piece)
    at += piece.length
    return piece.length
  }
}

/** The same keys every time: md5 of numbers. */
function keyNumber(i: number): Key {
  const digest = hash('md5', String(i), 'buffer')
  return [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8), digest.readUInt32LE(12)]
}

function filled(count: number, partitionBits: number): OrderedTable {
  const table = new OrderedTable({ valueWords: 2, partitionBits })
  for (let i = 0; i < count; i++) table.setWord(table.insert(...keyNumber(i)), 0, i)
  return table
}

test('any sequence of operations leaves what a Map would hold, in the order of the keys', () => {
  fc.assert(
    fc.property(
      fc.array(operation, { maxLength: 300, size: 'max' }),
      fc.integer({ min: 2, max: 5 }),
      (operations, partitionBits) => {
        const table = new OrderedTable({ valueWords: 2, partitionBits })
        const model = new Map<string, { key: Key; value: number }>()
        for (const step of operations) {
          if (step.kind === 'insert') {
            const handle = table.insert(...step.key)
            const text = textOf(step.key)
            assert.equal(table.wasNew, !model.has(text))
            assert.equal(table.word(handle, 0), model.get(text)?.value ?? 0)
            table.setWord(handle, 0, step.value)
            table.setWord(handle, 1, ~step.value)
            model.set(text, { key: step.key, value: step.value })
          } else if (step.kind === 'remove' && model.size > 0) {
            const [text, entry] = [...model][step.pick % model.size]
            table.remove(table.find(...entry.key))
            model.delete(text)
            assert.equal(table.find(...entry.key), -1)
          } else if (step.kind === 'find') {
            const handle = table.find(...step.key)
            assert.equal(handle < 0 ? undefined : table.word(handle, 0), model.get(textOf(step.key))?.value)
          } else if (step.kind === 'random') {
            const handle = table.random(step.r)
            assert.equal(handle < 0, model.size === 0)
            if (handle >= 0) assert.ok(model.has(textOf(keyOf(table, handle))))
          }
          assert.equal(table.count, model.size)
        }
        const expected = [...model].map(([text, { value }]) => [text, value, ~value >>> 0] as const)
        assert.deepEqual(
          entriesOf(table),
          expected.sort((a, b) => (a[0] < b[0] ? -1 : 1)),
        )
        for (const { key: known } of model.values()) assert.ok(table.find(...known) >= 0)
      },
    ),
    { numRuns: 300 },
  )
})

test('a key may come in signed words, or as the string that crypto.hash returns', () => {
  const table = new OrderedTable({ valueWords: 1 })
  for (let i = 0; i < 1000; i++) {
    const [k0, k1, k2, k3] = keyNumber(i)
    const text = hash('md5', String(i), 'buffer').toString('latin1')
    const handle = table.insertKey(text)
    assert.ok(table.wasNew)
    assert.deepEqual(keyOf(table, handle), [k0, k1, k2, k3])
    assert.equal(table.find(k0 | 0, k1 | 0, k2 | 0, k3 | 0), handle)
    assert.equal(table.findKey(text), handle)
  }
})

test('thousands of entries are found after growth and, when most are removed, after shrinking', () => {
  const table = filled(50_000, 5)
  const bytesFull = table.bytes
  for (let i = 0; i < 50_000; i++) assert.equal(table.word(table.find(...keyNumber(i)), 0), i)
  for (let i = 0; i < 50_000; i++) if (i % 50 !== 0) table.remove(table.find(...keyNumber(i)))
  assert.equal(table.count, 1000)
  assert.ok(table.bytes < bytesFull / 10)
  for (let i = 0; i < 50_000; i++) assert.equal(table.find(...keyNumber(i)) >= 0, i % 50 === 0)
})

test('an entry of 24 bytes takes less than 30 at any size from 4,096 slots a partition, below that less than 37', () => {
  const table = new OrderedTable({ valueWords: 2, partitionBits: 4 })
  for (let i = 0; i < 150_000; i++) {
    table.insert(...keyNumber(i))
    const most = i < 62_000 ? 37 : 30
    if (i > 20_000 && i % 97 === 0) assert.ok(table.bytes / table.count < most, `${table.bytes} for ${table.count}`)
  }
})

test('a small table takes less than 100 KB', () => {
  const small = new OrderedTable({ valueWords: 2 })
  for (let i = 0; i < 100; i++) small.insert(...keyNumber(i))
  assert.ok(small.bytes < 100_000)
})

test('the random entry is any of them with nearly the same probability', () => {
  const table = filled(500, 4)
  const hits = new Array<number>(500).fill(0)
  for (let i = 0; i < 500_000; i++) hits[table.word(table.random(Math.imul(i, 0x9e3779b9) >>> 0), 0)]++
  // Of mean 1000 and standard deviation 32.
  assert.ok(Math.min(...hits) > 800 && Math.max(...hits) < 1200, `${Math.min(...hits)} to ${Math.max(...hits)}`)
})

test('a random entry is found in a table of one, and none in an empty one', () => {
  const table = new OrderedTable({ valueWords: 2 })
  assert.equal(table.random(123), -1)
  const handle = table.insert(1, 2, 3, 4)
  for (let r = 0; r < 100; r++) assert.equal(table.random(r), handle)
})

test('an image holds all entries, and is the same bytes whatever the order of insertion and the removals', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(key, { maxLength: 200, selector: textOf, size: 'max' }),
      fc.uniqueArray(key, { maxLength: 100, selector: textOf }),
      (keys, others) => {
        const texts = new Set(keys.map(textOf))
        const extra = others.filter((k) => !texts.has(textOf(k)))
        const first = new OrderedTable({ valueWords: 2, partitionBits: 3 })
        for (const k of keys) first.setWord(first.insert(...k), 1, k[2])
        const second = new OrderedTable({ valueWords: 2, partitionBits: 3 })
        for (const k of extra) second.insert(...k)
        for (const k of keys.toReversed()) second.setWord(second.insert(...k), 1, k[2])
        for (const k of extra) second.remove(second.find(...k))
        const image = imageOf(first)
        assert.ok(image.equals(imageOf(second)))
        const third = filled(10, 3)
        assert.ok(third.readImage(readerOf(image)))
        assert.deepEqual(entriesOf(third), entriesOf(first))
        assert.equal(third.count, keys.length)
        for (const k of keys) assert.ok(third.find(...k) >= 0)
      },
    ),
  )
})

test('a table read from an image goes on as before: inserts, removals, growth', () => {
  const table = new OrderedTable({ valueWords: 2, partitionBits: 4 })
  assert.ok(table.readImage(readerOf(imageOf(filled(5000, 4)))))
  for (let i = 5000; i < 10_000; i++) table.setWord(table.insert(...keyNumber(i)), 0, i)
  for (let i = 0; i < 2000; i++) table.remove(table.find(...keyNumber(i)))
  for (let i = 2000; i < 10_000; i++) assert.equal(table.word(table.find(...keyNumber(i)), 0), i)
  assert.equal(table.count, 8000)
})

test('any damaged or missing byte of an image is noticed, and the table is empty then', () => {
  const image = imageOf(filled(60, 3))
  const table = new OrderedTable({ valueWords: 2, partitionBits: 3 })
  for (let at = 0; at < image.length; at++) {
    const damaged = Buffer.from(image)
    damaged[at] ^= 1 << (at % 8)
    assert.equal(table.readImage(readerOf(damaged)), false, `byte ${at}`)
    assert.equal(table.count, 0)
    assert.equal(table.readImage(readerOf(image.subarray(0, at))), false)
  }
  assert.ok(table.readImage(readerOf(image)))
})

test('an image of a table of another shape is refused', () => {
  const image = imageOf(filled(60, 3))
  assert.equal(new OrderedTable({ valueWords: 2, partitionBits: 4 }).readImage(readerOf(image)), false)
  assert.equal(new OrderedTable({ valueWords: 1, partitionBits: 3 }).readImage(readerOf(image)), false)
})

test('an image can be changed one partition at a time', () => {
  const pieces: Buffer[] = []
  filled(300, 3).writeImage((bytes) => pieces.push(Buffer.from(bytes)))
  const one = new OrderedTable({ valueWords: 2, partitionBits: 3 })
  for (let partition = 0; partition < one.partitionCount; partition++) {
    assert.ok(one.readPartition(partition, readerOf(pieces[1 + partition])))
    for (let i = 300; i < 400; i++) {
      const added = keyNumber(i)
      if (one.partitionOf(added[0]) === partition) one.setWord(one.insert(...added), 0, i)
    }
    one.writePartition(partition, (bytes) => {
      pieces[1 + partition] = Buffer.from(bytes)
    })
    one.clearPartition(partition)
    assert.equal(one.count, 0)
  }
  assert.ok(Buffer.concat(pieces).equals(imageOf(filled(400, 3))))
})

test('a handle of no entry is refused by remove', () => {
  const table = filled(100, 2)
  assert.throws(() => table.remove(-1), /handle/)
  assert.throws(() => new OrderedTable({ valueWords: 2 }).remove(0), /handle/)
  assert.equal(table.count, 100)
})

test('a touch changes nothing and needs no entry', () => {
  const table = filled(100, 2)
  const before = imageOf(table)
  for (let i = 0; i < 200; i++) table.touch(keyNumber(i)[0])
  new OrderedTable({ valueWords: 0 }).touch(0xffffffff)
  assert.ok(imageOf(table).equals(before))
})
