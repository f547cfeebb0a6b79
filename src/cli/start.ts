/** `start URL…`: creates DIR and crawls until nothing is left. */
import { accessSync, constants } from 'node:fs'
import { resolveSettings, type Settings } from '../core/settings.ts'
import { layoutOf } from '../crawl/layout.ts'
import { type SeedInput, seedOf } from '../crawl/seeds.ts'
import { startCrawl } from '../crawl/starting.ts'
import { VERSION } from '../crawl/version.ts'
import { dirOf, textsOf } from './arguments.ts'
import { chosenSettings } from './choosing.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog, shownSettings } from './crawl-log.ts'
import { crawlToItsEnd, listenerOf, openInForeground } from './crawling.ts'
import { usageError } from './errors.ts'

export async function run(args: Arguments): Promise<number> {
  const root = dirOf(args)
  const settings = resolveSettings(chosenSettings(args))
  if (settings.shards !== 1) throw usageError('--shards must be 1: this version has no other.', 'Leave it out.')
  const seeds = seedsOf(args, settings)
  const log = createCrawlLog(layoutOf(root).log)
  const listener = listenerOf(log)
  const open = await openInForeground(() => startCrawl(root, settings, seeds, listener))
  log.write('info', 'start', { version: VERSION, dir: root, settings: shownSettings(settings) })
  return crawlToItsEnd({ open, args, root, log, listener, act: 'start' })
}

/**
 * The seeds of the command line: URLs, files, standard input. Shared with `add`.
 * Errors: USAGE where there are none, a URL is none, or a file cannot be read.
 */
export function seedsOf(args: Arguments, settings: Settings): SeedInput {
  const urls = args.positionals.URL ?? []
  const sources = textsOf(args, 'seeds')
  if (urls.length + sources.length === 0)
    throw usageError('There is nothing to begin with: name a URL, or --seeds FILE.')
  for (const url of urls) {
    const seed = seedOf(url, settings)
    if (seed === undefined || 'refused' in seed) {
      throw usageError(
        `${JSON.stringify(url)} cannot be a seed: ${seed?.refused ?? 'it is empty'}.`,
        'Name a URL such as https://example.org/.',
      )
    }
  }
  const files = sources.filter((source) => source !== '-')
  for (const file of files) mustBeReadable(file)
  return { urls, files, stream: sources.includes('-') ? process.stdin : undefined }
}

function mustBeReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw usageError(
      `The seeds in ${file} cannot be read: ${(error as Error).message}`,
      'Check the path after --seeds.',
    )
  }
}
