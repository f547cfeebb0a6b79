/**
 * The generated web of a seed, as data: hosts, their troubles, and what each URL answers. `server.ts` plays it,
 * `walk.ts` says what a crawl of it must come to.
 *
 * Invariant: what a URL ends as does not depend on when it is asked for. So a chain of redirects is entered at its first
 * URL only, and a host with troubles of its own has no pages with theirs.
 */
import type { TroubleClass } from '../../src/env/web.ts'
import type { Chance } from './chance.ts'

/** How a request fails that will go well later, or never. */
export type Failing = TroubleClass | '500' | '503' | '429'

export interface HostPlan {
  /** `URL.host`: with the port, where it is not the default one. */
  readonly host: string
  readonly hostname: string
  readonly schemes: ReadonlyArray<'http' | 'https'>
  readonly addresses: readonly string[]
  /** The first address accepts no connection, the second does. */
  readonly isFirstDead: boolean
  /** What the name server says after `dnsFailures` times saying nothing. */
  readonly dns: 'fine' | 'notfound' | 'temporary'
  readonly dnsFailures: number
  /** Look-ups that get no answer once the crawl knows that the host itself does. */
  readonly dnsOutage: number
  readonly ttlMs: number
  /** No address ever accepts a connection. */
  readonly dead: 'refused' | 'silent' | undefined
  /** Connections refused from request `from` on, `count` of them. */
  readonly outage: { readonly from: number; readonly count: number }
  readonly robots: RobotsPlan
}

export interface RobotsPlan {
  readonly kind: 'none' | 'rules' | 'unreachable' | 'moved' | 'elsewhere' | 'loop'
  /** Requests that fail before it is as said. */
  readonly failing: Failing
  readonly failures: number
  readonly disallow: readonly string[]
  readonly crawlDelaySeconds: number
  /** Host that has the file, where it is elsewhere. */
  readonly at: string
}

export interface PagePlan {
  readonly url: string
  readonly host: string
  /** Requests that fail before it answers as said. */
  failing: Failing
  failures: number
  /** 0 = it fails for ever with `failing`. */
  status: number
  /** Where a redirect leads; '' = nowhere. */
  location: string
  /** Links of its HTML, canonical, in order. */
  links: string[]
  /** Its bytes are those of a page of this URL. */
  bodyOf: string
  form: 'html' | 'gzip' | 'truncated' | 'text' | 'empty'
  fillerBytes: number
  /** Asking for it kills the process that asks. */
  isKiller: boolean
}

export interface WebPlan {
  readonly hosts: ReadonlyMap<string, HostPlan>
  readonly pages: ReadonlyMap<string, PagePlan>
  /** Seeds by batch. The first holds one of each host that the seeds open. */
  readonly seeds: ReadonlyArray<readonly string[]>
}

/** Nobody leads to this host but a seed that redirects to it. */
const ISLAND = 'island.test'

const HOSTS_MIN = 20
/** Pages of a web, at least, unless the crawl of it would have too few. */
export const PAGES_MIN = 210
/** Redirects that a crawl of these webs follows in a chain: `redirectsMax`. */
export const REDIRECTS_MAX = 5
/** Failures after which everything that recovers has recovered: `retriesMax` is never less. */
const FAILURES_MAX = 2

/** A web of at least so many pages, 404s and redirects among them. */
export function generateWeb(chance: Chance, pagesMin = PAGES_MIN): WebPlan {
  const hosts = new Map<string, HostPlan>()
  const count = chance.between(HOSTS_MIN, HOSTS_MIN + 8)
  for (let i = 0; i < count; i++) {
    const host = generateHost(chance, i, [...hosts.keys()])
    hosts.set(host.host, host)
  }
  hosts.set(ISLAND, {
    ...hosts.get([...hosts.keys()][0])!,
    host: ISLAND,
    hostname: ISLAND,
    addresses: ['93.184.215.1'],
    schemes: ['https'],
  })
  const builder = new PageBuilder(chance, hosts)
  builder.build(pagesMin)
  return { hosts, pages: builder.pages, seeds: chooseSeeds(chance, builder) }
}

