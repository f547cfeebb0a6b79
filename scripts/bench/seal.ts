/**
 * How fast and how small pages become by level of zstd, each compressed by itself as a sealed segment's are.
 *
 *   node scripts/bench/seal.ts FOLDER…      the .html files below them, every tenth
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'

const ROUNDS = 3
const LEVELS = [-5, 1, 2, 3, 4, 6, 9]

const files = process.argv
  .slice(2)
  .flatMap((folder) => globSync('**/*.html', { cwd: folder }).map((f) => join(folder, f)))
const pages = files.filter((_, i) => i % 10 === 0).map((file) => readFileSync(file))
const bytes = pages.reduce((sum, page) => sum + page.length, 0)
console.log(`${pages.length} pages, ${(bytes / 1e6).toFixed(1)} MB`)
for (const level of LEVELS) {
  const options = { params: { [constants.ZSTD_c_compressionLevel]: level } }
  let bestMs = Number.POSITIVE_INFINITY
  let compressed = 0
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    compressed = pages.reduce((sum, page) => sum + zstdCompressSync(page, options).length, 0)
    const { user, system } = process.cpuUsage(before)
    bestMs = Math.min(bestMs, (user + system) / 1000)
  }
  const speed = `${Math.round(bytes / bestMs / 1000)} MB/s, ${Math.round((bestMs * 1000) / pages.length)} µs a page`
  console.log(`level ${level}: ${(bytes / compressed).toFixed(2)} of one, ${speed} (CPU)`)
}
