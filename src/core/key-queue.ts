/** A first-in-first-out queue of 16-byte keys in one growing ring, off-heap. */
export class KeyQueue {
  #words = new Uint32Array(64)
  #head = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  push(k0: number, k1: number, k2: number, k3: number): void {
    if ((this.#count + 1) * 4 > this.#words.length) this.#grow()
    const at = ((this.#head + this.#count) * 4) % this.#words.length
    this.#words[at] = k0
    this.#words[at + 1] = k1
    this.#words[at + 2] = k2
    this.#words[at + 3] = k3
    this.#count++
  }

  /** Word `i` of the oldest key. */
  firstWord(i: number): number {
    return this.#words[((this.#head * 4) % this.#words.length) + i]!
  }

  shift(): void {
    this.#head = (this.#head + 1) % (this.#words.length / 4)
    this.#count--
  }

  /** Calls `visit` with each key, oldest first. */
  forEach(visit: (k0: number, k1: number, k2: number, k3: number) => void): void {
    const words = this.#words
    for (let i = 0; i < this.#count; i++) {
      const at = ((this.#head + i) * 4) % words.length
      visit(words[at], words[at + 1], words[at + 2], words[at + 3])
    }
  }

  #grow(): void {
    const words = new Uint32Array(this.#words.length * 2)
    const slots = this.#words.length / 4
    for (let i = 0; i < this.#count; i++) {
      const from = ((this.#head + i) % slots) * 4
      words.set(this.#words.subarray(from, from + 4), i * 4)
    }
    this.#words = words
    this.#head = 0
  }
}
