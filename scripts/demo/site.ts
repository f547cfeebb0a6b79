/**
 * The demo web as data: which hosts there are, what each path answers, and which links stand where.
 *
 * Invariant: a function of seed and sizes alone. The server (web.ts), the pages (page.ts) and the list of what a crawl must
 * come to (expected.ts) all read this model, so they cannot disagree.
 */
import { slugOf, titleOf } from './prose.ts'
import { type Chance, chanceOf } from './random.ts'

/** Where a link leads: a host by its number, and path with query in canonical form. */
export interface Target {
  readonly host: number
  readonly path: string
}

export type Answer =
  | { readonly kind: 'page'; readonly title: string }
  /** The bytes of another page of the host. */
  | { readonly kind: 'copy'; readonly of: string }
  | { readonly kind: 'file'; readonly type: string; readonly bytes: number }
  | { readonly kind: 'redirect'; readonly status: number; readonly to: Target | undefined }
  | { readonly kind: 'status'; readonly status: number }
  /** The connection is reset instead of an answer. */
  | { readonly kind: 'reset' }

export interface Resource {
  readonly path: string
  readonly answer: Answer
  /** Requests that fail before the first answer: by status 500, or by a reset. */
  readonly failures: number
  readonly failsBy: 'status' | 'reset'
  readonly links: Target[]
}

export interface Site {
  readonly host: number
  /** `plain` answers at once, `slow` takes its time, `reset` breaks connections, `dead` does not listen. */
  readonly role: 'plain' | 'slow' | 'reset' | 'dead'
  readonly charset: 'utf-8' | 'iso-8859-1'
  readonly title: string
  /** Path prefixes that robots.txt forbids. */
  readonly disallow: readonly string[]
  readonly resources: Map<string, Resource>
}

export interface SiteSizes {
  readonly seed: string
  /** HTML pages over all hosts, without redirects, files and faults. */
  readonly pages: number
  /** Hosts, the dead one included; at least 4. */
  readonly hosts: number
}

const SECTION_PAGES = 15

/** Builds the whole web. Cost: linear in its size. */
export function buildSites({ seed, pages, hosts }: SiteSizes): Site[] {
  const sites = Array.from({ length: hosts }, (_, host) => emptySite(seed, host, hosts))
  const live = sites.filter(({ role }) => role !== 'dead')
  live.forEach((site, i) => {
    const share = Math.floor(pages / live.length) + (i < pages % live.length ? 1 : 0)
    addSections(site, share, chanceOf(`${seed}/${i}/sections`))
    addOddities(site, chanceOf(`${seed}/${i}/oddities`))
  })
  for (const site of live) addCrossLinks(site, sites, chanceOf(`${seed}/${site.host}/cross`))
  return sites
}

function emptySite(seed: string, host: number, hosts: number): Site {
  const fromEnd = hosts - 1 - host
  const role = fromEnd === 0 ? 'dead' : fromEnd === 1 ? 'reset' : fromEnd === 2 ? 'slow' : 'plain'
  const charset = host % 3 === 2 ? 'iso-8859-1' : 'utf-8'
  const title = titleOf(chanceOf(`${seed}/${host}/title`))
  return { host, role, charset, title, disallow: ['/private/', '/cgi-bin/'], resources: new Map() }
}

/** Adds a resource, and a link to it from each of the pages named. */
function add(
  site: Site,
  path: string,
  answer: Answer,
  from: readonly Resource[],
  more: Partial<Resource> = {},
): Resource {
  const resource: Resource = { path, answer, failures: 0, failsBy: 'status', links: [], ...more }
  site.resources.set(path, resource)
  for (const page of from) page.links.push({ host: site.host, path })
  return resource
}

/** A front page, sections, and pages that know their neighbours: the part of the web that is as it should be. */
function addSections(site: Site, pages: number, chance: Chance): void {
  const front = add(site, '/', { kind: 'page', title: site.title }, [])
  let section = front
  let before: Resource | undefined
  for (let i = 1; i < pages; i += 1) {
    const title = titleOf(chance)
    if (i % SECTION_PAGES === 1) {
      section = add(site, `/${slugOf(title)}-${i}/`, { kind: 'page', title }, [front])
      section.links.push({ host: site.host, path: '/' })
      continue
    }
    const page = add(site, `${section.path}${slugOf(title)}-${i}.html`, { kind: 'page', title }, [section])
    page.links.push({ host: site.host, path: '/' }, { host: site.host, path: section.path })
    if (before !== undefined) {
      page.links.push({ host: site.host, path: before.path })
      before.links.push({ host: site.host, path: page.path })
    }
    before = page
  }
}

