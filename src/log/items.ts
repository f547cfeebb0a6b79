/**
 * KEY items in memory: a growing array of words, six an item, exactly as the KEY file has them.
 *
 * Used by the writer for its batch and by whoever rebuilds KEY from VAL, so that both make the same bytes.
 */
import assert from 'node:assert'
import { ITEM_WORDS, KIND, packKindAndArg, ROLE, type Role } from './format.ts'

// KEY files are read and written as arrays of words, so the machine must have the byte order of the format.
assert(new Uint8Array(new Uint32Array([1]).buffer)[0] === 1, 'a little-endian machine is needed')

const ALL_ONES = 0xffff_ffff

/** Takes one item of a record: the four words of its key, its kind and its argument (0–255). */
export type EmitItem = (k0: number, k1: number, k2: number, k3: number, kind: number, arg: number) => void

export class ItemBuffer {
  words: Uint32Array<ArrayBuffer>
  /** Words in use. */
  end = 0
  private readonly isStore: boolean

  constructor(role: Role, capacityItems = 1024) {
    this.isStore = role !== ROLE.events
    this.words = new Uint32Array(capacityItems * ITEM_WORDS)
  }

  /** Appends an item. In stores and pages a `deleted` one has an offset of all ones. */
  push(k0: number, k1: number, k2: number, k3: number, kind: number, arg: number, position: number): void {
    const at = this.end
    if (at + ITEM_WORDS > this.words.length) this.grow()
    const words = this.words
    words[at] = k0
    words[at + 1] = k1
    words[at + 2] = k2
    words[at + 3] = k3
    if (this.isStore && kind === KIND.deleted) {
      words[at + 4] = ALL_ONES
      words[at + 5] = ALL_ONES
    } else {
      words[at + 4] = position
      words[at + 5] = packKindAndArg(kind, arg)
    }
    this.end = at + ITEM_WORDS
  }

  /** Appends items made elsewhere, moved to another record; deletions have no position. */
  append(items: Uint32Array, position: number): void {
    for (let at = 0; at < items.length; at += ITEM_WORDS) {
      const to = this.end
      if (to + ITEM_WORDS > this.words.length) this.grow()
      for (let i = 0; i < ITEM_WORDS; i++) this.words[to + i] = items[at + i]
      if (!(this.isStore && isDeletion(items, at))) this.words[to + 4] = position
      this.end = to + ITEM_WORDS
    }
  }

  /** The items from word `start` on, as the bytes of the KEY file: a view. */
  bytes(start = 0): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.words.buffer, start * 4, (this.end - start) * 4)
  }

  private grow(): void {
    const larger = new Uint32Array(this.words.length * 2)
    larger.set(this.words)
    this.words = larger
  }
}

/** Whether the item at word `at` is a deletion (store and pages only). */
export function isDeletion(words: Uint32Array, at: number): boolean {
  return words[at + 4] === ALL_ONES && words[at + 5] === ALL_ONES
}
