/** `resume [DIR]`: replays and goes on; what may change can be given again. */
import { existsSync } from 'node:fs'
import { nodeDisk } from '../adapters/disk.ts'
import { layoutOf } from '../crawl/layout.ts'
import { crawlIn } from '../crawl/reading.ts'
import { resumeCrawl } from '../crawl/starting.ts'
import { isComplete } from '../crawl/status.ts'
import { VERSION } from '../crawl/version.ts'
import { dirOf } from './arguments.ts'
import { chosenSettings, refuseFixed } from './choosing.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog, shownSettings } from './crawl-log.ts'
import { crawlToItsEnd, listenerOf, openInForeground } from './crawling.ts'
import { replayProgress } from './progress.ts'

export async function run(args: Arguments): Promise<number> {
  const root = dirOf(args)
  const changes = chosenSettings(args)
  if (Object.keys(changes).length > 0 && existsSync(root)) {
    const current = crawlIn(nodeDisk, layoutOf(root))
    if (current !== undefined) refuseFixed(current.settings, changes)
  }
  const log = createCrawlLog(layoutOf(root).log)
  const progress = replayProgress()
  const listener = listenerOf(log, progress.onReplay)
  const open = await openInForeground(() => resumeCrawl(root, changes, listener))
  progress.end()
  const { state } = open.crawl.shard
  log.write('info', 'resume', { version: VERSION, dir: root, settings: shownSettings(state.settings) })
  return crawlToItsEnd({ open, args, root, log, listener, act: isComplete(state) ? 'resume-finished' : 'resume' })
}
