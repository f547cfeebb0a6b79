/** How pages are compressed when their segment is rewritten: with zstd, at a level that the crawl hardly notices. */
import { constants, zstdCompressSync } from 'node:zlib'

/**
 * On pages of manuals level 1 makes 5.1 of one at 280 MB/s, level 3 5.3 at 190, level 6 5.8 at 67 (scripts/bench/seal.ts):
 * the crawl wants the time more than the disk wants the space.
 */
const LEVEL = 1
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }

/** One zstd frame, of memory of its own. */
export function compressPage(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, OPTIONS)
}
