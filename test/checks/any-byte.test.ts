import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAnyByte } from '../../scripts/checks/any-byte.ts'

test('a log cut anywhere, or with any bit flipped, gets the verdict that what was synced calls for', async () => {
  const { counts, disagreements } = await checkAnyByte({
    pages: 60,
    segmentBytesMax: 48 * 1024,
    cutBytes: 64 * 1024,
    cutStep: 4999,
    edgeStep: 59,
    flips: 60,
    wholeEvery: 1,
  })
  assert.deepEqual(disagreements, [])
  const verdicts = new Set([...counts.keys()].map((what) => what.slice(what.lastIndexOf(' ') + 1)))
  // A cut that falls between two records behind all promises (clean) is met for certain only where every byte is cut.
  for (const verdict of ['torn', 'syncedLost', 'corrupt', 'key']) assert(verdicts.has(verdict), verdict)
})
