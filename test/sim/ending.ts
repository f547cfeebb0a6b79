/** The end of a crawl: the URLs and states of the plain walk, and every stored page as it was served. */
import assert from 'node:assert/strict'
import { decodeContent } from '../../src/adapters/content.ts'
import { KIND } from '../../src/core/kind.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { bodyOf, readPage } from '../../src/shard/pages.ts'
import type { Audit } from './audit.ts'
import type { UrlEntry } from './audit-entries.ts'
import type { SimulatedDisk } from './disk.ts'
import { DIRECTORY } from './run.ts'
import type { Servers } from './server.ts'
import type { WebPlan } from './web.ts'

/** A crawl that may have so many pages has exactly so many, or all there are. */
export function checkLimit(audit: Audit, expected: ReadonlyMap<string, readonly string[]>, pagesMax: number): void {
  let pages = 0
  for (const host of audit.hosts.values()) pages += host.pages
  assert.ok(pages <= pagesMax, `${pages} pages, and ${pagesMax} were allowed`)
  const known = new Set([...audit.urls.values()].map(({ url }) => url))
  const isAll = [...expected.keys()].every((url) => known.has(url))
  assert.ok(pages === pagesMax || isAll, `${pages} pages, ${pagesMax} were allowed, and there are more`)
}

/** @param isWhole no limit ended it early */
export function checkEnd(
  disk: SimulatedDisk,
  plan: WebPlan,
  audit: Audit,
  expected: ReadonlyMap<string, readonly string[]>,
  servers: Servers,
  isWhole: boolean,
): void {
  const found = new Map([...audit.urls.values()].map((entry) => [entry.url, entry]))
  const lost = [...expected.keys()].filter((url) => !found.has(url))
  if (isWhole) assert.deepEqual(lost, [], 'URLs are lost')
  for (const url of found.keys()) assert.ok(expected.has(url), `${url} is no URL of the crawl`)
  for (const [url, entry] of found) {
    if (!isWhole && (entry.state === 'pending' || entry.state === 'processing')) continue
    const end = entry.why === '' ? entry.state : `${entry.state} ${entry.why}`
    // In flight at five deaths, twice of them alone: the audit has counted.
    if (end === 'failed poison' && entry.deaths === 4) continue
    assert.ok(expected.get(url)!.includes(end), `${url} ended as ${end}, not as ${expected.get(url)!.join(' or ')}`)
  }
  checkPages(disk, plan, [...found.values()], servers)
}

function checkPages(disk: SimulatedDisk, plan: WebPlan, entries: readonly UrlEntry[], servers: Servers): void {
  const opened = openShardLogs(disk, DIRECTORY, 'read')
  for (const { url, lastOutcome: event } of entries) {
    if (event?.kind !== KIND.fetched && event?.kind !== KIND.failed) continue
    if (event.stored === undefined) continue
    const page = readPage(opened.pages, event.stored.page, decodeContent)
    assert.ok(page, `the page of ${url} is missing`)
    const { status } = event.attempt
    assert.equal(page.status, status, `status of the page of ${url}`)
    const planned = plan.pages.get(url)!
    if (planned.status !== status) continue
    const body = bodyOf(opened.pages, page, decodeContent)
    assert.deepEqual(
      Buffer.from(body),
      Buffer.from(servers.bodyOf(planned)),
      `the stored page of ${url} is the one served`,
    )
  }
  opened.events.close()
  opened.pages.close()
}
