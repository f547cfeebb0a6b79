/** What the log's tests share: a seeded random, a small log of events on a disk, its records read back. */
import { ByteWriter } from '../../src/base/bytes.ts'
import type { Disk } from '../../src/env/disk.ts'
import type { Random } from '../../src/env/random.ts'
import { KIND, NOWHERE, ROLE } from '../../src/log/format.ts'
import type { OpenedLog } from '../../src/log/opened.ts'
import type { OpenOptions } from '../../src/log/options.ts'
import type { ItemsOf } from '../../src/log/rebuild.ts'
import { openLog } from '../../src/log/recover.ts'
import type { LogWriter } from '../../src/log/writer.ts'

export const DIRECTORY = '/log'
/** A kind of the owner's: its body is a count of items, then a key's four words each, then anything. */
export const FACT = 12
export const KIND_MAX = 30
export const SEGMENT_BYTES = 8192
export const CRAWL_ID = new Uint8Array(16).map((_, i) => i + 1)
export const DIGEST = new Uint8Array(16).fill(0xd1)

/** xorshift32: the same numbers for the same seed. */
export function seeded(seed: number): Random {
  let state = seed | 1
  return {
    uint32: () => {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return state >>> 0
    },
  }
}

export const itemsOfFacts: ItemsOf = (record, emit) => {
  const reader = record.reader()
  const count = reader.u8()
  for (let i = 0; i < count; i++) emit(reader.u32(), reader.u32(), reader.u32(), reader.u32(), record.kind, i)
}

export function openEvents(disk: Disk, mode: OpenOptions['mode'], more: Partial<OpenOptions> = {}): OpenedLog {
  return openLog(disk, DIRECTORY, { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfFacts, mode, ...more })
}

export function startEvents(opened: OpenedLog, random: Random, segmentBytesMax = SEGMENT_BYTES): LogWriter {
  const identity = { crawlId: CRAWL_ID, shard: 3, generation: 0 }
  return opened.startWriter({ random, identity, timeMs: 1000, segmentBytesMax })
}

export interface Fact {
  readonly segment: number
  readonly position: number
  readonly sequence: number
  readonly kind: number
  readonly flags: number
  readonly timeMs: number
  readonly body: string
}

/** The body of a fact: items with keys made from `number`, then `extraBytes` bytes. */
export function factBody(number: number, itemCount: number, extraBytes: number): Uint8Array {
  const writer = new ByteWriter()
  writer.u8(itemCount)
  for (let i = 0; i < itemCount; i++) writer.words4(number, i, number * 31, 0xffffffff - i)
  writer.rawBytes(new Uint8Array(extraBytes).map((_, i) => (number + i) % 7))
  return new Uint8Array(writer.written())
}

/** Appends a fact as an owner does: body and items. */
export function appendFact(log: LogWriter, number: number, itemCount: number, extraBytes: number): Fact {
  const timeMs = 1000 + number
  const body = factBody(number, itemCount, extraBytes)
  log.begin(FACT, number & 0xffff, timeMs).rawBytes(body)
  for (let i = 0; i < itemCount; i++) log.item(number, i, number * 31, 0xffffffff - i, FACT, i)
  const address = log.end()
  return { ...address, kind: FACT, flags: number & 0xffff, timeMs, body: hexOf(body) }
}

export function appendMark(log: LogWriter, timeMs: number): Fact {
  const address = log.mark(timeMs, log.synced, NOWHERE, DIGEST, new Uint8Array(3))
  const record = log.read(address.segment, address.position)
  return { ...address, kind: KIND.mark, flags: 0, timeMs, body: hexOf(record.body) }
}

/** All records of a log but the `segment` ones, in order. */
export function factsOf(opened: OpenedLog): Fact[] {
  const facts: Fact[] = []
  for (const { number, header } of opened.segments) {
    let sequence = header.firstSequence
    opened.scan(number, (record) => {
      const { kind, flags, timeMs, position } = record
      if (kind !== KIND.segment) {
        facts.push({ segment: number, position, sequence, kind, flags, timeMs, body: hexOf(record.body) })
      }
      sequence++
    })
  }
  return facts
}

export function hexOf(bytes: Iterable<number>): string {
  return Buffer.from(bytes as Uint8Array).toString('hex')
}
