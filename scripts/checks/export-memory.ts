/**
 * Whether the memory of an export stays the same however much it exports.
 *
 *     node scripts/checks/export-memory.ts [--pages N] [--page-bytes N]
 *
 * A scripted crawl on a disk in memory, every page of other bytes, is exported to nowhere. Each time a twentieth is done,
 * garbage is collected and what is left in use is noted; the second half may not need more than the first.
 */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { decodeContent } from '../../src/adapters/content.ts'
import { forEachRow } from '../../src/crawl/export.ts'
import type { PastCrawl } from '../../src/crawl/reading.ts'
import { pastOf } from '../../test/crawl/small-past.ts'
import type { SmallCrawl } from '../../test/shard/small-crawl.ts'

const MIB = 2 ** 20
/** Differences below are noise of the collector. */
const NOISE_BYTES = 4 * MIB
const LINKS_PER_PAGE = 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Page i links to the twenty that follow it in a tree. */
function treeOf(pageCount: number, pageBytes: number): SmallCrawl['pages'] {
  return new Proxy({} as SmallCrawl['pages'], {
    get: (_, url) => {
      const i = Number(String(url).slice('http://a.test/'.length) || 0)
      const links = Array.from({ length: LINKS_PER_PAGE }, (_, k) => i * LINKS_PER_PAGE + k + 1)
      const hrefs = links.filter((to) => to < pageCount).map((to) => `<a href="/${to}">x</a>`)
      return { body: `${hrefs.join('')}<p>${`page ${i} `.repeat(Math.ceil(pageBytes / 8))}` }
    },
  })
}

function usedBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Bytes in use at each twentieth of an export. */
function measure(past: PastCrawl): number[] {
  const step = Math.ceil(past.state.urls.count / 20)
  const used: number[] = []
  let rows = 0
  let characters = 0
  const options = { settings: past.state.settings, decode: decodeContent, filter: {}, body: 'auto' } as const
  forEachRow(past, options, (row) => {
    characters += JSON.stringify(row).length
    if (++rows % step === 0) used.push(usedBytes())
  })
  console.log(`${rows} rows, ${(characters / MIB).toFixed(1)} MiB`)
  return used
}

function main(): void {
  const { values } = parseArgs({
    options: { pages: { type: 'string', default: '10000' }, 'page-bytes': { type: 'string', default: '8000' } },
  })
  const pages = treeOf(Number(values.pages), Number(values['page-bytes']))
  const past = pastOf({
    pages,
    seeds: ['http://a.test/'],
    settings: { perHost: 16 },
    untilMs: Number.POSITIVE_INFINITY,
  })
  const used = measure(past)
  console.log(used.map((bytes) => (bytes / MIB).toFixed(1)).join(' '))
  const half = Math.floor(used.length / 2)
  const grown = Math.max(...used.slice(half)) - Math.max(...used.slice(0, half))
  console.log(`second half over first: ${(grown / MIB).toFixed(1)} MiB`)
  process.exitCode = grown > NOISE_BYTES ? 1 : 0
}

main()
