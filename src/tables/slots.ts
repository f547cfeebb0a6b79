/**
 * Arrays of slots, as a partition of an OrderedTable has them: allocation, release, and the two sequential passes over
 * them, spread out and pack together. What a slot holds, and the invariants, are told in ordered.ts.
 */

/** Word 0 of an empty slot: above any entry's, and as a signed word too, so that their difference tells which is less. */
export const EMPTY = 0x7fffffff

/** An array of its own outside the JS heap. Cost: one call of the C allocator. */
export function allocate(words: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(new ArrayBuffer(words * 4))
}

/** Gives the memory back now. Left to the garbage collector it would wait for a full collection. */
export function release(words: Uint32Array<ArrayBuffer>): void {
  words.buffer.transfer(0)
}

/**
 * Copies the entries of `from`, which ascend, to their places in `into`, and marks all other slots there empty.
 *
 * @param fromWords  length of what is to be read of `from`; its empty slots are passed over
 * @param scale      home slots of `into` per unit of word 0
 * @returns false if the overflow slots do not suffice (the last must stay empty); `into` is then useless
 * Cost: one pass over both, about 20 ns an entry.
 */
export function spread(
  from: Uint32Array,
  fromWords: number,
  into: Uint32Array,
  stride: number,
  scale: number,
): boolean {
  const last = into.length - stride
  let to = 0
  for (let at = 0; at < fromWords; at += stride) {
    const low = from[at]
    if (low === EMPTY) continue
    const home = ((low * scale) | 0) * stride
    for (; to < home; to += stride) into[to] = EMPTY
    if (to >= last) return false
    for (let i = 0; i < stride; i++) into[to + i] = from[at + i]
    to += stride
  }
  for (; to <= last; to += stride) into[to] = EMPTY
  return true
}

/** Copies the entries of `from` to `into` from word `start` on, without holes. Cost: one pass, about 10 ns an entry. */
export function pack(from: Uint32Array, into: Uint32Array, start: number, stride: number, topBits: number): void {
  let to = start
  for (let at = 0; at < from.length; at += stride) {
    const low = from[at]
    if (low === EMPTY) continue
    into[to] = low | topBits
    for (let i = 1; i < stride; i++) into[to + i] = from[at + i]
    to += stride
  }
}
