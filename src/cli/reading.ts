/** What the reading commands have in common: the crawl in DIR, its settings, its status from whoever knows it. */
import { nodeDisk } from '../adapters/disk.ts'
import { readOwner } from '../adapters/lock.ts'
import { CrawlError } from '../base/errors.ts'
import { type Layout, layoutOf } from '../crawl/layout.ts'
import { readGeneration } from '../crawl/manifest.ts'
import { type CrawlIdentity, closeLogs, crawlIn, type PastCrawl, readCrawl, type Until } from '../crawl/reading.ts'
import { seedOf } from '../crawl/seeds.ts'
import { type OpenedShard, openShardLogs } from '../shard/opening.ts'
import { dirOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { usageError } from './errors.ts'
import { replayProgress } from './progress.ts'
import { escapeLine } from './text.ts'

/** The crawl in the directory that was named. Errors: DIR_NO_CRAWL. */
export function crawlNamed(args: Arguments): {
  readonly root: string
  readonly layout: Layout
  readonly crawl: CrawlIdentity
} {
  const root = dirOf(args)
  const layout = layoutOf(root)
  const crawl = crawlIn(nodeDisk, layout)
  if (crawl === undefined) throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${root}.`, { path: root })
  return { root, layout, crawl }
}

/** The URL that was named, as this crawl spells it. Errors: USAGE. */
export function urlNamed(args: Arguments, crawl: CrawlIdentity): string {
  const text = args.positionals.URL[0]
  const seed = seedOf(text, crawl.settings)
  if (seed !== undefined && 'url' in seed) return seed.url
  throw usageError(`${JSON.stringify(text)} is no URL that could be crawled: ${seed?.refused ?? 'it is empty'}.`)
}

/** Replays the crawl in a directory, gives it to `use`, and closes it. */
export function withPast<T>(layout: Layout, use: (past: PastCrawl) => T, until?: Until): T {
  const progress = replayProgress()
  const past = readCrawl(nodeDisk, layout, until, progress.onReplay)
  progress.end()
  // Beside a process at work the end is always in the making.
  if (readOwner(layout.root) === undefined) {
    for (const message of past.messages) process.stderr.write(`crawler: ${escapeLine(message)}\n`)
  }
  try {
    return use(past)
  } finally {
    closeLogs(past.logs)
  }
}

/** Opens the logs of a crawl without replaying them, gives them to `use`, and closes them. */
export function withLogs<T>(layout: Layout, use: (logs: OpenedShard) => T): T {
  const logs = readGeneration(nodeDisk, layout, (stated) =>
    openShardLogs(nodeDisk, layout.shard(0), 'read', undefined, stated),
  )
  try {
    return use(logs)
  } finally {
    closeLogs(logs)
  }
}

/** A regular expression given as an option. Errors: USAGE. */
export function expressionOf(option: string, source: string | undefined): RegExp | undefined {
  if (source === undefined) return undefined
  try {
    return new RegExp(source)
  } catch (error) {
    throw usageError(
      `--${option} is ${JSON.stringify(source)}: ${(error as Error).message}.`,
      'It must be a regular expression.',
    )
  }
}
