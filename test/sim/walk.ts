/**
 * What a crawl of a generated web must come to, by a plain walk: Sets and Maps, and nothing of the product.
 */
import { type HostPlan, type PagePlan, REDIRECTS_MAX, type WebPlan } from './web.ts'

/** As much of the settings as decides what belongs to the crawl. */
export interface Rules {
  readonly scope: 'any' | 'host' | 'domain' | 'prefix'
  readonly depthMax: number | null
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  readonly robots: boolean
}

interface Visit {
  readonly url: string
  readonly depth: number
  readonly isSeed: boolean
  /** The URLs that redirected here. */
  readonly chain: readonly string[]
}

/** @returns by URL of the crawl, the ends it may come to: `done`, `failed CLASS`, `refused REASON` */
export function walk(plan: WebPlan, rules: Rules): Map<string, readonly string[]> {
  const open = new Set<string>()
  const ends = new Map<string, readonly string[]>()
  for (const url of plan.seeds.flat()) openScope(open, url)
  // Breadth first, redirects before links: so each URL is met at its least depth first.
  let layer: Visit[] = plan.seeds.flat().map((url) => ({ url, depth: 0, isSeed: true, chain: [] }))
  for (let depth = 0; layer.length > 0; depth++) {
    const next: Visit[] = []
    for (const visit of layer) {
      if (ends.has(visit.url) || !isAdmitted(rules, open, visit)) continue
      const page = plan.pages.get(visit.url)!
      ends.set(visit.url, endsOf(plan, rules, page, visit))
      for (const found of leadsOf(plan, page, visit, ends.get(visit.url)!)) {
        if (found.isSeed) openScope(open, found.url)
        if (found.depth === depth) layer.push(found)
        else next.push(found)
      }
    }
    layer = next
  }
  return ends
}

function openScope(open: Set<string>, url: string): void {
  const { host, hostname, pathname } = new URL(url)
  open.add(`host ${host}`)
  open.add(`domain ${domainOf(hostname)}`)
  open.add(`prefix ${host}${pathname.slice(0, pathname.lastIndexOf('/') + 1)}`)
}

function domainOf(hostname: string): string {
  return hostname.split('.').slice(-2).join('.')
}

function isAdmitted(rules: Rules, open: ReadonlySet<string>, { url, depth, isSeed }: Visit): boolean {
  if (rules.exclude.some((source) => new RegExp(source).test(url))) return false
  if (isSeed) return true
  if (rules.depthMax !== null && depth > rules.depthMax) return false
  if (rules.include.length > 0 && !rules.include.some((source) => new RegExp(source).test(url))) return false
  return isInScope(rules, open, url)
}

function isInScope(rules: Rules, open: ReadonlySet<string>, url: string): boolean {
  const { host, hostname, pathname } = new URL(url)
  if (rules.scope === 'any') return true
  if (rules.scope === 'host') return open.has(`host ${host}`)
  if (rules.scope === 'domain') return open.has(`domain ${domainOf(hostname)}`)
  return [...pathname.matchAll(/\//g)].some(({ index }) => open.has(`prefix ${host}${pathname.slice(0, index + 1)}`))
}

const NOBODY_THERE = ['failed host.bad', 'failed connect.refused', 'failed timeout', 'refused robots.unreachable']

function endsOf(plan: WebPlan, rules: Rules, page: PagePlan, visit: Visit): readonly string[] {
  const host = plan.hosts.get(page.host)!
  if (host.dns !== 'fine') return ['failed host.bad']
  if (host.addresses[0].startsWith('10.')) return ['refused address.forbidden']
  if (host.dead !== undefined) return NOBODY_THERE
  const refusal = rules.robots ? robotsRefusal(host, page) : undefined
  if (refusal !== undefined) return [refusal]
  if (page.isKiller) return ['failed poison']
  if (page.status === 0) return [/^\d/.test(page.failing) ? 'failed http.status' : `failed ${page.failing}`]
  if (page.status >= 400) return ['failed http.status']
  return page.status >= 300 ? [endOfRedirect(page, visit)] : ['done']
}

function robotsRefusal({ robots }: HostPlan, page: PagePlan): string | undefined {
  if (robots.kind === 'unreachable') return 'refused robots.unreachable'
  if (robots.kind === 'none' || robots.kind === 'loop') return undefined
  const { pathname, search } = new URL(page.url)
  return robots.disallow.some((path) => (pathname + search).startsWith(path)) ? 'refused robots.denied' : undefined
}

function endOfRedirect(page: PagePlan, visit: Visit): string {
  const chain = [...visit.chain, visit.url]
  if (page.location === '') return 'failed redirect.bad-location'
  if (chain.includes(page.location)) return 'failed redirect.loop'
  return chain.length > REDIRECTS_MAX ? 'failed redirect.limit' : 'done'
}

/** What a page leads to, if it ends well. */
function leadsOf(plan: WebPlan, page: PagePlan, visit: Visit, ends: readonly string[]): Visit[] {
  if (ends[0] !== 'done') return []
  const { depth, isSeed } = visit
  if (page.status >= 300) return [{ url: page.location, depth, isSeed, chain: [...visit.chain, visit.url] }]
  const links = plan.pages.get(page.bodyOf)!.links.filter((url) => url !== page.url)
  return links.map((url) => ({ url, depth: depth + 1, isSeed: false, chain: [] }))
}
