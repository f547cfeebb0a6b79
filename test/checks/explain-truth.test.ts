import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainTruth } from '../../scripts/checks/explain-truth.ts'

test('what explain says of a killed crawl is what its web was asked for, and how its pages are linked', async () => {
  const report = await explainTruth({
    web: { seed: 'truth', pages: 80, hosts: 5 },
    kills: 3,
    perState: 20,
    seed: 'two',
    tell: () => {},
  })
  assert.deepEqual(report.differences, [])
  const { pending = 0, done = 0, failed = 0, refused = 0 } = report.checked
  assert.ok(pending > 0 && Math.min(done, failed, refused) > 5, JSON.stringify(report))
  assert.ok(report.attempts > 20 && report.inLinks > 50, JSON.stringify(report))
})
