/** Where a crawl's files are. On disk since v1; see DIR in the README. */
import { join } from 'node:path'

export interface Layout {
  readonly root: string
  readonly manifest: string
  readonly database: string
  readonly seeds: string
  readonly log: string
  /** There while a fork is being made: what else is there is not whole. */
  readonly forking: string
  /** Directory of a shard: `log/`, `pages/`, `images/` below it. */
  shard(number: number): string
}

export function layoutOf(root: string): Layout {
  return {
    root,
    manifest: join(root, 'MANIFEST'),
    database: join(root, 'crawl.db'),
    seeds: join(root, 'seeds'),
    log: join(root, 'crawler.log'),
    forking: join(root, 'FORKING'),
    shard: (number) => join(root, 'shards', String(number)),
  }
}
