import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { keyOf, word } from '../../src/base/md5.ts'
import type { Disk } from '../../src/env/disk.ts'
import { SEGMENT_BYTES_MAX } from '../../src/log/format.ts'
import { Store } from '../../src/log/store.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { seeded } from './given.ts'

const clock = { wallMs: () => 1_700_000_000_000 }

function open(disk: Disk, directory = '/store', segmentBytesMax = SEGMENT_BYTES_MAX): Store {
  return new Store({ disk, directory, clock, random: seeded(6), segmentBytesMax })
}

test('KEY is the ancestor’s format to the bit: 16 bytes of md5, 8 of position, all ones for a deletion', () => {
  const disk = new SimulatedDisk()
  const store = open(disk)
  store.put('http://a.test/', 'one')
  store.put('http://b.test/', 'three')
  store.delete('http://a.test/')
  store.close()
  const key = Buffer.from(disk.peek('/store/000001.key') ?? [])
  const md5a = Buffer.from(keyOf('http://a.test/'), 'latin1')
  const md5b = Buffer.from(keyOf('http://b.test/'), 'latin1')
  const position = (value: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(value))
    return bytes
  }
  const expected = [md5a, position(96), md5b, position(96 + 20 + 16 + 3), md5a, Buffer.alloc(8, 0xff)]
  assert.equal(key.toString('hex'), Buffer.concat(expected).toString('hex'))
})

test('a store behaves like a map, also when closed, killed and opened again', () => {
  const name = fc.nat(30).map((i) => `http://host.test/${i}`)
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.constant('put' as const), name, fc.string({ maxLength: 900, unit: 'grapheme-ascii' })),
    },
    { weight: 3, arbitrary: fc.tuple(fc.constant('delete' as const), name, fc.constant('')) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom('reopen' as const, 'kill' as const), name, fc.constant('')) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const disk = new SimulatedDisk()
      let store = open(disk, '/store', 4096)
      const model = new Map<string, string>()
      for (const [action, key, value] of steps) {
        if (action === 'put') {
          store.put(key, value)
          model.set(key, value)
        } else if (action === 'delete') assert.equal(store.delete(key), model.delete(key))
        else {
          if (action === 'reopen') store.close()
          else store.flush()
          disk.processDeath()
          store = open(disk, '/store', 4096)
          assert.deepEqual(store.verdicts, [])
        }
        assert.equal(store.size, model.size)
      }
      for (let i = 0; i <= 30; i++) {
        const key = `http://host.test/${i}`
        assert.equal(store.get(key)?.toString('latin1'), model.get(key))
        assert.equal(store.has(key), model.has(key))
      }
    }),
    { numRuns: 150 },
  )
})

for (const [name, makeDisk] of [
  ['simulated', () => ({ disk: new SimulatedDisk(setImmediate), directory: '/store', remove: () => {} })],
  ['real', realDisk],
] as const) {
  test(`synced values are there again, in one read each (${name} disk)`, async () => {
    const { disk, directory, remove } = makeDisk()
    let store = open(disk, directory)
    for (let i = 0; i < 5000; i++) store.put(`http://host.test/${i}`, `value ${i} ${'x'.repeat(i % 5000)}`)
    for (let i = 0; i < 5000; i += 7) store.delete(`http://host.test/${i}`)
    await store.sync()
    store.put('http://host.test/1', 'again')
    await store.sync()
    store.close()
    store = open(disk, directory)
    assert.equal(store.size, 5000 - 715)
    const counters = disk instanceof SimulatedDisk ? disk.counters : { reads: 0 }
    for (let i = 1; i < 5000; i++) {
      const before = counters.reads
      const value = store.get(`http://host.test/${i}`)?.toString('latin1')
      assert(counters.reads - before <= 1)
      assert.equal(value, i % 7 === 0 ? undefined : i === 1 ? 'again' : `value ${i} ${'x'.repeat(i % 5000)}`)
    }
    store.close()
    remove()
  })
}

function realDisk() {
  const directory = mkdtempSync(join(tmpdir(), 'store-'))
  return { disk: nodeDisk, directory: join(directory, 'store'), remove: () => rmSync(directory, { recursive: true }) }
}

test('what sync resolved for survives a loss of power', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const disk = new SimulatedDisk(setImmediate)
    const store = open(disk, '/store', 20_000)
    for (let i = 0; i < 200; i++) store.put(`http://host.test/${i}`, `value ${i}`)
    await store.sync()
    for (let i = 100; i < 300; i++) store.put(`http://host.test/${i}`, `later ${i}`)
    store.flush()
    disk.powerLoss(seeded(seed).uint32)
    const again = open(disk, '/store', 20_000)
    for (let i = 0; i < 200; i++) assert.match(again.get(`http://host.test/${i}`)?.toString() ?? '', /^(value|later) /)
  }
})

test('many syncs asked for at once all resolve', async () => {
  const store = open(new SimulatedDisk(setImmediate))
  const asked: Promise<void>[] = []
  for (let i = 0; i < 20; i++) {
    store.put(`http://host.test/${i}`, 'x')
    asked.push(store.sync())
  }
  await Promise.all(asked)
  store.close()
})

test('a random key is one of those in the store, and any may be', () => {
  const store = open(new SimulatedDisk())
  assert.equal(store.randomKey(), undefined)
  for (let i = 0; i < 50; i++) store.put(`http://host.test/${i}`, 'x')
  for (let i = 0; i < 25; i++) store.delete(`http://host.test/${i}`)
  const seen = new Set<string>()
  for (let i = 0; i < 3000; i++) {
    const key = store.randomKey()
    assert(key !== undefined && store.hasKey(key))
    seen.add(key)
  }
  assert.equal(seen.size, 25)
})

test('a key is asked for by name, as 16 characters or as four words', () => {
  const store = open(new SimulatedDisk())
  const key = keyOf('http://a.test/')
  store.putKey(key, new Uint8Array([1, 2]))
  assert.equal(store.has('http://a.test/'), true)
  assert.equal(store.hasWords(word(key, 0), word(key, 1), word(key, 2), word(key, 3)), true)
  assert.equal(store.hasWords(word(key, 0), word(key, 1), word(key, 2), 1), false)
  assert.deepEqual([...(store.getKey(key) ?? [])], [1, 2])
})
