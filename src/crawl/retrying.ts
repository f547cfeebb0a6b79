/** `retry`: failed URLs back to pending, chosen by class and by a pattern of the URL. */
import type { Link } from '../core/event.ts'
import { type FailedUrl, failedKeys, failedUrl, REOPENED_PER_RECORD_MAX, reopen } from '../shard/reopening.ts'
import { wake } from '../shard/shard-parts.ts'
import { whenSynced } from '../shard/syncing.ts'
import type { RunningCrawl } from './running.ts'

export interface RetryFilter {
  /** Failure class, `timeout` or a prefix such as `dns`; undefined = all but those of other classes. */
  readonly class?: string | undefined
  /** Regular expression over the URL. */
  readonly match?: string | undefined
}

/** @returns how many URLs are pending again, once that is synced. Cost: a read per failed URL. */
export async function retryIn(crawl: RunningCrawl, filter: RetryFilter): Promise<{ reopened: number }> {
  const { shard } = crawl
  const expression = filter.match === undefined ? undefined : new RegExp(filter.match)
  let links: Link[] = []
  let reopened = 0
  const flush = async (): Promise<void> => {
    if (links.length === 0) return
    reopen(shard, links, shard.clock.now())
    reopened += links.length
    links = []
    wake(shard)
    await nextTurn(crawl)
  }
  for (const key of failedKeys(shard.state)) {
    if (shard.hasEnded) break
    const failed = failedUrl(shard.events, shard.state, key)
    if (failed === undefined || !isWanted(failed, filter.class)) continue
    if (expression !== undefined && !expression.test(failed.link.url)) continue
    links.push(failed.link)
    if (links.length === REOPENED_PER_RECORD_MAX) await flush()
  }
  await flush()
  await new Promise<void>((done) => whenSynced(shard, done))
  return { reopened }
}

/** By its class, or by what is wrong with the host it failed with. */
function isWanted({ reason, hostReason }: FailedUrl, wanted: string | undefined): boolean {
  return isClass(reason ?? '', wanted) || isClass(hostReason ?? '', wanted)
}

/** `dns` names all classes of `dns.…`. */
function isClass(reason: string, wanted: string | undefined): boolean {
  return wanted === undefined || reason === wanted || reason.startsWith(`${wanted}.`)
}

/** The loop goes on between two records: a retry of a million URLs must not stop the crawl. */
function nextTurn(crawl: RunningCrawl): Promise<void> {
  return new Promise((done) => crawl.env.clock.after(0, done))
}
