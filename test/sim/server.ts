/**
 * The servers of a generated web: what a request gets, and when. They live longer than any process that asks them.
 *
 * The bytes are real HTML: the crawl's own scanner has to find the links in them.
 */
import { gzipSync } from 'node:zlib'
import type { Resolution } from '../../src/env/resolver.ts'
import type { FetchRequest, FetchResult, TroubleClass } from '../../src/env/web.ts'
import type { Chance } from './chance.ts'
import type { Failing, HostPlan, PagePlan, RobotsPlan, WebPlan } from './web.ts'

export interface Reply {
  readonly result: FetchResult
  /** From the request to its result. */
  readonly latencyMs: number
  /** What the answer asked for; 0 = nothing. */
  readonly retryAfterMs: number
  /** The process that asked dies of it. */
  readonly isDeadly: boolean
}

type Header = readonly [string, string]

export class Servers {
  /** Hosts that the crawl knows to have answered, whatever happens to it: their name servers may fail. */
  readonly answered = new Set<string>()
  readonly #plan: WebPlan
  readonly #chance: Chance
  readonly #requests = new Map<string, number>()
  readonly #bodies = new Map<string, Uint8Array>()
  readonly #twins: ReadonlySet<string>

  constructor(plan: WebPlan, chance: Chance) {
    this.#plan = plan
    this.#chance = chance
    this.#twins = new Set(
      [...plan.pages.values()].filter((page) => page.bodyOf !== page.url).map((page) => page.bodyOf),
    )
  }

  resolve(hostname: string): Resolution {
    const host = [...this.#plan.hosts.values()].find((candidate) => candidate.hostname === hostname)
    if (host === undefined) return dnsTrouble('dns.notfound')
    const isOut = this.answered.has(host.host) && this.#count(`out ${hostname}`) <= host.dnsOutage
    const isSilent = isOut || this.#count(`dns ${hostname}`) <= host.dnsFailures || host.dns === 'temporary'
    if (isSilent) return dnsTrouble('dns.temporary')
    if (host.dns === 'notfound') return dnsTrouble('dns.notfound')
    return { kind: 'addresses', addresses: host.addresses, ttlMs: host.ttlMs }
  }

  /** The address of a URL's host that is tried when `address` accepts no connection. */
  addressAfter(url: string, address: string): string | undefined {
    const addresses = this.#plan.hosts.get(new URL(url).host)?.addresses ?? []
    return addresses[addresses.indexOf(address) + 1]
  }

  /** Errors: a request for what the web does not have, or at an address that is not the host's. */
  answer(request: FetchRequest): Reply {
    const { host, origin, pathname, protocol } = new URL(request.url)
    const plan = this.#plan.hosts.get(host)
    if (plan === undefined || !plan.addresses.includes(request.address))
      throw new Error(`nobody is at ${request.url} (${request.address})`)
    const refused = this.#connect(plan, request)
    if (refused !== undefined) return refused
    if (pathname === '/robots.txt') return this.#robots(plan, origin, protocol, request)
    if (pathname === '/robots-here.txt') return this.#reply(200, [], rulesOf(plan.robots))
    if (pathname.startsWith('/robots-for/'))
      return this.#reply(200, [], rulesOf(this.#plan.hosts.get(pathname.slice(12))!.robots))
    const page = this.#plan.pages.get(request.url)
    if (page === undefined) throw new Error(`a request for ${request.url}, which nothing links to`)
    const isFailing = page.status === 0 || this.#count(`page ${page.url}`) <= page.failures
    if (isFailing) return this.#fail(page.failing, request)
    return { ...this.#page(page), isDeadly: page.isKiller }
  }

  /** The body that a URL is served with once it has recovered. */
  bodyOf(page: PagePlan): Uint8Array {
    const key = page.status === 200 ? page.bodyOf : page.url
    let body = this.#bodies.get(key)
    if (body === undefined) {
      body = renderBody(this.#plan.pages.get(key)!, this.#twins.has(key))
      this.#bodies.set(key, body)
    }
    return body
  }

  #count(what: string): number {
    const count = (this.#requests.get(what) ?? 0) + 1
    this.#requests.set(what, count)
    return count
  }

  #connect(host: HostPlan, request: FetchRequest): Reply | undefined {
    if (host.dead === 'silent') return this.#trouble('timeout', false, request.limits.connectMs)
    if (host.dead === 'refused') return this.#trouble('connect.refused', false, this.#chance.between(1, 40))
    if (host.isFirstDead && request.address === host.addresses[0]) return this.#trouble('connect.refused', false, 5)
    const number = this.#count(`host ${host.host}`) - 1
    const { from, count } = host.outage
    if (number >= from && number < from + count) return this.#trouble('connect.refused', false, 20)
    return undefined
  }

  #robots(host: HostPlan, origin: string, protocol: string, request: FetchRequest): Reply {
    const { robots } = host
    if (robots.kind === 'unreachable') return this.#fail('503', request)
    // A loop is asked for several times in a row: it does not fail as well.
    if (robots.kind !== 'loop' && this.#count(`robots ${origin}`) <= robots.failures)
      return this.#fail(robots.failing, request)
    switch (robots.kind) {
      case 'none':
        return this.#reply(404, [], textBytes('no robots.txt here'))
      case 'rules':
        return this.#reply(200, [['content-type', 'text/plain']], rulesOf(robots))
      case 'moved':
        return this.#reply(301, [['location', '/robots-here.txt']], textBytes(''))
      case 'loop':
        return this.#reply(302, [['location', '/robots.txt']], textBytes(''))
      case 'elsewhere': {
        const at = this.#plan.hosts.get(robots.at)!
        const scheme = at.schemes[0] ?? protocol
        return this.#reply(302, [['location', `${scheme}://${at.host}/robots-for/${host.host}`]], textBytes(''))
      }
    }
  }

  #fail(failing: Failing, request: FetchRequest): Reply {
    if (failing === '500')
      return this.#reply(500, [['content-type', 'text/html']], textBytes('<a href="/never">broken</a>'))
    if (failing === '503' || failing === '429') {
      const seconds = failing === '429' || this.#chance.percent(50) ? this.#chance.between(2, 20) : 0
      const headers: Header[] = seconds > 0 ? [['retry-after', String(seconds)]] : []
      return { ...this.#reply(Number(failing), headers, textBytes('later')), retryAfterMs: seconds * 1000 }
    }
    if (failing === 'timeout') return this.#trouble('timeout', true, request.limits.headerMs)
    return this.#trouble(failing, true, this.#chance.between(1, 300))
  }

  #page(page: PagePlan): Reply {
    if (page.status >= 300 && page.status < 400) {
      const { origin } = new URL(page.url)
      const isNear = page.location.startsWith(`${origin}/`) && this.#chance.percent(50)
      const location = isNear ? page.location.slice(origin.length) : page.location
      return this.#reply(page.status, page.location === '' ? [] : [['location', location]], this.bodyOf(page))
    }
    const headers: Header[] = [['content-type', page.form === 'text' ? 'text/plain' : 'text/html; charset=utf-8']]
    if (page.form === 'gzip' && page.status === 200) headers.push(['content-encoding', 'gzip'])
    const reply = this.#reply(page.status, headers, this.bodyOf(page))
    return { ...reply, result: { ...reply.result, truncated: page.form === 'truncated' } as FetchResult }
  }

  #reply(status: number, headers: readonly Header[], body: Uint8Array): Reply {
    const latencyMs = this.#chance.percent(5) ? this.#chance.between(1000, 8000) : this.#chance.between(3, 300)
    const timing = { connectMs: 1, firstByteMs: 2, totalMs: latencyMs }
    return {
      result: { kind: 'answer', status, headers, body, truncated: false, timing },
      latencyMs,
      retryAfterMs: 0,
      isDeadly: false,
    }
  }

  #trouble(kind: TroubleClass, connected: boolean, latencyMs: number): Reply {
    const timing = { connectMs: 0, firstByteMs: 0, totalMs: latencyMs }
    return {
      result: { kind: 'trouble', class: kind, message: kind, connected, timing },
      latencyMs,
      retryAfterMs: 0,
      isDeadly: false,
    }
  }
}

