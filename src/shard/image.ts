/**
 * The image of a shard's state: a file that spares the replay of the log up to a place. Format: IMAGE.md.
 *
 * Invariant: a state read from an image behaves as the one that was written: same digest, same order of every queue,
 * the same answer to every later event. An image is a disposable cache: one that is damaged, cut or of another version
 * is noticed and not used, never repaired.
 */

import { MalformedValue } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'
import type { Settings } from '../core/settings.ts'
import { createState, type State } from '../core/state.ts'
import type { Disk, File } from '../env/disk.ts'
import type { WriteImage as WriteTableImage } from '../tables/image.ts'
import type { OrderedTable } from '../tables/ordered.ts'
import { decodeFacts, encodeFacts, type ImageFacts, type ImagePlace, type ImageSizes } from './image-facts.ts'
import { BadImage, ImageReader, ImageWriter, PART, WordReader, WordWriter } from './image-file.ts'
import {
  readQueues,
  readRows,
  readStrings,
  readWaiting,
  stringsOf,
  writeQueues,
  writeRows,
  writeStrings,
  writeWaiting,
} from './image-hosts.ts'
import { readWanted, writeMerged } from './image-merging.ts'

/** Suffix of an image that is being written. */
const ASIDE_SUFFIX = '.tmp'

export type ReadImage =
  | { readonly kind: 'image'; readonly state: State; readonly facts: ImageFacts }
  /** `why` goes on "it ...", for people. */
  | { readonly kind: 'unusable'; readonly why: string }

/**
 * Writes the image of a state, which stands between two records: aside, synced, then renamed, durably.
 *
 * @param path    in a directory that exists; what it named before is replaced
 * @param before  the image that the state was read from with `wanted`, which has what the state has not
 * Errors: DISK_FULL, DISK_FAILED, DISK_DENIED; nothing is left of it then.
 * Cost: one pass over the state (see IMAGE.md for figures), one write of `imageBytesOf(state)`, two syncs.
 */
export function writeImage(state: State, disk: Disk, path: string, place: ImagePlace, before?: string): ImageFacts {
  const aside = path + ASIDE_SUFFIX
  let facts: ImageFacts
  try {
    const file = disk.open(aside, 'create')
    try {
      file.truncate(0)
      facts = writeWith(disk, before, (tables) => writeTo(file, state, place, tables))
      file.syncNow()
    } finally {
      file.close()
    }
  } catch (error) {
    disk.remove(aside)
    throw error
  }
  disk.rename(aside, path)
  disk.syncDirectory(path.slice(0, path.lastIndexOf('/')))
  return facts
}

type WriteTable = (table: OrderedTable, write: WriteTableImage) => void

const writeWhole: WriteTable = (table, write) => table.writeImage(write)

/** Writes with tables whole, or merged with those of the image before. */
function writeWith(disk: Disk, before: string | undefined, write: (largeTable: WriteTable) => ImageFacts): ImageFacts {
  if (before === undefined) return write(writeWhole)
  const file = disk.open(before, 'read')
  try {
    const reader = new ImageReader(file)
    reader.part(PART.facts, 0)
    return write((table, writePiece) => writeMerged(table, reader.piece, writePiece))
  } finally {
    file.close()
  }
}

function writeTo(file: File, state: State, place: ImagePlace, writeLarge: WriteTable): ImageFacts {
  const { hosts } = state
  const { arena, handles } = stringsOf(hosts)
  const writer = new ImageWriter(file)
  const sizes = {
    hosts: hosts.count,
    strings: arena.count,
    stringBlocks: arena.blocksInUse().length,
    waiting: state.waiting.count,
    relinks: state.relinks.count,
  }
  writer.part(PART.facts, 0, encodeFacts(state, place, sizes))
  for (const table of largeTablesOf(state)) writeLarge(table, writer.piece)
  for (const table of smallTablesOf(state)) table.writeImage(writer.piece)
  hosts.writeIndex(writer.piece)
  writeRows(state, handles, writer)
  writeStrings(arena, writer)
  writeQueues(state, writer)
  writeWaiting(state, writer)
  writeRelinks(state, writer)
  const checksum = writer.end()
  return { ...place, crawlId: state.crawlId, digest: state.digest.toHex(), bytes: writer.bytes, checksum }
}

