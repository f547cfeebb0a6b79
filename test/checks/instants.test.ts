import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkInstants } from '../../scripts/checks/instants.ts'

test('what a crawl said of itself at an instant is what a replay up to it says, through deaths and changes', async () => {
  const { differences, noted } = await checkInstants({
    instants: 8,
    web: { seed: 'instants test', pages: 200, hosts: 5 },
    seed: 'eight',
    tell: () => {},
  })
  assert.deepEqual(differences, [])
  assert.equal(noted.length, 8)
})
