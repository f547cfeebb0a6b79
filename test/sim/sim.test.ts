/** Simulated crawls of generated webs, with processes that die at any moment; and proof that mistakes are noticed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptSeeds, runSeeds } from './pool.ts'
import { runSeed } from './run.ts'
import { SABOTAGE_NAMES, SABOTAGES } from './sabotage.ts'

const SEEDS = 300
const FIRST_SEEDS = Array.from({ length: SEEDS }, (_, i) => i + 1)

test('a crawl that dies again and again ends with the URLs, states and pages of a plain walk, in every seed', async () => {
  const outcomes = await runSeeds(new Set([...keptSeeds(), ...FIRST_SEEDS]))
  const failures = outcomes.flatMap(({ failure }) => failure ?? [])
  assert.equal(failures.length, 0, failures.join('\n\n'))
  assert.ok(outcomes.length >= SEEDS)
  for (const { figures } of outcomes) {
    assert.ok(
      figures !== undefined &&
        figures.pages >= 200 &&
        figures.expected >= 200 &&
        figures.hosts >= 20 &&
        figures.deaths >= 5,
    )
  }
})

test('a seed runs the same way each time', () => {
  assert.deepEqual(runSeed(3), runSeed(3))
})

for (const name of SABOTAGE_NAMES) {
  test(`sabotage ${name} is noticed within ${SEEDS} seeds`, async () => {
    const outcomes = await runSeeds(FIRST_SEEDS, { sabotage: name, isOver: ({ failure }) => failure !== undefined })
    const found = outcomes.find(({ failure }) => failure !== undefined)
    assert.match(found?.failure ?? 'not noticed', SABOTAGES[name].notice)
  })
}