/**
 * Reads an image into a state of its own.
 *
 * @param wanted  of the URLs and contents only those with a key that this table has; default all
 * @returns unusable where the file is missing, cannot be read, is damaged, cut, or of another version
 * Cost: one sequential read; about 8 ns an entry of a table, 0.3 µs a URL that waits.
 */
export function readImage(disk: Disk, path: string, wanted?: OrderedTable): ReadImage {
  let file: File | undefined
  try {
    file = disk.open(path, 'read')
    return readFrom(file, wanted)
  } catch (error) {
    const isExpected = error instanceof BadImage || error instanceof MalformedValue || error instanceof CrawlError
    if (!isExpected) throw error
    return { kind: 'unusable', why: error.message }
  } finally {
    file?.close()
  }
}

/**
 * Where the state of an image stands, by its first part alone. Undefined where that cannot be read.
 * Cost: one read.
 */
export function readPlace(disk: Disk, path: string): ImagePlace | undefined {
  let file: File | undefined
  try {
    file = disk.open(path, 'read')
    return decodeFacts(new ImageReader(file).part(PART.facts, 0), createState()).head
  } catch (error) {
    const isExpected = error instanceof BadImage || error instanceof MalformedValue || error instanceof CrawlError
    if (!isExpected) throw error
    return undefined
  } finally {
    file?.close()
  }
}

function readFrom(file: File, wanted: OrderedTable | undefined): ReadImage {
  const state = createState()
  const reader = new ImageReader(file)
  const { head, sizes } = decodeFacts(reader.part(PART.facts, 0), state)
  state.settings = state.settingsJson === '' ? state.settings : (JSON.parse(state.settingsJson) as Settings)
  const readLarge = (table: OrderedTable): boolean =>
    wanted === undefined ? table.readImage(reader.piece) : readWanted(table, wanted, reader.piece)
  for (const table of largeTablesOf(state)) if (!readLarge(table)) throw new BadImage('a table is damaged')
  for (const table of smallTablesOf(state)) {
    if (!table.readImage(reader.piece)) throw new BadImage('a table is damaged')
  }
  if (!state.hosts.readIndex(reader.piece)) throw new BadImage('the index of hosts is damaged')
  readRows(state.hosts, sizes, reader)
  readStrings(state.hosts.strings, sizes, reader)
  readQueues(state, reader)
  readWaiting(state, sizes, reader)
  readRelinks(state, sizes, reader)
  const checksum = reader.end()
  return { kind: 'image', state, facts: { ...head, bytes: file.sizeBytes(), checksum } }
}

/** In the order in which they stand in an image. Nothing is removed from these: image-merging.ts relies on it. */
function largeTablesOf(state: State): OrderedTable[] {
  return [state.urls, state.contents]
}

/** Behind those. */
function smallTablesOf(state: State): OrderedTable[] {
  return [state.scopeKeys, state.processing]
}

/**
 * About how many bytes the image of a state has; within a few per cent above a megabyte.
 * Cost: O(1).
 */
export function imageBytesOf(state: State): number {
  const all = [...largeTablesOf(state), ...smallTablesOf(state)]
  const tables = all.reduce((sum, { count, valueWords }) => sum + count * (4 + valueWords) * 4, 0)
  return tables + state.hosts.bytes + state.queues.bytes + state.waiting.count * 32 + state.relinks.bytes
}

function writeRelinks(state: State, writer: ImageWriter): void {
  const out = new WordWriter(writer, PART.relinks)
  state.relinks.forEach((k0, k1, k2, k3) => {
    for (const word of [k0, k1, k2, k3]) out.push(word)
  })
  out.flush()
}

function readRelinks({ relinks }: State, sizes: ImageSizes, reader: ImageReader): void {
  const words = new WordReader(reader, PART.relinks)
  for (let left = sizes.relinks; left > 0; left--) relinks.push(words.next(), words.next(), words.next(), words.next())
  words.end()
}
