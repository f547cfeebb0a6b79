/** Instants as people write them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUntil } from '../../src/cli/until.ts'

const timeOf = (text: string) => {
  const until = parseUntil(text, 1)
  return until.kind === 'time' ? new Date(until.timeMs).toISOString() : undefined
}

test('a time without a zone is UTC, one with a zone is what it says', () => {
  assert.equal(timeOf('2026-05-01T12:00'), '2026-05-01T12:00:00.000Z')
  assert.equal(timeOf('2026-05-01 12:00:01,5'), '2026-05-01T12:00:01.500Z')
  assert.equal(timeOf('2026-05-01'), '2026-05-01T00:00:00.000Z')
  assert.equal(timeOf('2026-05-01T12:00:00+02:00'), '2026-05-01T10:00:00.000Z')
  assert.equal(timeOf('2026-05-01T12:00:00-0530'), '2026-05-01T17:30:00.000Z')
  assert.equal(timeOf('2026-05-01T12:00:00.123999Z'), '2026-05-01T12:00:00.123Z')
})

test('a number is milliseconds since 1970, @ a record number', () => {
  assert.equal(timeOf('1777636800000'), '2026-05-01T12:00:00.000Z')
  assert.deepEqual(parseUntil('@812', 1), { kind: 'sequence', sequence: 812 })
})

test('what is no instant is refused', () => {
  for (const text of [
    '',
    'yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-05-01T24:00',
    '@',
    '@x',
    '@1,2',
    '-5',
    '1.5',
  ]) {
    assert.throws(() => parseUntil(text, 1), { code: 'USAGE' }, text)
  }
})
