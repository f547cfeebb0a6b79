/**
 * The segments that are left of a damaged log, and the places of those that are missing: what each still states, or others
 * state of it. Changes nothing; nothing is refused but what a newer version wrote.
 */
import type { Disk } from '../env/disk.ts'
import { type KeyFacts, LogFiles } from './files.ts'
import { parseSegmentName, SEGMENT_BYTES_MAX } from './format.ts'
import { readHeader, statedKey } from './list.ts'
import type { OpenOptions } from './options.ts'
import { deduceSalt, type Rest, restOf } from './search.ts'
import { isRewritten, type SegmentHeader } from './segment.ts'
import { saltOfKey } from './verdict.ts'

/** A segment, or the place of one that is missing. */
export interface LeftSegment {
  readonly number: number
  /** Undefined where the `segment` record is damaged, or that of another segment or crawl. */
  readonly header: SegmentHeader | undefined
  /** Undefined where nothing tells it: then no record can be read. */
  readonly salt: number | undefined
  /** Bytes of VAL there are; −1 where the file is missing. */
  readonly valBytes: number
  /** Bytes VAL should have; undefined where nothing tells. */
  readonly statedBytes: number | undefined
  /** What KEY should be; undefined where nothing tells. */
  readonly key: KeyFacts | undefined
  /** Number of the record behind its last one; 0 where that is not known. */
  readonly sequenceAfter: number
}

/** Who the segments must belong to. */
export interface LogOwner {
  /** 16 bytes. */
  readonly crawlId: Uint8Array
  readonly shard: number
}

export interface SalvageOptions extends Pick<OpenOptions, 'role' | 'kindMax' | 'itemsOf'> {
  readonly owner: LogOwner
}

/** Segments of a directory, missing ones among them, in order. Errors: LOG_NEWER. Cost: a read of 96 bytes each. */
export function leftSegments(disk: Disk, directory: string, options: SalvageOptions): LeftSegment[] {
  const headers = new Map<number, FoundHeader>() // at most 65,535
  for (const name of disk.list(directory)) {
    const parsed = parseSegmentName(name)
    if (parsed === undefined) continue
    if (parsed.half === 'key') {
      if (!headers.has(parsed.number) && isFilled(disk, `${directory}/${name}`)) headers.set(parsed.number, MISSING)
      continue
    }
    const { header, valBytes } = readHeader(disk, `${directory}/${name}`, parsed.number)
    const isOurs = header !== undefined && belongs(header, parsed.number, options)
    headers.set(parsed.number, {
      header: isOurs ? header : undefined,
      valBytes,
      isForeign: header !== undefined && !isOurs,
    })
  }
  const last = Math.max(0, ...headers.keys())
  const files = new LogFiles(disk, directory, options.role)
  const left: LeftSegment[] = []
  for (let number = firstOf(headers); number <= last; number++) {
    const { header, valBytes, isForeign } = headers.get(number) ?? MISSING
    const next = headers.get(number + 1)?.header
    left.push({
      number,
      header,
      valBytes,
      // What stands behind the whole record of another segment is that segment's.
      salt: header?.salt ?? (valBytes < 0 || isForeign ? undefined : findSalt(files, number, valBytes)),
      ...statedOf(header, next),
    })
  }
  files.close()
  return left
}

interface FoundHeader {
  readonly header: SegmentHeader | undefined
  readonly valBytes: number
  readonly isForeign: boolean
}

const MISSING: FoundHeader = { header: undefined, valBytes: -1, isForeign: false }

/** A log begins with segment 1, or where a compaction let it begin: what says to be the first is. */
function firstOf(headers: ReadonlyMap<number, { readonly header: SegmentHeader | undefined }>): number {
  let first = 1
  for (const [number, { header }] of headers) {
    if (header?.beforeValBytes === 0) return number
    if (header !== undefined && header.generation > 0) first = Math.min(...headers.keys())
  }
  return first
}

function isFilled(disk: Disk, path: string): boolean {
  const file = disk.open(path, 'read')
  try {
    return file.sizeBytes() > 0
  } finally {
    file.close()
  }
}

function belongs(header: SegmentHeader, number: number, { role, owner }: SalvageOptions): boolean {
  const isOfCrawl = Buffer.compare(header.crawlId, owner.crawlId) === 0 && header.shard === owner.shard
  return isOfCrawl && header.number === number && header.role === role
}

function statedOf(
  header: SegmentHeader | undefined,
  next: SegmentHeader | undefined,
): Pick<LeftSegment, 'statedBytes' | 'key' | 'sequenceAfter'> {
  if (header !== undefined && isRewritten(header)) {
    const { ownValBytes, ownSequenceAfter } = header
    return { statedBytes: ownValBytes, key: statedKey(header, header), sequenceAfter: ownSequenceAfter }
  }
  if (next === undefined || next.beforeValBytes === 0)
    return { statedBytes: undefined, key: undefined, sequenceAfter: 0 }
  // Without its own record a segment may have been rewritten since its successor was: then the lengths do not fit.
  const key = header === undefined ? undefined : statedKey(header, next)
  return {
    statedBytes: header === undefined ? undefined : next.beforeValBytes,
    key,
    sequenceAfter: next.firstSequence,
  }
}

function findSalt(files: LogFiles, number: number, valBytes: number): number | undefined {
  return deduceSalt(readWhole(files, number, valBytes)) ?? saltOfKey(files, number)
}

/** All of a VAL, in memory of its own. */
export function readWhole(files: LogFiles, number: number, valBytes: number): Rest {
  const bytes = Buffer.alloc(Math.min(valBytes, SEGMENT_BYTES_MAX))
  return restOf(bytes.subarray(0, files.val(number).read(bytes, 0)))
}
