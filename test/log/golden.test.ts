/** Every version ever written still opens, to the last byte; and FORMAT.md shows bytes that exist. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { keyOf } from '../../src/base/md5.ts'
import { ROLE } from '../../src/log/format.ts'
import { PAGES_LOG, readPage } from '../../src/log/pages.ts'
import type { ItemsOf } from '../../src/log/rebuild.ts'
import { openLog } from '../../src/log/recover.ts'
import { Store } from '../../src/log/store.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { DIRECTORY, FACT, factBody, factsOf, hexOf, itemsOfFacts, openEvents, seeded } from './given.ts'
import { MAKERS } from './golden/make.ts'

type Name = keyof typeof MAKERS
const NAMES = Object.keys(MAKERS) as Name[]
const ROOT = join(import.meta.dirname, 'golden', 'v1')

function golden(name: Name): SimulatedDisk {
  const disk = new SimulatedDisk()
  for (const file of readdirSync(join(ROOT, name)))
    disk.poke(`${DIRECTORY}/${file}`, readFileSync(join(ROOT, name, file)))
  return disk
}

const itemOfExample: ItemsOf = (_record, emit) => emit(0x33221100, 0x77665544, 0xbbaa9988, 0xffeeddcc, 12, 7)

function optionsOf(name: Name) {
  if (name === 'pages') return PAGES_LOG
  if (name === 'store') return { ...PAGES_LOG, role: ROLE.store }
  return { role: ROLE.events, kindMax: 30, itemsOf: name === 'example' ? itemOfExample : itemsOfFacts }
}

for (const name of NAMES) {
  test(`the writer still makes the golden ${name} of version 1, byte for byte`, () => {
    const made = new SimulatedDisk()
    MAKERS[name](made)
    const expected = golden(name)
    assert.deepEqual(made.list(DIRECTORY), expected.list(DIRECTORY))
    for (const file of made.list(DIRECTORY)) {
      assert.equal(
        hexOf(made.peek(`${DIRECTORY}/${file}`) ?? []),
        hexOf(expected.peek(`${DIRECTORY}/${file}`) ?? []),
        file,
      )
    }
  })

  test(`every checksum and length of the golden ${name} is right by code that shares nothing with the reader`, () => {
    const disk = golden(name)
    const files = disk.list(DIRECTORY).filter((file) => file.endsWith('.val'))
    let before: { val: Buffer; key: Buffer } | undefined
    for (const file of files) {
      const val = Buffer.from(disk.peek(`${DIRECTORY}/${file}`) ?? [])
      const key = Buffer.from(disk.peek(`${DIRECTORY}/${file.replace('val', 'key')}`) ?? [])
      const salt = val.readUInt32LE(56)
      for (let at = 0; at < val.length; at += 4 + val.readUInt32LE(at)) {
        const end = at + 4 + val.readUInt32LE(at)
        const head = crc32(val.subarray(at, at + 16), at === 0 ? 0 : salt)
        assert.equal(val.readUInt32LE(at + 16), crc32(val.subarray(at + 20, end), head))
        assert.equal(val[at + 4], 1)
      }
      const own = [val.readUInt32LE(76), val.readUInt32LE(80), val.readUInt32LE(84)]
      if (own[0] > 0) assert.deepEqual(own, [val.length, key.length, crc32(key)])
      const stated = [val.readUInt32LE(64), val.readUInt32LE(68), val.readUInt32LE(72)]
      const isRewritten = before !== undefined && before.val.readUInt32LE(76) > 0
      if (before === undefined) assert.deepEqual(stated, [0, 0, 0])
      else if (!isRewritten) assert.deepEqual(stated, [before.val.length, before.key.length, crc32(before.key)])
      assert.equal(val.readUInt32LE(40), Number(file.slice(0, 6)))
      assert.equal(key.length % 24, 0)
      before = { val, key }
    }
  })

  test(`the golden ${name} of version 1 opens and verifies without a finding`, () => {
    const { findings, opened, records } = verifyLog(golden(name), DIRECTORY, { ...optionsOf(name) })
    assert.deepEqual(findings, [])
    // A compaction leaves records out, not their numbers.
    const numbered =
      name === 'compacted' ? verifyLog(golden('events'), DIRECTORY, optionsOf('events')).records : records
    assert.equal(opened.sequence, numbered + 1)
  })
}

test('the golden events are the facts and marks that were written', () => {
  const facts = factsOf(openEvents(golden('events'), 'read'))
  let number = 0
  for (const fact of facts) {
    if (fact.kind !== FACT) continue
    number++
    assert.deepEqual([fact.flags, fact.timeMs], [number, 1000 + number])
    assert.equal(fact.body, hexOf(factBody(number, number % 4, (number * 53) % 300)))
  }
  assert.equal(facts.length, number + Math.floor(number / 5))
  const mark = openEvents(golden('events'), 'read').lastMark()
  const last = Math.floor(number / 5) * 5
  assert.deepEqual(mark?.mark.pagesSynced, { segment: 1, position: 40 * last })
  assert.deepEqual(
    [mark?.timeMs, mark?.mark.sequence, mark?.mark.ownerBytes[0]],
    [1000 + last, mark?.address.sequence, last],
  )
})

test('the golden compacted log has what was kept, a mark, and then the segment that was there before', () => {
  const opened = openEvents(golden('compacted'), 'read')
  assert.deepEqual(
    opened.segments.map(({ number, header }) => [number, header.generation]),
    [
      [2, 1],
      [3, 0],
    ],
  )
  assert.equal(opened.generation, 1)
  const facts = factsOf(opened)
  const kept = facts.filter(({ segment, kind }) => segment === 2 && kind === FACT)
  assert.deepEqual(
    kept.map(({ body }) => body),
    [1, 2, 3, 4, 5, 6].map((i) => hexOf(factBody(i, i % 4, 7 * i))),
  )
  const behind = (all: typeof facts) => all.filter(({ segment }) => segment === 3)
  assert.deepEqual(behind(facts), behind(factsOf(openEvents(golden('events'), 'read'))))
})

test('the golden store has its values, without those that were deleted', () => {
  const options = { directory: DIRECTORY, clock: { wallMs: () => 0 }, random: seeded(1) }
  const store = new Store({ disk: golden('store'), ...options })
  for (let i = 0; i < 60; i++) {
    const expected = i % 9 === 0 ? undefined : i === 1 ? 'once more' : `value ${i} ${'.'.repeat(i)}`
    assert.equal(store.get(`http://golden.test/${i}`)?.toString(), expected)
  }
  assert.deepEqual([store.size, store.verdicts], [53, []])
})

test('the golden pages are found by segment and ordinal, the rewritten ones as they were rewritten', () => {
  const opened = openLog(golden('pages'), DIRECTORY, { ...PAGES_LOG, mode: 'read' })
  let i = 0
  for (const { number } of opened.segments) {
    for (let ordinal = 0; ordinal < opened.key(number).length / 6; ordinal++) {
      const page = readPage(opened, { segment: number, ordinal })
      const whole = `page ${i} `.repeat(20 + i)
      assert.equal(page?.key, keyOf(`http://golden.test/${i}`))
      assert.equal(page?.parts[0].flags, number === 1 ? 3 : 1)
      assert.equal(page?.parts[0].bytes.toString(), number === 1 ? whole.slice(0, 9) : whole)
      i++
    }
  }
  assert.equal(i, 30)
})

test('the example in FORMAT.md is the golden example, byte for byte', () => {
  const text = readFileSync(join(import.meta.dirname, '../../src/log/FORMAT.md'), 'utf8')
  const blocks = [...text.matchAll(/```hex\n([\s\S]*?)```/g)].map((match) =>
    match[1]
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {3,}/)[0].replaceAll(' ', ''))
      .join(''),
  )
  const disk = golden('example')
  assert.deepEqual(
    blocks,
    ['000001.val', '000001.key'].map((file) => hexOf(disk.peek(`${DIRECTORY}/${file}`) ?? [])),
  )
})
