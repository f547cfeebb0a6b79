/**
 * Reads a log whole: every checksum, KEY against VAL. Says what is wrong and where; changes nothing.
 */
import type { Disk } from '../env/disk.ts'
import type { Segment } from './files.ts'
import { LogFiles } from './files.ts'
import type { Finding } from './finding.ts'
import { ITEM_BYTES } from './format.ts'
import type { OpenedLog } from './opened.ts'
import type { OpenOptions } from './options.ts'
import { readKeyUnchecked, scanSegment } from './reader.ts'
import { KeyBuilder } from './rebuild.ts'
import { openLog } from './recover.ts'
import { nextRecord, restOf } from './search.ts'

export interface Verification {
  /** As opened in mode `verify`. The caller closes it. */
  readonly opened: OpenedLog
  readonly findings: readonly Finding[]
  /** Whole records read. */
  readonly records: number
}

/**
 * Opens in mode `verify` and reads everything.
 *
 * Errors: LOG_NEWER, DISK_DENIED, DISK_FAILED. Cost: a sequential read of all files; memory of one segment.
 */
export function verifyLog(disk: Disk, directory: string, options: Omit<OpenOptions, 'mode'>): Verification {
  const opened = openLog(disk, directory, { ...options, mode: 'verify' })
  const findings = [...opened.findings]
  const files = new LogFiles(disk, directory, options.role)
  files.segments.push(...opened.segments)
  let records = 0
  try {
    for (const segment of opened.segments) records += verifySegment(files, segment, options, findings)
  } finally {
    files.close()
  }
  return { opened, findings, records }
}

function verifySegment(
  files: LogFiles,
  segment: Segment,
  options: Omit<OpenOptions, 'mode'>,
  findings: Finding[],
): number {
  const { number, header, valBytes } = segment
  const builder = new KeyBuilder(files.role, number, header.salt, options.itemsOf)
  const context = { segment: number, salt: header.salt, kindMax: options.kindMax }
  let records = 0
  let isWhole = true
  for (let start = 0; start < valBytes; ) {
    const scan = scanSegment(files.val(number), start, valBytes, context, (record) => builder.add(record))
    records += scan.records
    if (scan.end === valBytes) break
    isWhole = false
    const damage = damageAt(files, segment, scan.end)
    findings.push(damage)
    start = scan.end + damage.bytes
  }
  if (isWhole) verifyKey(files, segment, builder.words(), findings)
  return records
}

function damageAt(files: LogFiles, segment: Segment, offset: number): Finding {
  const { number, header, valBytes } = segment
  const bytes = Buffer.alloc(valBytes - offset)
  const rest = restOf(bytes.subarray(0, files.val(number).read(bytes, offset)))
  const next = nextRecord(rest, 1, header.salt)
  const length = next < 0 ? bytes.length : next
  const message = `Segment ${number}: damaged at offset ${offset}, ${length} bytes.`
  return { what: 'corrupt', segment: number, offset, bytes: length, message }
}

function verifyKey(files: LogFiles, segment: Segment, expected: Uint32Array, findings: Finding[]): void {
  const { number } = segment
  const found = readKeyUnchecked(files, number) ?? new Uint32Array(0)
  const common = Math.min(found.length, expected.length)
  let at = 0
  while (at < common && found[at] === expected[at]) at++
  const isRagged = found.length === expected.length && hasPartialItem(files, number, expected.byteLength)
  if (at === expected.length && at === found.length && !isRagged) return
  const offset = Math.floor((at * 4) / ITEM_BYTES) * ITEM_BYTES
  const message = `Segment ${number}: KEY differs from VAL at offset ${offset}; it is made anew from VAL when it is needed.`
  findings.push({ what: 'key', segment: number, offset, bytes: 0, message })
}

function hasPartialItem(files: LogFiles, number: number, bytes: number): boolean {
  return bytes > 0 && files.key(number).sizeBytes() !== bytes
}
