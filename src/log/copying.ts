/**
 * Segments of one log as the beginning of another: sealed ones as second names of the same files, the last one as a copy
 * that ends where the other log is to go on.
 *
 * Invariant: what both logs name is never written again by either. A log writes in place only into its last segment, and
 * makes a file of its own of one that has several names before it does (`ownFile`).
 */
import type { Disk, File } from '../env/disk.ts'
import { ASIDE_SUFFIX, keyName, SEGMENT_RECORD_BYTES, valName } from './format.ts'
import { decodeSegment, encodeSegment, isRewritten } from './segment.ts'

/** Copied at once. */
const CHUNK_BYTES = 1024 * 1024

/** Gives `to` the segment that `from` has, KEY too where there is one. Copies where the disk makes no second names. */
export function shareSegment(disk: Disk, from: string, to: string, number: number): void {
  for (const name of [valName(number), keyName(number)]) {
    if (name === keyName(number) && !disk.exists(`${from}/${name}`)) continue
    if (!disk.link(`${from}/${name}`, `${to}/${name}`)) copyFile(disk, `${from}/${name}`, `${to}/${name}`)
  }
}

/**
 * Copies the VAL of a segment up to `position`, a place between two records, as the last one of `to`; its KEY is made from
 * it.
 */
export function copyLastSegment(disk: Disk, from: string, to: string, number: number, position: number): void {
  const source = disk.open(`${from}/${valName(number)}`, 'read')
  const target = disk.open(`${to}/${valName(number)}`, 'create')
  try {
    const head = new Uint8Array(SEGMENT_RECORD_BYTES)
    source.read(head, 0)
    const header = decodeSegment(head)
    target.truncate(0)
    pour(source, target, position)
    if (header !== undefined && isRewritten(header) && position !== header.ownValBytes) {
      // What it states of itself would be wrong of a part.
      const own = { ownValBytes: 0, ownKeyBytes: 0, ownKeyChecksum: 0, ownSequenceAfter: 0 }
      target.write(encodeSegment({ ...header, ...own }), 0)
    }
    target.syncNow()
    // One that lags behind, as a death leaves it, and not one that is missing.
    disk.open(`${to}/${keyName(number)}`, 'create').close()
  } finally {
    source.close()
    target.close()
  }
}

/** Before a file is written in place: where it has other names too, this name gets a copy. */
export function ownFile(disk: Disk, path: string): void {
  if (!disk.exists(path) || disk.nameCount(path) < 2) return
  copyFile(disk, path, path + ASIDE_SUFFIX)
  disk.rename(path + ASIDE_SUFFIX, path)
}

/** Copies a file whole and syncs it; not its name. */
export function copyFile(disk: Disk, from: string, to: string): void {
  const source = disk.open(from, 'read')
  const target = disk.open(to, 'create')
  try {
    target.truncate(0)
    pour(source, target, source.sizeBytes())
    target.syncNow()
  } finally {
    source.close()
    target.close()
  }
}

function pour(source: File, target: File, sizeBytes: number): void {
  const chunk = new Uint8Array(Math.min(CHUNK_BYTES, sizeBytes))
  for (let at = 0; at < sizeBytes; ) {
    const read = source.read(chunk.subarray(0, Math.min(chunk.length, sizeBytes - at)), at)
    if (read === 0) return
    target.write(chunk.subarray(0, read), at)
    at += read
  }
}
