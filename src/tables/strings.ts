/**
 * An arena of short strings outside the JS heap, append only: host names, say, which a crawl never forgets.
 *
 * A string of n characters takes n + 2 bytes: its length, then one byte a character. Strings lie in blocks of
 * BLOCK_BYTES and none crosses the end of one. Blocks are never moved, but the first, which starts small and doubles.
 */
import assert from 'node:assert/strict'

const BLOCK_BITS = 18
const BLOCK_BYTES = 2 ** BLOCK_BITS

/** Length of the first block in an arena of few strings. */
const FIRST_BLOCK_BYTES = 4096

const LENGTH_BYTES = 2

/** Longest string an arena takes, in characters. A host name has at most 253. */
export const STRING_CHARS_MAX = 65_535

export class StringArena {
  /** Strings added. */
  count = 0
  private readonly blocks: Buffer[] = [allocate(FIRST_BLOCK_BYTES)]
  /** First free byte, counted as if every block were BLOCK_BYTES long. Handles are such positions. */
  private end = 0

  /** Bytes allocated outside the JS heap. */
  get bytes(): number {
    return this.blocks[0].length + (this.blocks.length - 1) * BLOCK_BYTES
  }

  /**
   * Appends a string of at most STRING_CHARS_MAX characters, each below U+0100; an equal one is stored again.
   *
   * @returns a handle for `get`, a u32, for as long as the arena lives. Cost: one copy.
   */
  add(string: string): number {
    assert(string.length <= STRING_CHARS_MAX, 'string too long for an arena')
    const handle = this.place(LENGTH_BYTES + string.length)
    const at = handle % BLOCK_BYTES
    const block = this.blocks[handle >>> BLOCK_BITS]
    block.writeUInt16LE(string.length, at)
    block.write(string, at + LENGTH_BYTES, 'latin1')
    return handle
  }

  /** The string of a handle. Cost: one new JS string. */
  get(handle: number): string {
    const block = this.blocks[handle >>> BLOCK_BITS]
    const at = (handle % BLOCK_BYTES) + LENGTH_BYTES
    return block.toString('latin1', at, at + block.readUInt16LE(at - LENGTH_BYTES))
  }

  /** Appends a string of another arena; returns its handle here. Cost: one copy. */
  addFrom(arena: StringArena, handle: number): number {
    const block = arena.blocks[handle >>> BLOCK_BITS]
    const at = handle % BLOCK_BYTES
    const bytes = LENGTH_BYTES + block.readUInt16LE(at)
    const copy = this.place(bytes)
    block.copy(this.blocks[copy >>> BLOCK_BITS], copy % BLOCK_BYTES, at, at + bytes)
    return copy
  }

  /** The bytes in use, block by block: views, for an image. */
  blocksInUse(): Uint8Array[] {
    return this.blocks.map((block, i) => block.subarray(0, Math.min(this.end - i * BLOCK_BYTES, block.length)))
  }

  /** Becomes the arena that `blocksInUse` was asked of; handles are the same. For an arena without strings. */
  load(blocks: readonly Uint8Array[], count: number): void {
    assert(this.count === 0 && this.blocks.length === 1)
    for (let i = 0; i < blocks.length; i++) {
      this.end = i * BLOCK_BYTES + blocks[i].length
      this.blockWith(i, blocks[i].length).set(blocks[i])
    }
    this.count = count
  }

  /** Room for so many bytes; returns where. */
  private place(bytes: number): number {
    if ((this.end % BLOCK_BYTES) + bytes > BLOCK_BYTES) this.end += BLOCK_BYTES - (this.end % BLOCK_BYTES)
    const handle = this.end
    assert(handle + bytes <= 2 ** 32, 'an arena holds 4 GiB')
    this.blockWith(handle >>> BLOCK_BITS, (handle % BLOCK_BYTES) + bytes)
    this.end += bytes
    this.count++
    return handle
  }

  /** The block of that number, the last or one behind it, with at least `bytes` bytes. */
  private blockWith(number: number, bytes: number): Buffer {
    if (number === this.blocks.length) this.blocks.push(allocate(BLOCK_BYTES))
    const block = this.blocks[number]
    if (block.length >= bytes) return block
    let length = block.length
    while (length < bytes) length *= 2
    const larger = allocate(length)
    larger.set(block)
    this.blocks[number] = larger
    return larger
  }
}

/** Memory of its own: Buffer.alloc might take it from a pool shared with others. */
function allocate(bytes: number): Buffer {
  return Buffer.from(new ArrayBuffer(bytes))
}
