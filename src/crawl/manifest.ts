/** DIR/MANIFEST: which generation of the log's files counts, and how far back `--until` reaches. Replaced atomically. */

import { CrawlError } from '../base/errors.ts'
import type { Disk } from '../env/disk.ts'
import type { Layout } from './layout.ts'

export interface Manifest {
  /** Format of DIR. */
  readonly version: 1
  readonly crawlId: string
  readonly shards: number
  /** Raised by each compaction. */
  readonly generation: number
  /** Earliest instant that can be asked about, milliseconds; 0 = from the first record. */
  readonly horizonMs: number
  /** The record that ends what was compacted; 0 = nothing was. */
  readonly horizonSequence: number
}

export function writeManifest(disk: Disk, layout: Layout, manifest: Manifest): void {
  const aside = `${layout.manifest}.tmp`
  const file = disk.open(aside, 'create')
  try {
    file.truncate(0)
    file.write(Buffer.from(`${JSON.stringify(manifest)}\n`), 0)
    file.syncNow()
  } finally {
    file.close()
  }
  disk.rename(aside, layout.manifest)
  disk.syncDirectory(layout.root)
}

/** The manifest; undefined where there is none or it cannot be read (then one shard and generation 0 are assumed). */
export function readManifest(disk: Disk, layout: Layout): Manifest | undefined {
  if (!disk.exists(layout.manifest)) return undefined
  const file = disk.open(layout.manifest, 'read')
  try {
    const bytes = Buffer.alloc(file.sizeBytes())
    file.read(bytes, 0)
    return parseManifest(bytes.toString('utf8'))
  } finally {
    file.close()
  }
}

function parseManifest(text: string): Manifest | undefined {
  let manifest: Manifest
  try {
    manifest = JSON.parse(text) as Manifest
  } catch {
    return undefined
  }
  if (manifest?.version === 1) return manifest
  if (typeof manifest?.version !== 'number') return undefined
  throw new CrawlError('LOG_NEWER', `The crawl's MANIFEST has version ${manifest.version}; this program knows 1.`)
}

/** Generation of the log's files that MANIFEST states; undefined where it cannot be read: the highest there is counts then. */
export function statedGeneration(disk: Disk, layout: Layout): number | undefined {
  return readManifest(disk, layout)?.generation
}

/**
 * Reads what is in the generation that counts. Where that is replaced meanwhile (a compaction removes the old files),
 * it reads once more. Errors: those of `read`.
 */
export function readGeneration<T>(disk: Disk, layout: Layout, read: (stated: number | undefined) => T): T {
  const stated = statedGeneration(disk, layout)
  try {
    return read(stated)
  } catch (error) {
    const now = statedGeneration(disk, layout)
    if (!(error instanceof CrawlError) || now === stated) throw error
    return read(now)
  }
}
