import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compactDeath } from '../../scripts/checks/compact-death.ts'

test('three SIGKILLs while a crawl is compacted leave it as it was, sound, and ready to be compacted', async () => {
  const { differences } = await compactDeath({ kills: 3, pages: 150, seed: 'three', tell: () => {} })
  assert.deepEqual(differences, [])
})