function dnsTrouble(kind: 'dns.notfound' | 'dns.temporary'): Resolution {
  return { kind: 'trouble', class: kind, message: kind }
}

function rulesOf(robots: RobotsPlan): Uint8Array {
  const delay = robots.crawlDelaySeconds > 0 ? `Crawl-delay: ${robots.crawlDelaySeconds}\n` : ''
  return textBytes(`User-agent: *\n${robots.disallow.map((path) => `Disallow: ${path}\n`).join('')}${delay}`)
}

function textBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text))
}

/** @param isShared other URLs answer with the same bytes: then links must not depend on where they stand */
function renderBody(page: PagePlan, isShared: boolean): Uint8Array {
  if (page.form === 'empty' && page.status === 200) return new Uint8Array(0)
  if (page.status !== 200) return textBytes(`<p>${page.status} <a href="/never">${page.url}</a>`)
  const lines = page.links.map((url, i) => renderLink(url, page, isShared, i))
  const decoys = '<!-- <a href="/never">no</a> --><script>"<a href=/never>"</script><a href="mailto:a@b.test">mail</a>'
  const html = `<!doctype html><title>${page.url}</title>${decoys}<p>${'lorem ipsum '.repeat(page.fillerBytes / 12)}\n${lines.join('\n')}`
  const bytes = textBytes(html)
  return page.form === 'gzip' ? new Uint8Array(gzipSync(bytes, { level: 1 })) : bytes
}

function renderLink(url: string, page: PagePlan, isShared: boolean, i: number): string {
  const { origin, protocol, pathname, search } = new URL(url)
  const isNear = !isShared && page.url.startsWith(`${origin}/`)
  const path = (pathname + search).replaceAll('&', '&amp;')
  if (isNear && i % 3 === 0) return `<a href="${path}">near</a>`
  if (!isShared && page.url.startsWith(protocol) && i % 3 === 1)
    return `<area HREF = '${url.slice(protocol.length)}#part'>`
  return `<a class=x href=" ${url} ">far</a> <a href="${url}#again">twice</a>`
}
