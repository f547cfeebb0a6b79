import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimit } from '../../src/shard/rate-limit.ts'

test('without a limit nothing waits', () => {
  const rate = new RateLimit()
  rate.spend(1e9)
  assert.equal(rate.waitMs(null, 0), 0)
})

test('an answer that overdraws the allowance makes the next claim wait until it is earned', () => {
  const rate = new RateLimit()
  assert.equal(rate.waitMs(1000, 0), 0)
  rate.spend(3000)
  const wait = rate.waitMs(1000, 0)
  assert.equal(wait, 2001)
  assert.ok(rate.waitMs(1000, 1500) > 0)
})

test('over a long time the bytes received stay at the limit, whatever the answers', () => {
  const rate = new RateLimit()
  let received = 0
  let nowMs = 0
  while (nowMs < 100_000) {
    const wait = rate.waitMs(10_000, nowMs)
    if (wait > 0) nowMs += Math.min(wait, 700)
    else {
      rate.spend(2500)
      received += 2500
    }
  }
  assert.ok(received >= 0.9 * 1_000_000 && received <= 1.05 * 1_000_000, String(received))
})
