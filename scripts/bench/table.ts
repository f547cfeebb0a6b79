/**
 * What the off-heap tables cost: `node scripts/bench/table.ts [KEYS]`, 10 million by default.
 *
 * Keys are md5 of distinct URLs. They are looked up and removed in an order that has nothing to do with their insertion;
 * misses are md5 of URLs never inserted. "touched" is the same after `touch` on each of 128 keys, as for the links of a
 * page. Rates are per second of CPU time (user), so that other work on the machine counts less; the wall's stand beside.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { BulkDeques, DEQUE_WORDS } from '../../src/tables/deque.ts'
import { StateDigest } from '../../src/tables/digest.ts'
import { DueHeap } from '../../src/tables/heap.ts'
import { OrderedTable } from '../../src/tables/ordered.ts'

const keyCount = Number(process.argv[2] ?? 10_000_000)
const BATCH = 128

type UseKey = (k0: number, k1: number, k2: number, k3: number) => void

function keysOf(prefix: string): Int32Array {
  const bytes = Buffer.from(new ArrayBuffer(keyCount * 16))
  for (let i = 0; i < keyCount; i++) hash('md5', prefix + i, 'buffer').copy(bytes, i * 16)
  return new Int32Array(bytes.buffer)
}

/** The same keys in another order, laid out one after the other so that reading them costs nothing. */
function shuffled(keys: Int32Array): Int32Array {
  const result = keys.slice()
  let state = 1
  for (let i = keyCount - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const j = Math.floor((state / 2 ** 32) * (i + 1))
    for (let w = 0; w < 4; w++) {
      const word = result[i * 4 + w]
      result[i * 4 + w] = result[j * 4 + w]
      result[j * 4 + w] = word
    }
  }
  return result
}

function forKeys(keys: Int32Array, use: UseKey): void {
  for (let at = 0; at < keys.length; at += 4) use(keys[at], keys[at + 1], keys[at + 2], keys[at + 3])
}

function forTouchedKeys(table: OrderedTable, keys: Int32Array, use: UseKey): void {
  for (let from = 0; from < keys.length; from += BATCH * 4) {
    const end = Math.min(from + BATCH * 4, keys.length)
    for (let at = from; at < end; at += 4) table.touch(keys[at])
    for (let at = from; at < end; at += 4) use(keys[at], keys[at + 1], keys[at + 2], keys[at + 3])
  }
}

function measure(name: string, count: number, run: () => void): void {
  const cpu = process.cpuUsage()
  const start = performance.now()
  run()
  const wallMs = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const rate = (count / user).toFixed(2).padStart(7)
  console.log(
    `${name.padEnd(22)} ${rate} M/s  (wall ${(count / wallMs / 1000).toFixed(2)}, system ${system / 1000} ms)`,
  )
}

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]) * 1024
}

function benchInsert(table: OrderedTable, keys: Int32Array): void {
  const before = residentBytes()
  let bytesMax = 0
  measure('insert', keyCount, () => {
    forKeys(keys, (k0, k1, k2, k3) => {
      table.insert(k0, k1, k2, k3)
      if (table.count % 4096 === 0 && table.count > keyCount / 8)
        bytesMax = Math.max(bytesMax, table.bytes / table.count)
    })
  })
  assert.equal(table.count, keyCount)
  const perEntry = (bytes: number): string => (bytes / keyCount).toFixed(2)
  console.log(`bytes an entry: ${perEntry(table.bytes)} allocated, ${perEntry(residentBytes() - before)} resident,`)
  console.log(`  ${bytesMax.toFixed(2)} allocated at the worst size from ${keyCount / 8} on`)
}

/** Longest inserts of a table filled anew, growth included, by the wall's clock: other work on the machine shows. */
function benchPause(keys: Int32Array): void {
  const table = new OrderedTable({ valueWords: 2 })
  const longestMs = [0, 0, 0, 0, 0]
  let last = performance.now()
  forKeys(keys, (k0, k1, k2, k3) => {
    table.insert(k0, k1, k2, k3)
    const now = performance.now()
    if (now - last > longestMs[0]) {
      longestMs[0] = now - last
      longestMs.sort((a, b) => a - b)
    }
    last = now
  })
  console.log(`longest inserts           ${longestMs.map((ms) => ms.toFixed(2)).join(', ')} ms`)
  table.clear()
}

