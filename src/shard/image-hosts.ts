/**
 * The hosts of a state in an image: rows as they are in memory, and beside them what rows only point to: names and
 * addresses, queues, waiting lists.
 *
 * In the image a row's handles are those of the strings that follow, its deques hold no numbers of chunks, its waiting
 * list is empty, and what is schedule is zero.
 */
import { HOST, HOST_FLAGS_DIGESTED, type HostTable, ROW_WORDS, ROWS_PER_BLOCK } from '../core/hosts.ts'
import type { State } from '../core/state.ts'
import { StringArena } from '../tables/strings.ts'
import type { ImageSizes } from './image-facts.ts'
import { BadImage, bytesOf, type ImageReader, type ImageWriter, PART, WordReader, WordWriter } from './image-file.ts'

const QUEUES = [HOST.queuePreferred, HOST.queue] as const
const ROW_BYTES = ROW_WORDS * 4
const U32 = 2 ** 32

/**
 * The strings that rows point to, without those that no row does any more: addresses change, and an arena keeps all.
 * Cost: one copy.
 */
export function stringsOf(hosts: HostTable): { readonly arena: StringArena; readonly handles: Uint32Array } {
  const arena = new StringArena()
  const handles = new Uint32Array(hosts.count * 2)
  for (let id = 1; id <= hosts.count; id++) {
    handles[id * 2 - 2] = copyString(hosts, hosts.get(id, HOST.name), arena)
    handles[id * 2 - 1] = copyString(hosts, hosts.get(id, HOST.addresses), arena)
  }
  return { arena, handles }
}

/** Handles in rows are one more than the arena's: 0 is no string. */
function copyString(hosts: HostTable, handle: number, into: StringArena): number {
  return handle === 0 ? 0 : into.addFrom(hosts.strings, handle - 1) + 1
}

/** @param handles  as `stringsOf` made them */
export function writeRows(state: State, handles: Uint32Array, writer: ImageWriter): void {
  const { hosts } = state
  for (let first = 1; first <= hosts.count; first += ROWS_PER_BLOCK) {
    const rowCount = Math.min(ROWS_PER_BLOCK, hosts.count - first + 1)
    const rows = hosts.wordsOf(first).slice(0, rowCount * ROW_WORDS)
    for (let i = 0; i < rowCount; i++) clean(state, rows, i * ROW_WORDS, handles, (first + i - 1) * 2)
    writer.part(PART.rows, (first - 1) / ROWS_PER_BLOCK, bytesOf(rows))
  }
}

function clean(state: State, rows: Uint32Array, row: number, handles: Uint32Array, handle: number): void {
  rows[row + HOST.flags] &= HOST_FLAGS_DIGESTED
  rows[row + HOST.name] = handles[handle]
  rows[row + HOST.addresses] = handles[handle + 1]
  for (const queue of QUEUES) state.queues.toImage(rows, row + queue)
  rows[row + HOST.waitingHead] = 0
  rows[row + HOST.waitingTail] = 0
  rows[row + HOST.inFlight] = 0
  rows[row + HOST.contactMs] = 0
  rows[row + HOST.contactMs + 1] = 0
}

export function readRows(hosts: HostTable, sizes: ImageSizes, reader: ImageReader): void {
  for (let first = 0; first < sizes.hosts; first += ROWS_PER_BLOCK) {
    const rowCount = Math.min(ROWS_PER_BLOCK, sizes.hosts - first)
    const rows = reader.part(PART.rows, first / ROWS_PER_BLOCK)
    if (rows.length !== rowCount * ROW_BYTES) throw new BadImage('a block of hosts is cut')
    const isWhole = rowCount === ROWS_PER_BLOCK
    const block = isWhole ? rows.buffer : rows.buffer.transferToFixedLength(ROWS_PER_BLOCK * ROW_BYTES)
    hosts.addRows(block, rowCount)
  }
}

export function writeStrings(arena: StringArena, writer: ImageWriter): void {
  for (const [i, block] of arena.blocksInUse().entries()) writer.part(PART.strings, i, block)
}

export function readStrings(arena: StringArena, sizes: ImageSizes, reader: ImageReader): void {
  const blocks = Array.from({ length: sizes.stringBlocks }, (_, i) => reader.part(PART.strings, i))
  arena.load(blocks, sizes.strings)
}

/** Entries of the queues that have more than one, host after host, heads first. */
export function writeQueues(state: State, writer: ImageWriter): void {
  const { hosts, queues } = state
  const out = new WordWriter(writer, PART.queues)
  const push = (word0: number, word1: number) => {
    out.push(word0)
    out.push(word1)
  }
  for (let id = 1; id <= hosts.count; id++) {
    const words = hosts.wordsOf(id)
    for (const queue of QUEUES) {
      const at = hosts.rowOf(id) + queue
      if (queues.count(words, at) > 1) queues.forEach(words, at, push)
    }
  }
  out.flush()
}

export function readQueues(state: State, reader: ImageReader): void {
  const { hosts, queues } = state
  const input = new WordReader(reader, PART.queues)
  for (let id = 1; id <= hosts.count; id++) {
    const words = hosts.wordsOf(id)
    for (const queue of QUEUES) queues.fromImage(words, hosts.rowOf(id) + queue, input.next)
  }
  input.end()
}

/** The waiting lists, host after host, then the suspects: each in its order, so adding them again restores it. */
export function writeWaiting(state: State, writer: ImageWriter): void {
  const { hosts, waiting } = state
  const out = new WordWriter(writer, PART.waiting)
  const pushList = (first: number) => {
    for (let slot = first; slot >= 0; slot = waiting.next(slot)) pushWaiting(state, slot, out)
  }
  for (let id = 1; id <= hosts.count; id++) pushList(waiting.firstOf(hosts, id))
  pushList(waiting.firstSuspect)
  out.flush()
}

function pushWaiting({ waiting }: State, slot: number, out: WordWriter): void {
  for (let i = 0; i < 4; i++) out.push(waiting.keyWord(slot, i))
  out.push(waiting.host(slot))
  out.push(waiting.attempts(slot) | (waiting.deaths(slot) << 8))
  out.push(waiting.dueMs(slot) % U32)
  out.push(Math.floor(waiting.dueMs(slot) / U32))
}

export function readWaiting({ hosts, waiting }: State, sizes: ImageSizes, reader: ImageReader): void {
  const input = new WordReader(reader, PART.waiting)
  const { next } = input
  for (let left = sizes.waiting; left > 0; left--) {
    const [k0, k1, k2, k3] = [next(), next(), next(), next()]
    const host = next()
    const attemptsDeaths = next()
    const dueMs = next() + next() * U32
    if (host === 0 || host > hosts.count) throw new BadImage('a URL waits for no host')
    waiting.add(hosts, host, k0, k1, k2, k3, attemptsDeaths & 0xff, attemptsDeaths >>> 8, dueMs)
  }
  input.end()
}
