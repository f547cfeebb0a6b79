/**
 * Generations of the events log: `log`, then `log.1`, `log.2` … beside it, one for each compaction. One counts: the one
 * that MANIFEST states, or where it cannot be read the highest there is. The others are ignored, and removed by a writer.
 */
import type { Disk } from '../env/disk.ts'

const NAME = /^log(?:\.([1-9]\d{0,9}))?$/
/** Suffix of a generation being written or removed. */
const ASIDE = '.tmp'

/** Directory of a generation of a shard's events log. */
export function logDirectory(directory: string, generation: number): string {
  return generation === 0 ? `${directory}/log` : `${directory}/log.${generation}`
}

/** Where a generation is written before it counts. */
export function asideDirectory(directory: string, generation: number): string {
  return logDirectory(directory, generation) + ASIDE
}

/**
 * The generation that counts.
 *
 * @param stated  by MANIFEST; undefined where there is none that can be read
 */
export function generationIn(disk: Disk, directory: string, stated: number | undefined): number {
  const present = disk.list(directory).flatMap((name) => generationOf(name) ?? [])
  if (stated !== undefined && present.includes(stated)) return stated
  return present.length > 0 ? Math.max(...present) : (stated ?? 0)
}

function generationOf(name: string): number | undefined {
  const match = NAME.exec(name)
  return match === null ? undefined : Number(match[1] ?? 0)
}

/** Removes what does not count: other generations, and those that were being written. Durable when it returns. */
export function removeOtherGenerations(disk: Disk, directory: string, generation: number): void {
  const names = disk.list(directory)
  let isChanged = false
  for (const name of names) {
    const other = generationOf(name.endsWith(ASIDE) ? name.slice(0, -ASIDE.length) : name)
    if (other === undefined || name === logDirectory(directory, generation).slice(directory.length + 1)) continue
    removeGeneration(disk, directory, name, other > generation)
    isChanged = true
  }
  if (isChanged) disk.syncDirectory(directory)
}

/** A later one goes aside first: half of it must not count where MANIFEST is lost. */
function removeGeneration(disk: Disk, directory: string, name: string, isLater: boolean): void {
  const path = `${directory}/${name}`
  if (!isLater || name.endsWith(ASIDE)) return disk.removeDirectory(path)
  disk.removeDirectory(path + ASIDE)
  disk.rename(path, path + ASIDE)
  disk.syncDirectory(directory)
  disk.removeDirectory(path + ASIDE)
}