/** Troubles of the first hosts, so that every web has all of them; the rest are well. */
type HostTrouble = 'dead' | 'silent' | 'notfound' | 'mute' | 'slow-dns' | 'shy' | 'outage' | 'half' | 'private' | 'none'
const TROUBLES: readonly HostTrouble[] = [
  'none',
  'dead',
  'silent',
  'notfound',
  'mute',
  'slow-dns',
  'shy',
  'outage',
  'half',
  'private',
]

function generateHost(chance: Chance, i: number, others: readonly string[]): HostPlan {
  const trouble = i < TROUBLES.length ? TROUBLES[i] : 'none'
  const hostname = chance.percent(30) ? `www.h${i}.test` : `h${i}.test`
  const schemes = chance.pick([['http'], ['https'], ['https'], ['http', 'https']] as const)
  const host = schemes.length === 1 && chance.percent(15) ? `${hostname}:8${i + 100}` : hostname
  const address = trouble === 'private' ? `10.0.0.${i}` : `93.184.216.${i + 1}`
  return {
    host,
    hostname,
    schemes,
    addresses:
      trouble === 'half' || (trouble !== 'private' && chance.percent(20))
        ? [address, `2001:db8:${i + 1}::1`.replace('db8', '4860')]
        : [address],
    isFirstDead: trouble === 'half',
    dns: trouble === 'notfound' ? 'notfound' : trouble === 'mute' ? 'temporary' : 'fine',
    dnsFailures: trouble === 'slow-dns' ? chance.between(1, FAILURES_MAX) : 0,
    dnsOutage: trouble === 'none' && i !== TROUBLES.length + 1 && chance.percent(30) ? chance.between(1, 6) : 0,
    ttlMs: chance.pick([5000, 60_000, 3_600_000]),
    dead: trouble === 'dead' ? 'refused' : trouble === 'silent' ? 'silent' : undefined,
    outage:
      trouble === 'shy'
        ? { from: 0, count: chance.between(1, FAILURES_MAX) }
        : { from: chance.between(3, 8), count: trouble === 'outage' ? FAILURES_MAX : 0 },
    robots: generateRobots(chance, i, others),
  }
}

function generateRobots(chance: Chance, i: number, others: readonly string[]): RobotsPlan {
  const isTroubled = i < TROUBLES.length
  const kinds = ['none', 'none', 'rules', 'rules', 'rules', 'moved', 'elsewhere', 'loop', 'unreachable'] as const
  // Of the hosts without troubles of their own the first one has a robots.txt that never comes.
  const kind = isTroubled
    ? chance.pick(['none', 'rules'] as const)
    : i === TROUBLES.length
      ? 'unreachable'
      : chance.pick(kinds.slice(0, 8))
  return {
    kind: kind === 'elsewhere' && i < TROUBLES.length + 2 ? 'moved' : kind,
    failing: chance.pick(['500', '503', '429', 'timeout', 'connect.reset'] as const),
    failures: !isTroubled && chance.percent(30) ? chance.between(1, FAILURES_MAX) : 0,
    disallow: chance.percent(60) ? ['/private'] : ['/private', '/p3'],
    crawlDelaySeconds: chance.percent(25) ? chance.between(1, 3) : 0,
    at: others[TROUBLES.length + 1] ?? '',
  }
}

class PageBuilder {
  readonly pages = new Map<string, PagePlan>()
  /** Pages of a host that answer 200 with links in the end. */
  readonly linking = new Map<string, PagePlan[]>()
  /** Most URLs are linked from one page only: what is lost there is lost. */
  readonly isSparse: boolean
  readonly chance: Chance
  readonly hosts: ReadonlyMap<string, HostPlan>
  #numbers = 0

