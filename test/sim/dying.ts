/** A process that dies at one operation of its disk, whichever. */
import { Death } from './death.ts'
import type { SimulatedDisk } from './disk.ts'

/** Lets the process die at its disk's operation number `at` while it runs; @returns whether it came so far. */
export function diesAt(disk: SimulatedDisk, at: number, run: () => void): boolean {
  let left = at
  const operation = (): void => {
    if (--left > 0) return
    disk.processDeath()
    throw new Death('process')
  }
  disk.fault = () => void operation() as undefined
  disk.nameFault = operation
  try {
    run()
    return false
  } catch (error) {
    if (!(error instanceof Death)) throw error
    return true
  } finally {
    disk.fault = () => undefined
    disk.nameFault = () => {}
  }
}
