/** What a running crawl answers at its door. */

import { checkUrl } from './checking.ts'
import { listenForControl } from './control.ts'
import type { LiveCompaction } from './live-compacting.ts'
import { retryIn } from './retrying.ts'
import type { RunningCrawl } from './running.ts'
import type { LiveReport } from './status.ts'
import { waitingHosts } from './waiting-hosts.ts'

export function serveControl(
  crawl: RunningCrawl,
  compaction: LiveCompaction,
  path: string,
): Promise<{ close: () => void }> {
  return listenForControl(path, async (request) => {
    switch (request.do) {
      case 'status':
        return crawl.status()
      case 'report':
        return reportOf(crawl)
      case 'add':
        // The source was copied into DIR by whoever asks.
        await crawl.feedSeeds()
        return crawl.status()
      case 'retry':
        return retryIn(crawl, { class: textOf(request.class), match: textOf(request.match) })
      case 'check':
        return checkUrl(crawl.shard.state, crawl.shard.source, String(request.url), crawl.shard.clock.now().shardMs)
      case 'compact':
        return compaction.compact(typeof request.keepMs === 'number' ? request.keepMs : undefined)
      case 'stop':
        crawl.stop('asked to stop')
        return {}
      default:
        throw new Error(`unknown request ${JSON.stringify(request.do)}`)
    }
  })
}

/** What `status` shows to people beside the figures. */
async function reportOf(crawl: RunningCrawl): Promise<LiveReport> {
  const { state, source, clock } = crawl.shard
  const waiting = waitingHosts(state, (host) => source.hostName(host), clock.now().shardMs)
  return { status: await crawl.status(), pages: state.pages, waiting }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
