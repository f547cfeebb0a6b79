/** A small scripted crawl as the reading commands see it: see test/shard/small-crawl.ts. */
import { layoutOf } from '../../src/crawl/layout.ts'
import { type PastCrawl, readCrawl } from '../../src/crawl/reading.ts'
import { crawl, type SmallCrawl } from '../shard/small-crawl.ts'

/** Crawls, then reads what is on the disk, all of it from the first record. */
export function pastOf(given: SmallCrawl): PastCrawl {
  const { disk } = crawl(given)
  return readCrawl(disk, { ...layoutOf('/'), shard: () => '/crawl' }, { kind: 'end' }, undefined, true)
}
