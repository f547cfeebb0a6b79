/**
 * Which segments a directory holds, and whether they make one log: numbers without a gap, each the successor of the
 * one before, lengths as stated.
 */
import type { Disk } from '../env/disk.ts'
import type { KeyFacts, LogFiles, Segment } from './files.ts'
import type { Finding } from './finding.ts'
import { ASIDE_SUFFIX, parseSegmentName, SEGMENT_RECORD_BYTES, valName } from './format.ts'
import { decodeSegment, isRewritten, type SegmentHeader } from './segment.ts'

export interface FoundSegment {
  readonly number: number
  /** Undefined where the `segment` record is cut or damaged. */
  readonly header: SegmentHeader | undefined
  readonly valBytes: number
}

export interface Listing {
  /** Segments with a VAL, in order. */
  readonly found: readonly FoundSegment[]
  /** Names to remove before writing: files aside, and KEY files without VAL. */
  readonly leftovers: readonly string[]
}

/** Whether a segment of this generation belongs to the log; others are ignored (compaction's manifest says). */
export type Accepts = (number: number, generation: number) => boolean

/** Reads names and `segment` records. Cost: one read of 96 bytes a segment. Errors: LOG_NEWER. */
export function listSegments(disk: Disk, directory: string, accepts: Accepts): Listing {
  const found: FoundSegment[] = []
  const leftovers: string[] = []
  const names = disk.list(directory)
  const present = new Set(names)
  for (const name of names) {
    const parsed = parseSegmentName(name)
    if (parsed === undefined) {
      if (name.endsWith(ASIDE_SUFFIX) && parseSegmentName(name.slice(0, -ASIDE_SUFFIX.length))) leftovers.push(name)
    } else if (parsed.half === 'key') {
      if (!present.has(valName(parsed.number))) leftovers.push(name)
    } else {
      const segment = readHeader(disk, `${directory}/${name}`, parsed.number)
      if (segment.header === undefined || accepts(segment.number, segment.header.generation)) found.push(segment)
    }
  }
  found.sort((a, b) => a.number - b.number)
  return { found, leftovers }
}

/** Size and `segment` record of one VAL. Errors: DISK_MISSING, LOG_NEWER. */
export function readHeader(disk: Disk, path: string, number: number): FoundSegment {
  const file = disk.open(path, 'read')
  try {
    const bytes = new Uint8Array(SEGMENT_RECORD_BYTES)
    const read = file.read(bytes, 0)
    return { number, header: decodeSegment(bytes.subarray(0, read)), valBytes: file.sizeBytes() }
  } finally {
    file.close()
  }
}

/**
 * Puts the segments found, all but a torn tail, into `files` and reports what contradicts.
 *
 * Of a rewritten segment its own lengths count, since its successor was written before.
 */
export function chainSegments(
  files: LogFiles,
  found: readonly FoundSegment[],
  report: (finding: Finding) => void,
): void {
  let before: Segment | undefined
  for (const { number, header, valBytes } of found) {
    if (before !== undefined && number !== before.number + 1) report(missing(before.number + 1, number))
    if (header === undefined) {
      report({
        ...at(number, 0),
        bytes: SEGMENT_RECORD_BYTES,
        message: `Segment ${number}: its first record is damaged.`,
      })
      return
    }
    const segment: Segment = { number, header, valBytes, key: undefined }
    if (header.number !== number) report(stranger(number, 'its first record is that of another segment'))
    if (header.role !== files.role) report(stranger(number, 'it belongs to a log of another kind'))
    if (before === undefined) {
      // Compacted segments stand for all before them: they state no predecessor, whatever their numbers.
      if (header.beforeValBytes !== 0 || (number > 1 && header.generation === 0)) report(missing(number - 1, number))
    } else if (number === before.number + 1) checkSuccession(before, segment, report)
    files.segments.push(segment)
    before = segment
  }
}

function checkSuccession(before: Segment, next: Segment, report: (finding: Finding) => void): void {
  const { header } = next
  if (Buffer.compare(before.header.crawlId, header.crawlId) !== 0 || before.header.shard !== header.shard) {
    report(stranger(next.number, 'it belongs to another crawl or shard'))
  }
  const own = isRewritten(before.header)
  const stated = own ? before.header.ownValBytes : header.beforeValBytes
  before.key = statedKey(before.header, header)
  if (own && before.header.ownSequenceAfter !== header.firstSequence) {
    report(stranger(next.number, 'its numbers do not follow those of the segment before'))
  }
  if (before.valBytes === stated) return
  const offset = Math.min(before.valBytes, stated)
  const difference = before.valBytes < stated ? 'shorter' : 'longer'
  const message = `Segment ${before.number}: its VAL is ${difference} than it was when the next segment began.`
  report({ ...at(before.number, offset), bytes: Math.max(0, before.valBytes - stated), message })
}

/** What KEY must be, by the segment itself if it was rewritten, else by its successor. */
export function statedKey(own: SegmentHeader, successor: SegmentHeader): KeyFacts {
  if (isRewritten(own)) return { bytes: own.ownKeyBytes, checksum: own.ownKeyChecksum }
  return { bytes: successor.beforeKeyBytes, checksum: successor.beforeKeyChecksum }
}

function at(segment: number, offset: number) {
  return { what: 'corrupt', segment, offset } as const
}

function missing(number: number, behind: number): Finding {
  return { ...at(number, 0), bytes: 0, message: `Segment ${number} is missing; segment ${behind} follows it.` }
}

function stranger(number: number, why: string): Finding {
  return { ...at(number, 0), bytes: SEGMENT_RECORD_BYTES, message: `Segment ${number} does not fit: ${why}.` }
}
