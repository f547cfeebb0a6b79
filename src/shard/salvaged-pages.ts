/**
 * Damaged segments of a shard's pages, written anew so that what is left of them can be read: see log/salvage-pages.ts.
 *
 * Each segment is replaced by renames, before the events that refer to it are written anew: a death in between leaves the
 * damaged crawl with some segments mended already, and the next repair finds the same pages gone.
 */
import { crc32 } from 'node:zlib'
import type { LostRange } from '../core/repaired.ts'
import type { Disk } from '../env/disk.ts'
import type { Random } from '../env/random.ts'
import { type Position, ROLE, valName } from '../log/format.ts'
import type { LeftSegment, LogOwner } from '../log/left-segments.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { bytesOfWords, KeyBuilder } from '../log/rebuild.ts'
import { openLog } from '../log/recover.ts'
import { salvage } from '../log/salvage.ts'
import type { LostBytes } from '../log/salvage-numbers.ts'
import { type Joint, mendPages } from '../log/salvage-pages.ts'
import { PART_VOID } from './pages.ts'

/** What is wrong with the pages. */
export interface LostPages {
  readonly lost: readonly LostRange[]
  /** Numbers of the segments to be written anew: at most 65,535. */
  readonly damaged: ReadonlySet<number>
}

/** Finds what is lost. Changes nothing. Cost: a sequential read of all pages. */
export function findLostPages(
  disk: Disk,
  directory: string,
  segments: readonly LeftSegment[],
  onProgress: (segmentsDone: number, segments: number) => void,
): LostPages {
  const found: LostBytes[] = []
  const damaged = new Set<number>()
  salvage(disk, directory, segments, PAGES_LOG, {
    record: () => {},
    lost: (range) => {
      damaged.add(range.segment)
      if (range.records !== 0) found.push(range)
    },
    progress: onProgress,
  })
  return { lost: found.map((range) => ({ log: ROLE.pages, ...range })), damaged }
}

export interface SalvagePagesOptions {
  readonly random: Random
  readonly owner: LogOwner
  readonly nowMs: number
  /** See `expectedPages`. */
  readonly expected: Uint32Array
}

/** Writes the damaged segments anew. Errors: DISK_FULL, DISK_FAILED. Cost: see `mendPages`, for each of them. */
export function salvagePages(
  disk: Disk,
  directory: string,
  segments: readonly LeftSegment[],
  damaged: ReadonlySet<number>,
  options: SalvagePagesOptions,
): void {
  const { owner, nowMs, expected, random } = options
  const generation = segments.find(({ header }) => header !== undefined)?.header?.generation ?? 0
  let before: Joint = { valBytes: 0, keyBytes: 0, keyChecksum: 0, sequence: 1 }
  let timeMs = segments.find(({ header }) => header !== undefined)?.header?.timeMs ?? nowMs
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1
    timeMs = segment.header?.timeMs ?? timeMs
    if (damaged.has(segment.number)) {
      const common = { owner, generation, salt: random.uint32(), timeMs, isLast, voidFlags: PART_VOID, expected }
      before = mendPages(disk, directory, segment, before, common)
    } else if (!isLast && segments[i + 1].header === undefined) before = jointOf(disk, directory, segment)
  }
}

/** What a segment that is whole says to a successor that has to be made anew. Cost: a scan of it. */
function jointOf(disk: Disk, directory: string, segment: LeftSegment): Joint {
  const { number, salt = 0, header, valBytes } = segment
  const builder = new KeyBuilder(PAGES_LOG.role, number, salt, PAGES_LOG.itemsOf)
  let records = 0
  salvage(disk, directory, [segment], PAGES_LOG, {
    record: (record) => {
      records++
      builder.add(record)
    },
    lost: () => {},
  })
  const items = bytesOfWords(builder.words())
  const own = header?.ownSequenceAfter ?? 0
  const sequence = own > 0 ? own : (header?.firstSequence ?? 1) + records
  return { valBytes, keyBytes: items.length, keyChecksum: crc32(items), sequence }
}

/** Makes durable what is there of the pages. @returns up to where */
export function syncPages(disk: Disk, directory: string): Position {
  const pages = openLog(disk, directory, { ...PAGES_LOG, mode: 'read' })
  try {
    if (pages.isEmpty) return pages.end
    const val = disk.open(`${directory}/${valName(pages.end.segment)}`, 'write')
    try {
      val.syncNow()
    } finally {
      val.close()
    }
    disk.syncDirectory(directory)
    return pages.end
  } finally {
    pages.close()
  }
}
