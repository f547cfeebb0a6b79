/**
 * Builds checkpoints in virtual time: a second implementation of `env/checkpointer.ts`, on the simulated disk and by the
 * same `shard/building.ts`. Time passes before the image is written and before its caller hears of it, and death may come
 * at any of its writes and syncs. Some threads die.
 */
import type { CheckpointBuild, Checkpointer, CheckpointJob } from '../../src/env/checkpointer.ts'
import { buildCheckpoint } from '../../src/shard/building.ts'
import type { Chance } from './chance.ts'
import type { SimulatedDisk } from './disk.ts'
import type { VirtualTime } from './scheduler.ts'

/** @param chance  of its own: what it draws changes nothing else of the seed */
export function createCheckpointer(disk: SimulatedDisk, time: VirtualTime, chance: Chance): Checkpointer {
  const building = (job: CheckpointJob): CheckpointBuild =>
    chance.percent(10) ? { kind: 'failed', why: 'the thread has died' } : buildCheckpoint(disk, job)
  return {
    build: (job, done) => {
      time.after(chance.pick([0, 50, 2000]), () => {
        const built = building(job)
        time.after(chance.pick([0, 30, 1000]), () => {
          const superfluous = done(built)
          time.after(chance.pick([0, 300]), () => {
            for (const path of superfluous) disk.remove(path)
          })
        })
      })
    },
  }
}
