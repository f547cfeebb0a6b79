import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crash } from '../../scripts/crash.ts'

test('twenty SIGKILLs at random moments change nothing of what a crawl comes to', async () => {
  const report = await crash({
    kills: 20,
    killsPerCrawlMax: 20,
    web: { seed: 'crash test', pages: 60, hosts: 6 },
    seed: 'twenty',
    tell: () => {},
  })
  assert.deepEqual(report.differences, [])
  assert(report.statuses > 5)
})
