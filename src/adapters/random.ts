/** Randomness of the operating system: `env`'s randomness in a real crawl. */
import { randomFillSync } from 'node:crypto'
import type { Random } from '../env/random.ts'

/** Numbers drawn from the operating system at a time: one call costs about as much as 60 draws from memory. */
const BATCH = 256

/** Cryptographic randomness of the operating system, fetched in batches. Cost: about 10 ns a number. */
export function createRandom(): Random {
  const batch = new Uint32Array(BATCH)
  let next = BATCH
  return {
    uint32: () => {
      if (next === BATCH) {
        randomFillSync(batch)
        next = 0
      }
      return batch[next++]
    },
  }
}
