/** Whether a crawl that died many times came to what an undisturbed one comes to, and asked for nothing without need. */
import { keyOf } from '../../src/base/md5.ts'
import type { ExpectedUrl } from '../demo/expected.ts'
import type { CrawlFacts } from './crawl-facts.ts'
import { runProgram } from './program.ts'

export interface UrlLine {
  readonly url: string
  readonly state: string
  readonly class: string
  readonly status: number
}

/** `crawler urls --json`, by URL. */
export async function urlsOf(root: string): Promise<Map<string, UrlLine>> {
  const { stdout, code, stderr } = await runProgram(['urls', root, '--json'])
  if (code !== 0) throw new Error(`crawler urls: ${code} ${stderr}`)
  const lines = stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => JSON.parse(line) as UrlLine).map((line) => [line.url, line]))
}

/** The final states against the model of the web. */
export function compareWithModel(urls: ReadonlyMap<string, UrlLine>, expected: readonly ExpectedUrl[]): string[] {
  const differences: string[] = []
  for (const { url, state, classes } of expected) {
    const found = urls.get(url)
    if (found === undefined) differences.push(`${url} is missing`)
    else if (found.state !== state) differences.push(`${url} is ${found.state} (${found.class}), not ${state}`)
    else if (classes.length > 0 && !classes.includes(found.class)) differences.push(`${url} is ${found.class}`)
  }
  const wanted = new Set(expected.map(({ url }) => url))
  for (const url of urls.keys()) if (!wanted.has(url)) differences.push(`${url} is not of this web`)
  return differences
}

/**
 * States, answers and bodies against those of an undisturbed crawl of the same web. Not depths: without a limit on them
 * a shorter way found later counts for its page, not for all that was found from there, so they depend on the order.
 */
export function compareWithUndisturbed(
  found: { readonly urls: ReadonlyMap<string, UrlLine>; readonly facts: CrawlFacts },
  wanted: { readonly urls: ReadonlyMap<string, UrlLine>; readonly facts: CrawlFacts },
): string[] {
  const differences: string[] = []
  for (const [url, line] of wanted.urls) {
    const other = found.urls.get(url)
    for (const field of ['state', 'status'] as const) {
      // Of a dead host the first URL asked for has a class of its own, and which is first is chance.
      if (other?.[field] !== line[field]) differences.push(`${url}: ${field} ${other?.[field]}, not ${line[field]}`)
    }
    const key = keyOf(url)
    const end = found.facts.urls.get(key)?.end
    const isBodyless = line.status === 0 || line.state === 'refused'
    if (!isBodyless && end !== wanted.facts.urls.get(key)?.end) differences.push(`${url}: answered ${end}`)
  }
  if (found.urls.size !== wanted.urls.size) differences.push(`${found.urls.size} URLs, not ${wanted.urls.size}`)
  return differences
}

/** A request as the web noted it. */
export interface NotedRequest {
  /** Name and port, as in a URL. */
  readonly host: string
  readonly path: string
  /** 0 where the connection was reset instead. */
  readonly status: number
}

export interface Requests {
  readonly total: number
  /** Beyond the first of a URL: after a retry, after a death or a stop that caught it in flight, after a reset. */
  readonly again: number
  readonly differences: readonly string[]
}

/**
 * Requests against claims: none without one, and no URL claimed again but after a retry, or a death or stop at which it
 * was in flight. A server that resets a connection may be asked once more for the same claim: the client cannot tell
 * whether it was closed before (RFC 9112, 9.3.1).
 */
export function compareRequests(requests: readonly NotedRequest[], facts: CrawlFacts): Requests {
  const differences: string[] = []
  const byUrl = Map.groupBy(requests, ({ host, path }) => `http://${host}${path}`)
  let again = 0
  for (const [url, asked] of byUrl) {
    const resets = asked.filter(({ status }) => status === 0).length
    const allowed = url.endsWith('/robots.txt')
      ? asksOf(facts, asked[0].host)
      : (facts.urls.get(keyOf(url))?.claims ?? 0)
    if (asked.length > allowed + resets) differences.push(`${url}: ${asked.length} requests, ${allowed} claims`)
    again += asked.length - 1
  }
  for (const { url, claims, deaths, stops, retries, outcomes } of facts.urls.values()) {
    if (claims !== deaths + stops + retries + outcomes)
      differences.push(`${url}: ${claims} claims, ${outcomes} outcomes`)
    if (outcomes > 1) differences.push(`${url}: ${outcomes} final outcomes`)
  }
  return { total: requests.length, again, differences }
}

function asksOf(facts: CrawlFacts, host: string): number {
  return facts.hosts.get(keyOf(host))?.asks ?? 0
}
