import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRepairs } from '../../scripts/checks/repair.ts'

test('a crawl damaged anywhere is repaired, says exactly what is gone, and comes to the end it would have come to', () => {
  const { counts, disagreements } = checkRepairs(40, 1, () => {})
  assert.deepEqual(disagreements, [])
  const kinds = new Set([...counts.keys()].map((what) => what.slice(what.lastIndexOf('· ') + 2)))
  for (const kind of ['time only', 'records lost', 'outcomes lost', 'pages lost']) assert(kinds.has(kind), kind)
})
