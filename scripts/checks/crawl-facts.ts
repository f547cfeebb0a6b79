/**
 * What a crawl's log says of each URL, and what it may have asked the web for: to be compared with the web's own list of
 * requests and with another crawl of the same web.
 */
import { nodeDisk } from '../../src/adapters/disk.ts'
import type { Key } from '../../src/base/md5.ts'
import { keyOf } from '../../src/base/md5.ts'
import type { CrawlEvent } from '../../src/core/event.ts'
import { KIND } from '../../src/core/kind.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { eventOf } from '../../src/shard/link-source.ts'
import { openShardLogs } from '../../src/shard/opening.ts'

export interface UrlFacts {
  url: string
  claims: number
  /** Given back by a death, by a stop. */
  deaths: number
  stops: number
  retries: number
  /** Final outcomes. */
  outcomes: number
  /** Of the last final outcome: `done` or `failed`, status, body. */
  end: string
}

export interface HostFacts {
  /** Times robots.txt was asked for, answered, and given back. */
  asks: number
  answers: number
  voids: number
}

export interface CrawlFacts {
  readonly urls: Map<Key, UrlFacts>
  readonly hosts: Map<Key, HostFacts>
  /** Processes that began, and that ended in order. */
  opens: number
  closes: number
}

/** Reads the whole log. Cost: a scan, everything in memory: for small crawls. */
export function factsOfCrawl(root: string): CrawlFacts {
  const logs = openShardLogs(nodeDisk, layoutOf(root).shard(0), 'read')
  const facts: CrawlFacts = { urls: new Map(), hosts: new Map(), opens: 0, closes: 0 }
  for (const { number } of logs.events.segments) {
    logs.events.scan(number, (record) => {
      if (record.kind !== KIND.segment && record.kind !== KIND.mark) take(facts, eventOf(record, number))
    })
  }
  logs.events.close()
  logs.pages.close()
  return facts
}

function take(facts: CrawlFacts, event: CrawlEvent): void {
  switch (event.kind) {
    case KIND.open:
      facts.opens++
      return
    case KIND.close:
      facts.closes++
      return
    case KIND.claim:
      for (const group of event.groups) {
        for (const key of group.keys) urlOf(facts, key).claims++
        hostOf(facts, group.hostKey).asks += Number(group.asksHttp) + Number(group.asksHttps)
      }
      return
    case KIND.void:
      for (const { links } of event.groups) {
        for (const { key } of links) urlOf(facts, key)[event.isDeath ? 'deaths' : 'stops']++
      }
      for (const key of event.asking) hostOf(facts, key).voids++
      return
    case KIND.robots:
      hostOf(facts, keyOf(event.host)).answers++
      return
    case KIND.retry:
      urlOf(facts, event.attempt.link.key).retries++
      return
    case KIND.fetched:
    case KIND.failed:
      takeEnd(facts, event)
      break
  }
  if ('groups' in event)
    for (const { links } of event.groups) for (const { key, url } of links) urlOf(facts, key).url = url
}

function takeEnd(
  facts: CrawlFacts,
  event: Extract<CrawlEvent, { kind: typeof KIND.fetched | typeof KIND.failed }>,
): void {
  const { attempt, stored } = event
  const found = urlOf(facts, attempt.link.key)
  found.outcomes++
  const content = stored === undefined ? '' : Buffer.from(stored.content, 'latin1').toString('hex')
  found.end = `${attempt.status} ${stored?.bodyBytes ?? 0} ${content}`
}

function urlOf(facts: CrawlFacts, key: Key): UrlFacts {
  let found = facts.urls.get(key)
  if (found === undefined) {
    found = { url: '', claims: 0, deaths: 0, stops: 0, retries: 0, outcomes: 0, end: '' }
    facts.urls.set(key, found)
  }
  return found
}

function hostOf(facts: CrawlFacts, key: Key): HostFacts {
  let found = facts.hosts.get(key)
  if (found === undefined) {
    found = { asks: 0, answers: 0, voids: 0 }
    facts.hosts.set(key, found)
  }
  return found
}
