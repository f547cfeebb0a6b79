/** A small scripted crawl as the reading commands see it: see test/shard/small-crawl.ts. */
import { layoutOf } from '../../src/crawl/layout.ts'
import { type PastCrawl, readCrawl, type Until } from '../../src/crawl/reading.ts'
import { crawl, type SmallCrawl } from '../shard/small-crawl.ts'

/** Crawls; what it gives reads the disk, as of an instant, all from the first record. */
export function pastsOf(given: SmallCrawl): (until: Until) => PastCrawl {
  const { disk } = crawl(given)
  return (until) => readCrawl(disk, { ...layoutOf('/'), shard: () => '/crawl' }, until, undefined, true)
}

/** Crawls, then reads what is on the disk. */
export function pastOf(given: SmallCrawl): PastCrawl {
  return pastsOf(given)({ kind: 'end' })
}
