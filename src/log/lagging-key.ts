/**
 * Whether the KEY file of an active segment contradicts its VAL, or is only as a death leaves it: short, or, after a loss
 * of power, with blocks that are zero from some byte on. It is written after VAL, never synced, and made anew when the
 * log is next opened.
 */

/** What file systems keep or lose as a whole. */
const BLOCK_BYTES = 4096

/**
 * @param found     the file's bytes
 * @param expected  what VAL makes of it
 * @returns true where bytes differ and are not the zeros of a lost end of a block. Longer or shorter is no contradiction.
 */
export function contradictsVal(found: Uint8Array, expected: Uint8Array): boolean {
  const length = Math.min(found.length, expected.length)
  for (let at = 0; at < length; at++) {
    if (found[at] === expected[at]) continue
    const blockEnd = Math.min(length, (Math.floor(at / BLOCK_BYTES) + 1) * BLOCK_BYTES)
    if (found.subarray(at, blockEnd).some((byte) => byte !== 0)) return true
    at = blockEnd - 1
  }
  return false
}
