/**
 * KEY made from VAL: the same items, in the same order, as the writer made.
 *
 * The log knows the items of its own marks; those of the other records its owner tells.
 */
import { MalformedValue } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Disk } from '../env/disk.ts'
import { ownFile } from './copying.ts'
import type { LogFiles } from './files.ts'
import { ASIDE_SUFFIX, KIND, keyName, ROLE, type Role } from './format.ts'
import { type EmitItem, ItemBuffer } from './items.ts'
import { decodeMark, itemsOfMark } from './mark.ts'
import { readKey, scanSegment } from './reader.ts'
import type { RecordView } from './record.ts'

/** The items of a record of the owner's kinds, in order. The record is valid only within the call. */
export type ItemsOf = (record: RecordView, emit: EmitItem) => void

export class KeyBuilder {
  readonly items: ItemBuffer
  private readonly role: Role
  private readonly segment: number
  private readonly salt: number
  private readonly itemsOf: ItemsOf
  private readonly emit: EmitItem
  private position = 0

  constructor(role: Role, segment: number, salt: number, itemsOf: ItemsOf) {
    this.items = new ItemBuffer(role)
    this.role = role
    this.segment = segment
    this.salt = salt
    this.itemsOf = itemsOf
    this.emit = (k0, k1, k2, k3, kind, arg) => this.items.push(k0, k1, k2, k3, kind, arg, this.position)
  }

  add(record: RecordView): void {
    this.position = record.position
    if (record.kind === KIND.segment) return
    if (record.kind === KIND.mark) {
      const mark = this.role === ROLE.events ? decodeMark(record) : undefined
      if (mark !== undefined) itemsOfMark(mark, record.timeMs, this.salt, this.emit)
      return
    }
    try {
      this.itemsOf(record, this.emit)
    } catch (error) {
      if (!(error instanceof MalformedValue)) throw error
      throw damaged(this.segment, record.position, `the record at offset ${record.position} makes no sense`)
    }
  }

  /** All items so far: a view. */
  words(): Uint32Array<ArrayBuffer> {
    return this.items.words.subarray(0, this.items.end)
  }
}

/**
 * The whole KEY of a sealed segment, from its VAL.
 *
 * Errors: LOG_CORRUPT at the first bad record; LOG_NEWER. Cost: a scan of the segment.
 */
function rebuildKey(files: LogFiles, number: number, kindMax: number, itemsOf: ItemsOf): Uint32Array<ArrayBuffer> {
  const { header, valBytes } = files.segment(number)
  const builder = new KeyBuilder(files.role, number, header.salt, itemsOf)
  const context = { segment: number, salt: header.salt, kindMax }
  const { end } = scanSegment(files.val(number), 0, valBytes, context, (record) => builder.add(record))
  if (end !== valBytes) throw damaged(number, end, `damaged record at offset ${end}`)
  return builder.words()
}

/**
 * The KEY of a sealed segment: as its file has it, or, where that is missing, short or fails its CRC, made from VAL.
 *
 * @param replace    whether a KEY made anew is written to the file (not synced: it can be made again)
 * @param onRebuilt  called where it is made anew
 */
export function soundKey(
  files: LogFiles,
  number: number,
  kindMax: number,
  itemsOf: ItemsOf,
  replace: boolean,
  onRebuilt: () => void = () => {},
): Uint32Array<ArrayBuffer> {
  const found = readKey(files, number)
  if (found !== undefined) return found
  onRebuilt()
  const words = rebuildKey(files, number, kindMax, itemsOf)
  if (replace) replaceKey(files, number, words)
  return words
}

function replaceKey(files: LogFiles, number: number, words: Uint32Array<ArrayBuffer>): void {
  files.forget(number)
  ownFile(files.disk, files.path(keyName(number)))
  const file = files.disk.open(files.path(keyName(number)), 'create')
  try {
    file.truncate(0)
    file.write(bytesOfWords(words), 0)
  } finally {
    file.close()
  }
}

/** Puts a KEY in the place of a damaged one: aside, synced, renamed, durable. The log must be closed, or reopened. */
export function rewriteKey(disk: Disk, directory: string, number: number, words: Uint32Array<ArrayBuffer>): void {
  const path = `${directory}/${keyName(number)}`
  const file = disk.open(path + ASIDE_SUFFIX, 'create')
  try {
    file.truncate(0)
    file.write(bytesOfWords(words), 0)
    file.syncNow()
  } finally {
    file.close()
  }
  disk.rename(path + ASIDE_SUFFIX, path)
  disk.syncDirectory(directory)
}

/** The same memory as bytes. */
export function bytesOfWords(words: Uint32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}

function damaged(segment: number, offset: number, what: string): CrawlError {
  return new CrawlError('LOG_CORRUPT', `Segment ${segment}: ${what}.`, { segment, offset })
}
