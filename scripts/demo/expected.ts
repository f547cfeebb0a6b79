/**
 * What a crawl of the demo web must come to: a plain walk over the model, one URL after the other.
 *
 * Holds for the default settings with all of the seeds: scope `host`, robots.txt obeyed, three retries.
 */
import type { Origins } from './page.ts'
import type { Site, Target } from './site.ts'

export interface ExpectedUrl {
  readonly url: string
  readonly state: 'done' | 'failed' | 'refused'
  /** Classes that are right; [] where the state has none. */
  readonly classes: readonly string[]
  /** Requests it takes at the least; 0 where none may be sent. */
  readonly requestsMin: number
}

interface Step {
  readonly target: Target
  /** URLs that redirected here. */
  readonly chain: readonly string[]
}

/** Every URL of the crawl with its final state, in the order of a breadth-first walk. */
export function walk(sites: readonly Site[], origins: Origins): ExpectedUrl[] {
  const seen = new Set<string>()
  const queue: Step[] = []
  const found: ExpectedUrl[] = []
  const meet = (target: Target, chain: readonly string[]) => {
    const url = origins[target.host] + target.path
    if (seen.has(url)) return
    seen.add(url)
    queue.push({ target, chain })
  }
  for (const { host } of sites) meet({ host, path: '/' }, [])
  for (const { target, chain } of queue) {
    const url = origins[target.host] + target.path
    const { links, redirect, ...end } = visit(sites[target.host], target.path, [...chain, url], origins)
    found.push({ url, ...end })
    for (const link of links ?? []) meet(link, [])
    if (redirect !== undefined) meet(redirect, [...chain, url])
  }
  return found
}

type Visit = Omit<ExpectedUrl, 'url'> & { readonly links?: readonly Target[]; readonly redirect?: Target }

const RETRIES = 3

function visit(site: Site, path: string, chain: readonly string[], origins: Origins): Visit {
  if (site.role === 'dead') return { state: 'failed', classes: ['host.bad', 'connect.refused'], requestsMin: 0 }
  if (site.disallow.some((prefix) => path.startsWith(prefix))) {
    return { state: 'refused', classes: ['robots.denied'], requestsMin: 0 }
  }
  const resource = site.resources.get(path)
  const requestsMin = 1 + (resource?.failures ?? 0)
  if (resource === undefined) return { state: 'failed', classes: ['http.status'], requestsMin }
  const { answer, links } = resource
  switch (answer.kind) {
    case 'page':
      return { state: 'done', classes: [], requestsMin, links }
    case 'copy':
      return { state: 'done', classes: [], requestsMin, links: site.resources.get(answer.of)!.links }
    case 'file':
      return { state: 'done', classes: [], requestsMin }
    case 'status':
      return { state: 'failed', classes: ['http.status'], requestsMin: answer.status >= 500 ? 1 + RETRIES : 1 }
    case 'reset':
      return { state: 'failed', classes: ['connect.reset'], requestsMin: 1 + RETRIES }
    case 'redirect':
      if (answer.to === undefined) return { state: 'failed', classes: ['redirect.bad-location'], requestsMin }
      if (chain.includes(origins[answer.to.host] + answer.to.path)) {
        return { state: 'failed', classes: ['redirect.loop'], requestsMin }
      }
      return { state: 'done', classes: [], requestsMin, redirect: answer.to }
  }
}
