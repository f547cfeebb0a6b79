/**
 * Rewriting a sealed segment, record by record: pages are compressed when their segment is sealed.
 *
 * Positions change; order, number, kinds, times and keys of the records do not, so ordinals and sequence numbers stay.
 * The new files are written aside and synced (`rewriteSegment`, which may run in a worker), then take the place of the
 * old ones by two renames (`adoptRewritten`). A death in between leaves a VAL and a KEY that do not fit each other:
 * KEY fails its checksum and is rebuilt from VAL.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import { ByteWriter } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Disk, File } from '../env/disk.ts'
import { recordChecksum } from './checksum.ts'
import {
  ASIDE_SUFFIX,
  AT,
  keyName,
  LENGTH_FIELD_BYTES,
  RECORD_BYTES_MAX,
  SEGMENT_BYTES_MAX,
  SEGMENT_RECORD_BYTES,
  valName,
} from './format.ts'
import { readHeader, statedKey } from './list.ts'
import type { OpenOptions } from './options.ts'
import { scanSegment } from './reader.ts'
import { KeyBuilder } from './rebuild.ts'
import { RecordView } from './record.ts'
import { encodeSegment, isRewritten, type SegmentHeader } from './segment.ts'

/** Written at once. */
const BATCH_BYTES = 1024 * 1024

/** What becomes of a record; undefined = it stays as it is. The keys its items are made of must stay. */
export type Transform = (record: RecordView) => { readonly flags: number; readonly body: Uint8Array } | undefined

export type RewriteOptions = Pick<OpenOptions, 'role' | 'kindMax' | 'itemsOf'>

interface Source {
  readonly header: SegmentHeader
  readonly valBytes: number
  readonly keyBytes: number
  readonly sequenceAfter: number
}

/**
 * Writes a sealed segment anew, aside.
 *
 * @returns VAL bytes before and after
 * Errors: LOG_CORRUPT, LOG_NEWER, DISK_FULL, DISK_FAILED; the segment is as it was then.
 * Cost: one sequential read and write of the segment, two syncs.
 */
export function rewriteSegment(
  disk: Disk,
  directory: string,
  number: number,
  options: RewriteOptions,
  transform: Transform,
): { readonly beforeBytes: number; readonly afterBytes: number } {
  const source = readSource(disk, directory, number)
  const names = [valName(number), keyName(number)].map((name) => `${directory}/${name}${ASIDE_SUFFIX}`)
  const opened: File[] = []
  try {
    for (const name of names) opened.push(disk.open(name, 'create'))
    for (const file of opened) file.truncate(0)
    const rewriter = new Rewriter(source, options, opened[0])
    const from = disk.open(`${directory}/${valName(number)}`, 'read')
    opened.push(from)
    rewriter.copy(from, number, transform)
    rewriter.finish(opened[1])
    return { beforeBytes: source.valBytes, afterBytes: rewriter.valBytes }
  } catch (error) {
    for (const name of names) disk.remove(name)
    throw error
  } finally {
    for (const file of opened) file.close()
  }
}

/** Puts the files written aside in the place of the old ones, VAL first. Whoever has the old ones open reopens them. */
export function adoptRewritten(disk: Disk, directory: string, number: number): void {
  for (const name of [valName(number), keyName(number)]) {
    disk.rename(`${directory}/${name}${ASIDE_SUFFIX}`, `${directory}/${name}`)
  }
  disk.syncDirectory(directory)
}

function readSource(disk: Disk, directory: string, number: number): Source {
  const { header } = readHeader(disk, `${directory}/${valName(number)}`, number)
  const successor = readHeader(disk, `${directory}/${valName(number + 1)}`, number + 1).header
  if (header === undefined || successor === undefined) throw damaged(directory, header ? number + 1 : number, 0)
  return {
    header,
    valBytes: isRewritten(header) ? header.ownValBytes : successor.beforeValBytes,
    keyBytes: statedKey(header, successor).bytes,
    sequenceAfter: successor.firstSequence,
  }
}

function damaged(directory: string, segment: number, offset: number): CrawlError {
  const message = `Segment ${segment}: damaged record at offset ${offset}.`
  return new CrawlError('LOG_CORRUPT', message, { path: directory, segment, offset })
}

class Rewriter {
  valBytes = SEGMENT_RECORD_BYTES
  private readonly source: Source
  private readonly kindMax: number
  private readonly val: File
  private readonly batch = new ByteWriter(BATCH_BYTES)
  private batchPosition = SEGMENT_RECORD_BYTES
  private readonly builder: KeyBuilder
  private readonly written: RecordView

  constructor(source: Source, options: RewriteOptions, val: File) {
    this.source = source
    this.kindMax = options.kindMax
    this.val = val
    this.builder = new KeyBuilder(options.role, source.header.number, source.header.salt, options.itemsOf)
    this.written = new RecordView(this.batch.buffer)
  }

  copy(from: File, number: number, transform: Transform): void {
    const { header, valBytes } = this.source
    const context = { segment: number, salt: header.salt, kindMax: this.kindMax }
    const { end } = scanSegment(from, 0, valBytes, context, (record) => {
      if (record.position > 0) this.add(record, transform(record))
    })
    if (end !== valBytes) throw damaged(from.path, number, end)
  }

  private add(record: RecordView, change: ReturnType<Transform>): void {
    const { batch } = this
    const start = batch.at
    batch.rawBytes(record.bytes.subarray(0, AT.body))
    batch.rawBytes(change?.body ?? record.body)
    const whole = batch.at - start
    assert(whole <= RECORD_BYTES_MAX && this.valBytes + whole <= SEGMENT_BYTES_MAX, 'a rewritten record is too large')
    batch.setU32(start, whole - LENGTH_FIELD_BYTES)
    batch.setU16(start + AT.flags, change?.flags ?? record.flags)
    const { salt } = this.source.header
    batch.setU32(start + AT.checksum, recordChecksum(batch.buffer, batch.view, start, batch.at, salt))
    this.builder.add(this.written.set(batch.buffer, batch.view, start, this.valBytes))
    this.valBytes += whole
    if (batch.at >= BATCH_BYTES) this.flush()
  }

  private flush(): void {
    this.val.write(this.batch.written(), this.batchPosition)
    this.batchPosition += this.batch.at
    this.batch.reset()
  }

  /** KEY, then the `segment` record, which states both; then both are durable. */
  finish(key: File): void {
    this.flush()
    const { source } = this
    const items = this.builder.items.bytes()
    assert(items.length === source.keyBytes, 'rewriting changed the items')
    key.write(items, 0)
    const header: SegmentHeader = {
      ...source.header,
      ownValBytes: this.valBytes,
      ownKeyBytes: items.length,
      ownKeyChecksum: crc32(items),
      ownSequenceAfter: source.sequenceAfter,
    }
    this.val.write(encodeSegment(header), 0)
    this.val.syncNow()
    key.syncNow()
  }
}
