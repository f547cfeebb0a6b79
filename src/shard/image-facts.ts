/** The first part of an image: what it is an image of, and all of a state that is no table. Layout: IMAGE.md. */
import { ByteReader, ByteWriter } from '../base/bytes.ts'
import type { SeedCursor, State } from '../core/state.ts'
import type { Position } from '../log/format.ts'
import { DIGEST_BYTES } from '../tables/digest.ts'

/** Where in a log a state stands. */
export interface ImagePlace {
  readonly shard: number
  /** Of the log: compaction moves records, so an image of another generation names other places. */
  readonly generation: number
  /** After the last record applied. */
  readonly position: Position
  /** Of the last record applied. */
  readonly sequence: number
  /** Time of that record, milliseconds since 1970. */
  readonly timeMs: number
}

/** What an image says of itself. */
export interface ImageFacts extends ImagePlace {
  /** 32 hexadecimal digits, as the crawl's identity in the log. */
  readonly crawlId: string
  /** Of the state, 32 hexadecimal digits. */
  readonly digest: string
  /** Size of the file. */
  readonly bytes: number
  /** CRC-32 over the heads of all pieces, which hold the CRC-32 of the rest. */
  readonly checksum: number
}

/** How much follows. */
export interface ImageSizes {
  readonly hosts: number
  readonly strings: number
  readonly stringBlocks: number
  readonly waiting: number
  readonly relinks: number
}

export type ImageHead = ImagePlace & Pick<ImageFacts, 'crawlId' | 'digest'>

const CURSOR = { none: 0, open: 1, last: 2 } as const

export function encodeFacts(state: State, place: ImagePlace, sizes: ImageSizes): Uint8Array {
  const out = new ByteWriter()
  out.u32(place.shard)
  out.u32(place.generation)
  out.u32(place.position.segment)
  out.u32(place.position.position)
  out.u64(place.sequence)
  out.u64(place.timeMs)
  out.rawBytes(state.digest.bytes())
  out.latin1(state.crawlId)
  out.u8(state.isOpen ? 1 : 0)
  out.u32(state.asking)
  out.varint(state.pages)
  out.varint(state.badHosts)
  out.varint(state.resolvedHosts)
  for (const count of state.counts) out.varint(count)
  out.varint(state.seeds.length)
  // A source that was not begun leaves a hole.
  for (let source = 0; source < state.seeds.length; source++) writeCursor(out, state.seeds[source])
  out.utf8(state.settingsJson)
  for (const size of [sizes.hosts, sizes.strings, sizes.stringBlocks, sizes.waiting, sizes.relinks]) out.u32(size)
  return out.written()
}

function writeCursor(out: ByteWriter, cursor: SeedCursor | undefined): void {
  if (cursor === undefined) return out.u8(CURSOR.none)
  out.u8(cursor.isLast ? CURSOR.last : CURSOR.open)
  out.varint(cursor.lines)
}

/** Reads them into an empty state. Errors: MalformedValue. */
export function decodeFacts(bytes: Uint8Array, state: State): { readonly head: ImageHead; readonly sizes: ImageSizes } {
  const input = new ByteReader(bytes)
  const place = {
    shard: input.u32(),
    generation: input.u32(),
    position: { segment: input.u32(), position: input.u32() },
    sequence: input.u64(),
    timeMs: input.u64(),
  }
  state.digest.load(input.rawBytes(DIGEST_BYTES))
  state.crawlId = input.latin1()
  state.isOpen = input.u8() !== 0
  state.asking = input.u32()
  state.pages = input.varint()
  state.badHosts = input.varint()
  state.resolvedHosts = input.varint()
  for (let i = 0; i < state.counts.length; i++) state.counts[i] = input.varint()
  readCursors(input, state.seeds)
  state.settingsJson = input.utf8()
  const sizes = {
    hosts: input.u32(),
    strings: input.u32(),
    stringBlocks: input.u32(),
    waiting: input.u32(),
    relinks: input.u32(),
  }
  return { head: { ...place, crawlId: state.crawlId, digest: state.digest.toHex() }, sizes }
}

function readCursors(input: ByteReader, seeds: SeedCursor[]): void {
  const length = input.varint()
  for (let source = 0; source < length; source++) {
    const what = input.u8()
    if (what !== CURSOR.none) seeds[source] = { lines: input.varint(), isLast: what === CURSOR.last }
  }
  seeds.length = length
}
