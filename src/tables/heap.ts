/**
 * Ids by due time, the earliest first, outside the JS heap: which host may be contacted next.
 *
 * A 4-ary min-heap with an index of positions, so that an id's due time can be changed. Order is by due time, then by
 * id: the same contents come out in the same order, however they came in.
 *
 * Invariants: the entry at position p is not before the one at (p − 1) >> 2; `#positions[ids[p]] === p + 1`, and 0 for
 * an id that is not in it. 16 bytes an id; ids should be dense from 0.
 */
import assert from 'node:assert/strict'

const FIRST_LENGTH = 64
const GROWTH = 1.5

export class DueHeap {
  /** Ids in it. */
  size = 0
  #ids = new Uint32Array(FIRST_LENGTH)
  #dues = new Float64Array(FIRST_LENGTH)
  #positions = new Uint32Array(FIRST_LENGTH)

  /** Bytes allocated outside the JS heap. */
  get bytes(): number {
    return this.#ids.byteLength + this.#dues.byteLength + this.#positions.byteLength
  }

  has(id: number): boolean {
    return id < this.#positions.length && this.#positions[id] !== 0
  }

  /** When an id is due; Infinity if it is not in the heap. Cost: O(1). */
  dueOf(id: number): number {
    return this.has(id) ? this.#dues[this.#positions[id] - 1] : Number.POSITIVE_INFINITY
  }

  /** The id due first, −1 if there is none. Cost: O(1). */
  peekId(): number {
    return this.size === 0 ? -1 : this.#ids[0]
  }

  /** When that is due; Infinity if there is none. Cost: O(1). */
  peekDue(): number {
    return this.size === 0 ? Number.POSITIVE_INFINITY : this.#dues[0]
  }

  /** Puts an id in, or changes when it is due. Cost: O(log size). */
  update(id: number, due: number): void {
    assert(!Number.isNaN(due), 'an id without a due time')
    if (id >= this.#positions.length) this.#positions = grown(this.#positions, id)
    let position = this.#positions[id] - 1
    if (position < 0) {
      position = this.size++
      if (position >= this.#ids.length) {
        this.#ids = grown(this.#ids, position)
        this.#dues = grown(this.#dues, position)
      }
    }
    this.#settle(position, id, due)
  }

  /** Takes an id out; false if it was not in. Cost: O(log size). */
  remove(id: number): boolean {
    if (!this.has(id)) return false
    const position = this.#positions[id] - 1
    this.#positions[id] = 0
    this.size--
    // The last entry fills the hole, and goes from there to where it belongs.
    if (position < this.size) this.#settle(position, this.#ids[this.size], this.#dues[this.size])
    return true
  }

  /** Takes out the id due first; −1 if there is none. Cost: O(log size). */
  popId(): number {
    const id = this.peekId()
    if (id >= 0) this.remove(id)
    return id
  }

  /** Takes all out. Cost: O(largest id ever). */
  clear(): void {
    this.size = 0
    this.#positions.fill(0)
  }

  /** Places an entry at `position`, which is free, or above or below it. */
  #settle(position: number, id: number, due: number): void {
    const risen = this.#rise(position, id, due)
    this.#place(risen === position ? this.#sink(position, id, due) : risen, id, due)
  }

  /** Moves later ancestors down; returns the position that is free then. */
  #rise(position: number, id: number, due: number): number {
    while (position > 0) {
      const parent = (position - 1) >> 2
      if (!this.#isBefore(id, due, parent)) break
      this.#place(position, this.#ids[parent], this.#dues[parent])
      position = parent
    }
    return position
  }

  /** Moves earlier descendants up; returns the position that is free then. */
  #sink(position: number, id: number, due: number): number {
    for (;;) {
      const first = position * 4 + 1
      if (first >= this.size) return position
      let least = first
      const end = Math.min(first + 4, this.size)
      for (let child = first + 1; child < end; child++) {
        if (this.#isBefore(this.#ids[child], this.#dues[child], least)) least = child
      }
      if (this.#isBefore(id, due, least)) return position
      this.#place(position, this.#ids[least], this.#dues[least])
      position = least
    }
  }

  #isBefore(id: number, due: number, position: number): boolean {
    const other = this.#dues[position]
    return due < other || (due === other && id < this.#ids[position])
  }

  #place(position: number, id: number, due: number): void {
    this.#ids[position] = id
    this.#dues[position] = due
    this.#positions[id] = position + 1
  }
}

/** The same array with room for `index`. The old one is given back at once, not left to the garbage collector. */
function grown<T extends Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(array: T, index: number): T {
  const length = Math.max(index + 1, Math.ceil(array.length * GROWTH))
  const buffer = array.buffer.transfer(length * array.BYTES_PER_ELEMENT)
  return (array instanceof Uint32Array ? new Uint32Array(buffer) : new Float64Array(buffer)) as T
}
