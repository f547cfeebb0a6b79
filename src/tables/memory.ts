/**
 * Memory for the partitions of an OrderedTable: outside the JS heap, given back at once and not when the garbage
 * collector comes by, and without holes.
 *
 * Partitions grow by a little, often, each into a new array. Taken one by one from the C allocator, such arrays leave
 * holes too small for their successors: 15 to 20 % of the table, measured. So all but small ones are cut from slabs,
 * one behind the other. As partitions grow in turn they also leave in turn, and the oldest slab is soon empty and goes
 * back as a whole. Slabs have two sizes only, so that a new one fits where an old one was.
 */

/** Arrays below this have memory of their own. */
const SLAB_ARRAY_BYTES_MIN = 16 * 1024

/** Slabs for arrays below LARGE_ARRAY_BYTES: those of a table of up to 4 million entries. */
const SLAB_BYTES = 2 * 1024 * 1024
const LARGE_ARRAY_BYTES = 128 * 1024

/**
 * Slabs for all others. Just over 32 MiB: glibc maps an allocation of that size on its own whatever sizes were freed
 * before, so its pages use no memory until they are written to, and none after it is freed.
 */
const LARGE_SLAB_BYTES = 33 * 1024 * 1024

interface Slab {
  readonly buffer: ArrayBuffer
  /** Bytes cut off so far. */
  used: number
  /** Arrays not given back yet. */
  live: number
}

export class SlotMemory {
  /** Bytes in use or held in slabs, without what the newest slab has never handed out. */
  bytes = 0
  readonly #slabs: Slab[] = []

  /** An array of so many words; what they hold is chance. */
  take(words: number): Uint32Array<ArrayBuffer> {
    const bytes = words * 4
    if (bytes < SLAB_ARRAY_BYTES_MIN) {
      this.bytes += bytes
      return new Uint32Array(new ArrayBuffer(bytes))
    }
    let slab = this.#slabs.at(-1)
    if (slab === undefined || slab.used + bytes > slab.buffer.byteLength) slab = this.#open(bytes)
    const array = new Uint32Array(slab.buffer, slab.used, words)
    slab.used += bytes
    slab.live++
    this.bytes += bytes
    return array
  }

  /** Takes an array back; nobody may use it afterwards. */
  give(array: Uint32Array<ArrayBuffer>): void {
    const index = this.#slabs.findIndex((slab) => slab.buffer === array.buffer)
    if (index < 0) {
      this.bytes -= array.byteLength
      array.buffer.transfer(0)
    } else {
      const slab = this.#slabs[index]
      slab.live--
      if (slab.live === 0) this.#close(index)
    }
  }

  #open(bytes: number): Slab {
    const slabBytes = Math.max(bytes, bytes < LARGE_ARRAY_BYTES ? SLAB_BYTES : LARGE_SLAB_BYTES)
    const slab = { buffer: new ArrayBuffer(slabBytes), used: 0, live: 0 }
    this.#slabs.push(slab)
    return slab
  }

  #close(index: number): void {
    const [slab] = this.#slabs.splice(index, 1)
    this.bytes -= slab.used
    slab.buffer.transfer(0)
  }
}
