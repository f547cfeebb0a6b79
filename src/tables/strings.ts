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
    const bytes = LENGTH_BYTES + string.length
    if ((this.end % BLOCK_BYTES) + bytes > BLOCK_BYTES) this.end += BLOCK_BYTES - (this.end % BLOCK_BYTES)
    const handle = this.end
    assert(handle + bytes <= 2 ** 32, 'an arena holds 4 GiB')
    const at = handle % BLOCK_BYTES
    const block = this.blockWith(handle >>> BLOCK_BITS, at + bytes)
    block.writeUInt16LE(string.length, at)
    block.write(string, at + LENGTH_BYTES, 'latin1')
    this.end += bytes
    this.count++
    return handle
  }

  /** The string of a handle. Cost: one new JS string. */
  get(handle: number): string {
    const block = this.blocks[handle >>> BLOCK_BITS]
    const at = (handle % BLOCK_BYTES) + LENGTH_BYTES
    return block.toString('latin1', at, at + block.readUInt16LE(at - LENGTH_BYTES))
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
