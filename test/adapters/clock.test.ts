import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClock } from '../../src/adapters/clock.ts'
import { createRandom } from '../../src/adapters/random.ts'

describe('clock', { timeout: 8000 }, () => {
  const clock = createClock()

  test('the wall tells whole milliseconds since 1970, the monotonic clock never goes back', () => {
    assert.ok(Number.isInteger(clock.wallMs()))
    let last = clock.monotonicMs()
    for (let i = 0; i < 1000; i++) {
      const now = clock.monotonicMs()
      assert.ok(now >= last)
      last = now
    }
  })

  test('a callback runs once, after the delay, and not inside the call', async () => {
    for (const delayMs of [0, 1, 7.5, 20]) {
      const startMs = clock.monotonicMs()
      let returned = false
      await new Promise<void>((resolve) => {
        clock.after(delayMs, () => {
          assert.ok(returned)
          assert.ok(clock.monotonicMs() - startMs >= delayMs)
          resolve()
        })
        returned = true
      })
    }
  })

  test('no delay comes before any delay', async () => {
    const order: number[] = []
    await new Promise<void>((resolve) => {
      clock.after(15, () => resolve(void order.push(15)))
      clock.after(0, () => order.push(0))
    })
    assert.deepEqual(order, [0, 15])
  })

  test('a cancelled callback does not run, nor one due in a year', async () => {
    let runs = 0
    const cancels = [0, 1, 365 * 86_400_000].map((delayMs) => clock.after(delayMs, () => runs++))
    await new Promise((resolve) => setTimeout(resolve, 0))
    const yearOnly = cancels.pop()
    for (const cancel of cancels) cancel()
    const before = runs
    await new Promise((resolve) => setTimeout(resolve, 10))
    assert.equal(runs, before)
    yearOnly?.()
  })
})

describe('random', () => {
  test('numbers are whole, in [0, 2³²), and differ', () => {
    const random = createRandom()
    const numbers = Array.from({ length: 2000 }, () => random.uint32())
    assert.ok(numbers.every((number) => Number.isInteger(number) && number >= 0 && number < 2 ** 32))
    assert.ok(new Set(numbers).size > 1990)
  })
})