/** What the memory of this machine gives at this moment: reads at random places of as many bytes as the table has. */
function benchMemory(bytes: number): void {
  const words = new Uint32Array(bytes >>> 2).fill(1)
  let sum = 0
  measure('memory, independent', keyCount, () => {
    for (let i = 0; i < keyCount; i++)
      sum += words[Math.floor(((Math.imul(i, 0x9e3779b9) >>> 0) / 2 ** 32) * words.length)]
  })
  measure('memory, dependent', keyCount, () => {
    let place = 0
    for (let i = 0; i < keyCount; i++) {
      place = Math.floor(((Math.imul(i + words[place], 0x9e3779b9) >>> 0) / 2 ** 32) * words.length)
    }
    sum += place
  })
  assert(sum > 0)
}

function benchFind(table: OrderedTable, hits: Int32Array, misses: Int32Array): void {
  let found = 0
  const find: UseKey = (k0, k1, k2, k3) => {
    if (table.find(k0, k1, k2, k3) >= 0) found++
  }
  for (let round = 0; round < 3; round++) {
    measure('find, hit', keyCount, () => forKeys(hits, find))
    measure('find, miss', keyCount, () => forKeys(misses, find))
    measure('find, hit, touched', keyCount, () => forTouchedKeys(table, hits, find))
    measure('find, miss, touched', keyCount, () => forTouchedKeys(table, misses, find))
  }
  assert.equal(found, 6 * keyCount)
}

function benchImage(table: OrderedTable): void {
  const image = Buffer.from(new ArrayBuffer(table.count * 24 + 16 + table.partitionCount * 16))
  let end = 0
  measure('image, write', keyCount, () => {
    table.writeImage((bytes) => {
      image.set(bytes, end)
      end += bytes.length
    })
  })
  const copy = new OrderedTable({ valueWords: 2 })
  let at = 0
  measure('image, read', keyCount, () => {
    const whole = copy.readImage((target) => {
      const bytes = image.copy(target, 0, at)
      at += bytes
      return bytes
    })
    assert.ok(whole && copy.count === table.count)
  })
  copy.clear()
}

function benchOthers(): void {
  const digest = new StateDigest()
  measure('digest, mix and add', keyCount, () => {
    for (let i = 0; i < keyCount; i++) {
      digest.mix(1, i, ~i, i * 3, i ^ 77, 1, 2, 3, 4)
      digest.add()
    }
  })
  const heap = new DueHeap()
  const hosts = Math.min(keyCount, 1_000_000)
  measure('heap, update', hosts, () => {
    for (let id = 0; id < hosts; id++) heap.update(id, Math.imul(id, 0x9e3779b9))
  })
  measure('heap, pop and update', hosts, () => {
    for (let i = 0; i < hosts; i++) heap.update(heap.popId(), i + 1e10)
  })
  const deques = new BulkDeques()
  const words = new Uint32Array(hosts * DEQUE_WORDS)
  const place = (i: number): number => ((i * 7919) % hosts) * DEQUE_WORDS
  measure('deques, push', keyCount, () => {
    for (let i = 0; i < keyCount; i++) deques.pushTail(words, place(i), i, i)
  })
  measure('deques, pop', keyCount, () => {
    for (let i = 0; i < keyCount; i++) deques.popHead(words, place(i))
  })
}

console.log(`Node ${process.version}, ${keyCount} keys`)
const keys = keysOf('https://site.example/page/')
const hits = shuffled(keys)
const misses = keysOf('https://other.example/page/')
const table = new OrderedTable({ valueWords: 2 })
benchInsert(table, keys)
benchMemory(table.bytes)
benchFind(table, hits, misses)
measure('random', keyCount, () => {
  for (let i = 0; i < keyCount; i++) assert(table.random(Math.imul(i, 0x9e3779b9) >>> 0) >= 0)
})
benchImage(table)
measure('find and remove', keyCount, () => {
  forKeys(hits, (k0, k1, k2, k3) => table.remove(table.find(k0, k1, k2, k3)))
})
assert.equal(table.count, 0)
table.clear()
benchPause(keys)
const again = new OrderedTable({ valueWords: 2 })
measure('insert, touched', keyCount, () => {
  forTouchedKeys(again, keys, (k0, k1, k2, k3) => {
    again.insert(k0, k1, k2, k3)
  })
})
benchOthers()