  constructor(chance: Chance, hosts: ReadonlyMap<string, HostPlan>) {
    this.chance = chance
    this.hosts = hosts
    this.isSparse = chance.percent(50)
  }

  build(pagesMin: number): void {
    const { chance } = this
    const all = [...this.hosts.values()]
    for (const [i, host] of all.entries()) {
      this.#addSite(host, i < TROUBLES.length && i > 0 ? chance.between(3, 6) : chance.between(8, 14))
    }
    while (this.pages.size < pagesMin) this.#addPage(chance.pick(all))
    this.#addChains()
    if (chance.percent(25)) this.#add(all[0], '/killer').isKiller = true
    Object.assign(this.#add(all[0], '/moved'), { status: 301, location: this.#island().url })
    this.#linkAll(all)
  }

  #addSite(host: HostPlan, count: number): void {
    this.#add(host, '/')
    this.#add(host, '/private/a')
    for (let i = 2; i < count; i++) this.#addPage(host)
  }

  #addPage(host: HostPlan): PagePlan {
    const { chance } = this
    const number = ++this.#numbers
    const path = chance.pick([
      `/p${number}`,
      `/dir/p${number}.html`,
      `/q?x=${number}`,
      `/dir/deep/p${number}`,
      `/img/p${number}.png`,
    ])
    const page = this.#add(host, path)
    const isTroubled = host.outage.count > 0 || host.dead !== undefined || host.dnsFailures > 0
    if (chance.percent(12)) page.status = chance.pick([404, 410, 403, 501])
    else if (chance.percent(10)) Object.assign(page, { status: chance.pick([301, 302, 307, 308]), location: '?' })
    else if (!isTroubled && chance.percent(8)) page.status = 0
    if (!isTroubled && chance.percent(page.status === 0 ? 100 : 14)) this.#fail(page)
    if (page.status !== 200) return page
    if (chance.percent(25)) page.form = chance.pick(['gzip', 'truncated', 'text', 'empty'] as const)
    if (chance.percent(5)) page.fillerBytes = 20_000
    return page
  }

  #fail(page: PagePlan): void {
    const { chance } = this
    const classes: Failing[] = ['500', '503', '429', 'timeout', 'connect.reset', 'http.malformed']
    if (page.status === 0 && page.url.startsWith('https')) classes.push('tls.invalid')
    page.failing = chance.pick(classes)
    page.failures = chance.between(1, FAILURES_MAX)
  }

  #add(host: HostPlan, path: string): PagePlan {
    const { chance } = this
    const url = `${chance.pick(host.schemes)}://${host.host}${path}`
    const page: PagePlan = {
      url,
      host: host.host,
      failing: '500',
      failures: 0,
      status: 200,
      location: '',
      links: [],
      bodyOf: url,
      form: 'html',
      fillerBytes: chance.between(100, 2500),
      isKiller: false,
    }
    this.pages.set(url, page)
    return page
  }

  /** A chain within the limit, one beyond it, a loop of two, one of one, and a redirect to nowhere. */
  #addChains(): void {
    const { chance } = this
    const host = chance.pick([...this.hosts.values()].slice(TROUBLES.length + 1))
    const chain = (name: string, length: number): PagePlan[] =>
      Array.from({ length }, (_, i) => Object.assign(this.#add(host, `/${name}/${i}`), { status: 302 }))
    const join = (pages: readonly PagePlan[], end: string): void => {
      pages.forEach((page, i) => {
        page.location = pages[i + 1]?.url ?? end
      })
    }
    join(chain('short', REDIRECTS_MAX), this.#add(host, '/short-end').url)
    join(chain('long', REDIRECTS_MAX + 2), this.#add(host, '/long-end').url)
    const loop = chain('loop', 2)
    join(loop, loop[0].url)
    const self = chain('self', 1)
    join(self, self[0].url)
    chain('nowhere', 1)
  }

  #island(): PagePlan {
    const pages = [...this.pages.values()]
    return pages.find((page) => page.host === ISLAND)!
  }

  /** Every page is reachable, but for the inner ones of chains, which only their predecessor leads to. */
  #linkAll(all: readonly HostPlan[]): void {
    const { chance } = this
    const isInner = (page: PagePlan): boolean => /\/(?:short|long|loop|self)\/[1-9]|-end$|\/moved$/.test(page.url)
    const byHost = new Map(all.map((host) => [host.host, [] as PagePlan[]]))
    const roots: PagePlan[] = []
    for (const page of this.pages.values()) {
      if (!isInner(page)) byHost.get(page.host)!.push(page)
      if (new URL(page.url).pathname === '/') roots.push(page)
    }
    for (const pages of byHost.values()) this.#linkSite(pages)
    const mainland = [...byHost].filter(([host]) => host !== ISLAND).map(([, pages]) => pages)
    const linking = [...this.linking.values()].flat().filter((page) => page.host !== ISLAND)
    for (const root of roots) if (root.host !== ISLAND) chance.pick(linking).links.push(root.url)
    for (const page of [...this.linking.values()].flat()) {
      for (let left = chance.below(this.isSparse ? 2 : 4); left > 0; left--)
        page.links.push(chance.pick(chance.pick(mainland)).url)
      page.links = [...new Set(page.links)].filter((url) => url !== page.url)
    }
    this.#pointRedirects(linking)
    this.#makeTwins(linking)
  }

  #linkSite(pages: readonly PagePlan[]): void {
    const { chance } = this
    const linking: PagePlan[] = []
    for (const page of pages) {
      // Near the end of the list: so some pages lie deep.
      if (linking.length > 0) linking[Math.max(0, linking.length - 1 - chance.below(4))].links.push(page.url)
      for (let left = this.isSparse ? 0 : chance.below(3); left > 0 && linking.length > 0; left--)
        chance.pick(linking).links.push(page.url)
      const canLink = page.status === 200 && (page.form === 'html' || page.form === 'gzip') && !page.isKiller
      if (canLink && !page.url.includes('/private')) linking.push(page)
    }
    this.linking.set(pages[0].host, linking)
  }

  #pointRedirects(linking: readonly PagePlan[]): void {
    for (const page of this.pages.values()) {
      if (page.location === '?') page.location = this.chance.pick(linking).url
    }
  }

  /** Some pages have the very bytes of another one. */
  #makeTwins(linking: readonly PagePlan[]): void {
    const { chance } = this
    for (let i = 0; i < 8; i++) {
      const [page, twin] = [chance.pick(linking), chance.pick(linking)]
      if (page === twin || twin.bodyOf !== twin.url || page.form !== twin.form) continue
      if (linking.some((other) => other.bodyOf === page.url && other !== page)) continue
      page.bodyOf = twin.url
    }
  }
}

/** Half of the hosts that are well have a seed; later batches name other pages of the same hosts. */
/** A few more pages are seeds, from the first batch on: a host opened later would have had links turned away before. */
export function withMoreSeeds(chance: Chance, web: WebPlan): WebPlan {
  const all = [...web.pages.values()].filter((page) => page.host !== ISLAND && page.status === 200)
  const more = Array.from({ length: 10 }, () => chance.pick(all).url)
  return { ...web, seeds: [[...web.seeds[0], ...more], ...web.seeds.slice(1)] }
}

function chooseSeeds(chance: Chance, builder: PageBuilder): string[][] {
  const first: string[] = []
  const later: string[] = []
  let i = 0
  for (const pages of builder.linking.values()) {
    if (pages.length > 0 && pages[0].host !== ISLAND && (i === 0 || chance.percent(70))) {
      first.push(pages[0].url)
      if (chance.percent(50)) later.push(chance.pick(pages).url)
    }
    i++
  }
  if (chance.percent(50)) first.push([...builder.pages.keys()].find((url) => url.endsWith('/moved'))!)
  return [first, later.slice(0, later.length >> 1), later.slice(later.length >> 1)]
}
