/** Text for terminals is safe, aligned and short. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bytes,
  count,
  cut,
  duration,
  escapeLine,
  escapeLines,
  jsonLine,
  labelled,
  shellWord,
  table,
  withoutUserinfo,
} from '../../src/cli/text.ts'

test('control characters, and what turns the direction of writing, are made visible', () => {
  assert.equal(escapeLine('a\x1b[31mb\x9b\u202ec\x00\n'), 'a\\x1b[31mb\\x9b\\u202ec\\x00\\x0a')
  assert.equal(escapeLines('a\tb\nc\r'), 'a\tb\nc\\x0d')
  assert.equal(escapeLine('größe 漢字'), 'größe 漢字')
})

test('a line of JSON has no control character, and is the same value when read', () => {
  const value = { text: 'a\x1b\x9b\x7f\u2028\u202e' }
  assert.doesNotMatch(jsonLine(value), /[\x00-\x1f\x7f-\x9f\u2028\u202e]/)
  assert.deepEqual(JSON.parse(jsonLine(value)), value)
})

test('user names and passwords of URLs are taken out of messages', () => {
  assert.equal(
    withoutUserinfo('see http://u:p@a.test/x@y and https://b.test/'),
    'see http://***@a.test/x@y and https://b.test/',
  )
})

test('numbers, sizes and durations read easily', () => {
  assert.equal(count(1234567), '1,234,567')
  assert.deepEqual(
    [bytes(0), bytes(1023), bytes(1536), bytes(5 * 2 ** 30)],
    ['0 bytes', '1023 bytes', '1.5 KiB', '5.0 GiB'],
  )
  const spans = [850, 12_340, 245_000, 7_620_000, 273_600_000]
  assert.deepEqual(spans.map(duration), ['850 ms', '12.3 s', '4 min 05 s', '2 h 07 min', '3 d 04 h'])
})

test('columns align, names are wrapped at 80 columns, what is too long is cut', () => {
  assert.deepEqual(
    table(
      [
        ['a', '1'],
        ['bcd', '23'],
      ],
      [1],
    ),
    ['a     1', 'bcd  23'],
  )
  const lines = labelled([['name', 'word '.repeat(40).trim()]])
  assert.ok(lines.length > 1 && lines.every((line) => line.length <= 80))
  assert.equal(cut('abcdef', 4), 'abc…')
  assert.equal(shellWord("it's"), "'it'\\''s'")
})
