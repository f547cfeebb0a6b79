/** A process that runs seeds: it is sent numbers, and answers with figures or with what does not hold. See pool.ts. */
import { type SabotageName, sabotage } from './sabotage.ts'

const [name] = process.argv.slice(2)
if (name !== undefined) sabotage(name as SabotageName)
// Loaded only now: what a sabotage replaces is replaced as it is loaded.
const { runSeed } = await import('./run.ts')

process.on('message', (seed: number) => {
  try {
    process.send?.({ seed, figures: runSeed(seed) })
  } catch (error) {
    process.send?.({ seed, failure: error instanceof Error ? error.message : String(error) })
  }
})
process.send?.({})
