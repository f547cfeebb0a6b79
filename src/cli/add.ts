/** `add URL…`: more seeds. A running crawl takes them at once; one that is stopped has them pending for `resume`. */
import { CrawlError } from '../base/errors.ts'
import { copySeeds } from '../crawl/seeds.ts'
import { resumeCrawl } from '../crawl/starting.ts'
import type { Status } from '../crawl/status.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog } from './crawl-log.ts'
import { listenerOf } from './crawling.ts'
import { EXIT } from './errors.ts'
import { crawlNamed } from './reading.ts'
import { seedsOf } from './start.ts'
import { count, jsonLine, plural, shellWord } from './text.ts'

interface Added {
  /** New URLs; null where a running crawl took the seeds among all else it does. */
  readonly added: number | null
  readonly pending: number | null
  readonly running: boolean
}

export async function run(args: Arguments): Promise<number> {
  const { root, layout, crawl } = crawlNamed(args)
  const seeds = seedsOf(args, crawl.settings)
  // Durable before anybody is told: whoever opens the crawl next reads what is in DIR/seeds.
  const source = await copySeeds(layout.seeds, seeds)
  const log = createCrawlLog(layout.log)
  log.write('info', 'add', { source })
  const live = (await ask(root, { do: 'add', source })) as Status | undefined
  const added =
    live === undefined ? await addToStopped(root, log) : { added: null, pending: live.pending, running: true }
  if (args.isJson) process.stdout.write(`${jsonLine(added)}\n`)
  else process.stdout.write(`${sentenceOf(added, root)}\n`)
  return EXIT.done
}

async function addToStopped(root: string, log: ReturnType<typeof createCrawlLog>): Promise<Added> {
  try {
    const open = await resumeCrawl(root, {}, listenerOf(log), 'add')
    const before = open.crawl.shard.state.urls.count
    await open.crawl.feedSeeds()
    const { state } = open.crawl.shard
    const added = state.urls.count - before
    const { pending } = await open.crawl.status()
    await open.close()
    return { added, pending, running: false }
  } catch (error) {
    // Somebody has begun to open the crawl meanwhile: that process reads the new seeds itself.
    if (error instanceof CrawlError && error.code === 'DIR_IN_USE') return { added: null, pending: null, running: true }
    throw error
  }
}

function sentenceOf({ added, pending, running }: Added, root: string): string {
  if (running) return `the running crawl has the seeds${pending === null ? '' : `; ${count(pending)} URLs are pending`}`
  return `${plural(added ?? 0, 'new URL')}; \`crawler resume ${shellWord(root)}\` goes on`
}
