import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STRING_CHARS_MAX, StringArena } from '../../src/tables/strings.ts'

const latin1 = fc.array(fc.integer({ min: 0, max: 255 })).map((codes) => String.fromCharCode(...codes))

test('every string comes back by its handle', () => {
  fc.assert(
    fc.property(fc.array(latin1, { maxLength: 100 }), (strings) => {
      const arena = new StringArena()
      const handles = strings.map((string) => arena.add(string))
      assert.deepEqual(
        handles.map((handle) => arena.get(handle)),
        strings,
      )
      assert.equal(arena.count, strings.length)
    }),
  )
})

test('strings of any length fill blocks without crossing their ends', () => {
  const arena = new StringArena()
  const strings = Array.from({ length: 300 }, (_, i) => String(i % 10).repeat((i * 7919) % (STRING_CHARS_MAX + 1)))
  strings.push('x'.repeat(STRING_CHARS_MAX))
  const handles = strings.map((string) => arena.add(string))
  for (let i = 0; i < strings.length; i++) assert.equal(arena.get(handles[i]), strings[i])
  assert.throws(() => arena.add('x'.repeat(STRING_CHARS_MAX + 1)))
})

test('a host name takes its characters and two bytes, and few names take one small block', () => {
  const arena = new StringArena()
  for (let i = 0; i < 100; i++) arena.add(`host-${1000 + i}.example`)
  assert.equal(arena.bytes, 4096)
  for (let i = 0; i < 200_000; i++) arena.add(`host-${1_000_000 + i}.example`)
  assert.ok(arena.bytes < 200_100 * 23 + 300_000)
})
