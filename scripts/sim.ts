/**
 * Runs simulated crawls: `npm run sim -- [SEEDS] [--from N] [--seed N] [--sabotage NAME]`.
 *
 * SEEDS is how many (1000), from seed `--from` (1) on, after those that failed once. `--seed` runs one in this process.
 * With `--sabotage` a part of the product is made wrong, and it is an error if no seed of 300 fails. Exit code 1 where
 * something does not hold.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keptSeeds, type Outcome, runSeeds } from '../test/sim/pool.ts'
import { SABOTAGE_NAMES, type SabotageName, sabotage } from '../test/sim/sabotage.ts'

const SEEDS_DEFAULT = 1000
/** Seeds within which a sabotage must be noticed. */
const SABOTAGE_SEEDS = 300

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, from: { type: 'string' }, sabotage: { type: 'string' } },
})
const name = values.sabotage as SabotageName | undefined
if (name !== undefined && !SABOTAGE_NAMES.includes(name)) {
  console.error(`No sabotage ${name}. There are: ${SABOTAGE_NAMES.join(', ')}`)
  process.exit(2)
}
if (values.seed !== undefined) await runOne(Number(values.seed))
else if (name !== undefined) await runSabotaged(name)
else await runMany(Number(positionals[0] ?? SEEDS_DEFAULT), Number(values.from ?? 1))

async function runOne(seed: number): Promise<void> {
  if (name !== undefined) sabotage(name)
  const { runSeed } = await import('../test/sim/run.ts')
  console.log(JSON.stringify(runSeed(seed)))
}

async function runSabotaged(which: SabotageName): Promise<void> {
  const seeds = Array.from({ length: SABOTAGE_SEEDS }, (_, i) => i + 1)
  const outcomes = await runSeeds(seeds, { sabotage: which, isOver: ({ failure }) => failure !== undefined })
  const found = outcomes.find(({ failure }) => failure !== undefined)
  if (found === undefined) {
    console.error(`Sabotage ${which} was not noticed in ${SABOTAGE_SEEDS} seeds.`)
    process.exitCode = 1
  } else console.log(`Noticed with seed ${found.seed}, after ${outcomes.length} seeds. ${firstLines(found)}`)
}

async function runMany(count: number, from: number): Promise<void> {
  const startedMs = Date.now()
  const seeds = new Set([...keptSeeds(), ...Array.from({ length: count }, (_, i) => from + i)])
  let ended = 0
  const outcomes = await runSeeds(seeds, {
    isOver: (outcome) => {
      if (outcome.failure !== undefined) console.error(`\n${firstLines(outcome)}`)
      if (++ended % 50 === 0) process.stderr.write(`\r${ended} of ${seeds.size} seeds`)
      return false
    },
  })
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  const kept = new Set(keptSeeds())
  for (const { seed } of failed) if (!kept.has(seed)) appendFileSync(seedsFile(), `${seed}\n`)
  console.log(`\n${summary(outcomes)} in ${((Date.now() - startedMs) / 1000).toFixed(1)} s`)
  if (failed.length > 0) process.exitCode = 1
}

function seedsFile(): string {
  return join(import.meta.dirname, '..', 'test', 'sim', 'seeds.txt')
}

function firstLines({ failure }: Outcome): string {
  return (failure ?? '').split('\n').slice(0, 12).join('\n')
}

function summary(outcomes: readonly Outcome[]): string {
  const sum = {
    urls: 0,
    requests: 0,
    records: 0,
    deaths: 0,
    stops: 0,
    checkpoints: 0,
    built: 0,
    builds: 0,
    virtualMs: 0,
  }
  for (const { figures } of outcomes) {
    if (figures !== undefined) for (const key of Object.keys(sum) as Array<keyof typeof sum>) sum[key] += figures[key]
  }
  const failed = outcomes.filter(({ failure }) => failure !== undefined).length
  const hours = (sum.virtualMs / 3_600_000).toFixed(1)
  return (
    `${outcomes.length} seeds, ${failed} failed: ${sum.urls} URLs, ${sum.requests} requests, ${sum.records} records, ` +
    `${sum.deaths} deaths, ${sum.stops} stops, ${sum.checkpoints} openings by checkpoint, ` +
    `${sum.built} of them by one built while crawling, ${sum.builds} such were built, ${hours} simulated hours`
  )
}
