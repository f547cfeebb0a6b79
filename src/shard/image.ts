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

/** Suffix of an image that is being written. */
const ASIDE_SUFFIX = '.tmp'

export type ReadImage =
  | { readonly kind: 'image'; readonly state: State; readonly facts: ImageFacts }
  /** `why` goes on "it ...", for people. */
  | { readonly kind: 'unusable'; readonly why: string }

/**
 * Writes the image of a state, which stands between two records: aside, synced, then renamed, durably.
 *
 * @param path  in a directory that exists; what it named before is replaced
 * Errors: DISK_FULL, DISK_FAILED, DISK_DENIED; nothing is left of it then.
 * Cost: one pass over the state (see IMAGE.md for figures), one write of `imageBytesOf(state)`, two syncs.
 */
export function writeImage(state: State, disk: Disk, path: string, place: ImagePlace): ImageFacts {
  const aside = path + ASIDE_SUFFIX
  let facts: ImageFacts
  try {
    const file = disk.open(aside, 'create')
    try {
      file.truncate(0)
      facts = writeTo(file, state, place)
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

function writeTo(file: File, state: State, place: ImagePlace): ImageFacts {
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
  for (const table of tablesOf(state)) table.writeImage(writer.piece)
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
 * @returns unusable where the file is missing, cannot be read, is damaged, cut, or of another version
 * Cost: one sequential read; about 8 ns an entry of a table, 0.3 µs a URL that waits.
 */
export function readImage(disk: Disk, path: string): ReadImage {
  let file: File | undefined
  try {
    file = disk.open(path, 'read')
    return readFrom(file)
  } catch (error) {
    const isExpected = error instanceof BadImage || error instanceof MalformedValue || error instanceof CrawlError
    if (!isExpected) throw error
    return { kind: 'unusable', why: error.message }
  } finally {
    file?.close()
  }
}

function readFrom(file: File): ReadImage {
  const state = createState()
  const reader = new ImageReader(file)
  const { head, sizes } = decodeFacts(reader.part(PART.facts, 0), state)
  state.settings = state.settingsJson === '' ? state.settings : (JSON.parse(state.settingsJson) as Settings)
  for (const table of tablesOf(state)) {
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

/** In the order in which they stand in an image. */
function tablesOf(state: State) {
  return [state.urls, state.contents, state.scopeKeys, state.processing]
}

/**
 * About how many bytes the image of a state has; within a few per cent above a megabyte.
 * Cost: O(1).
 */
export function imageBytesOf(state: State): number {
  const tables = tablesOf(state).reduce((sum, { count, valueWords }) => sum + count * (4 + valueWords) * 4, 0)
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
