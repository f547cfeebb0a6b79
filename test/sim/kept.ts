/** What must not change on the disk: the events log up to a position. */
import type { Position } from '../../src/log/format.ts'
import type { SimulatedDisk } from './disk.ts'

/** The bytes of the events log before a position, by segment. */
export function keptBytes(disk: SimulatedDisk, directory: string, until: Position): Uint8Array[] {
  const kept: Uint8Array[] = []
  for (let number = 1; number <= until.segment; number++) {
    const bytes = disk.peek(`${directory}/${String(number).padStart(6, '0')}.val`) ?? new Uint8Array(0)
    kept.push(number === until.segment ? bytes.subarray(0, until.position) : bytes)
  }
  return kept
}

export function isSame(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((bytes, i) => Buffer.compare(bytes, others[i]) === 0)
}