/** What makes crawlers stumble: redirects, faults, files, copies, forbidden paths, odd spellings. */
function addOddities(site: Site, chance: Chance): void {
  const pages = [...site.resources.values()]
  const some = () => [chance.pick(pages), chance.pick(pages)]
  const target = (path: string): Target => ({ host: site.host, path })
  add(site, '/old/home', { kind: 'redirect', status: 301, to: target('/') }, some())
  for (let hop = 1; hop <= 4; hop += 1) {
    const to = hop < 4 ? target(`/hop/${hop + 1}`) : target(chance.pick(pages).path)
    add(
      site,
      `/hop/${hop}`,
      { kind: 'redirect', status: chance.pick([301, 302, 307, 308]), to },
      hop === 1 ? some() : [],
    )
  }
  add(site, '/loop/1', { kind: 'redirect', status: 302, to: target('/loop/2') }, some())
  add(site, '/loop/2', { kind: 'redirect', status: 302, to: target('/loop/1') }, [])
  add(site, '/self', { kind: 'redirect', status: 301, to: target('/self') }, some())
  add(site, '/nowhere', { kind: 'redirect', status: 302, to: undefined }, some())
  add(site, '/missing.html', { kind: 'status', status: 404 }, some())
  add(site, '/gone.html', { kind: 'status', status: 410 }, some())
  add(site, '/broken', { kind: 'status', status: 500 }, some())
  add(site, '/private/diary.html', { kind: 'page', title: 'Private' }, some())
  add(site, '/cgi-bin/count', { kind: 'page', title: 'Counter' }, some())
  for (let i = 1; i <= 3; i += 1) {
    add(site, `/moody/${i}.html`, { kind: 'page', title: titleOf(chance) }, some(), { failures: chance.between(1, 2) })
  }
  add(site, '/files/table.csv', { kind: 'file', type: 'text/csv', bytes: chance.between(500, 5000) }, some())
  add(site, '/files/report.pdf', { kind: 'file', type: 'application/pdf', bytes: chance.between(5000, 50_000) }, some())
  add(
    site,
    '/files/notes.txt',
    { kind: 'file', type: 'text/plain; charset=utf-8', bytes: chance.between(100, 900) },
    some(),
  )
  const copied = chance.pick(pages)
  add(site, '/print/1.html', { kind: 'copy', of: copied.path }, some())
  add(site, '/caf%C3%A9.html', { kind: 'page', title: 'Café' }, some())
  add(site, '/list?page=1&sort=name', { kind: 'page', title: 'List 1' }, some())
  const list = site.resources.get('/list?page=1&sort=name')!
  add(site, '/list?page=2&sort=name', { kind: 'page', title: 'List 2' }, [list])
  if (site.role === 'reset') addResets(site, some)
}

function addResets(site: Site, some: () => Resource[]): void {
  add(site, '/snap.html', { kind: 'reset' }, some())
  for (let i = 1; i <= 3; i += 1) {
    const title = `Second try ${i}`
    add(site, `/second-try/${i}.html`, { kind: 'page', title }, some(), { failures: 1, failsBy: 'reset' })
  }
}

/** Links to pages of the other hosts, the dead one too. */
function addCrossLinks(site: Site, sites: readonly Site[], chance: Chance): void {
  const dead = sites[sites.length - 1].host
  const others = sites.filter(({ role, host }) => role !== 'dead' && host !== site.host)
  for (const { answer, links } of site.resources.values()) {
    if (answer.kind !== 'page') continue
    if (chance.next() < 0.4) {
      const other = chance.pick(others)
      const pages = [...other.resources.values()].filter((resource) => resource.answer.kind === 'page')
      links.push({ host: other.host, path: chance.pick(pages).path })
    }
    if (chance.next() < 0.03) links.push({ host: dead, path: `/lost-${chance.between(1, 5)}.html` })
  }
}
