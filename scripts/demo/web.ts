/**
 * A small web on loopback, 127.1.0.1 and on: what the demo crawls, and what tests measure a crawl against.
 *
 * Invariant: the bytes of a page depend on the seed and the port alone; only the faults that mend themselves (a 500 or a
 * reset before the first answer) know how often they were asked.
 * Alone: `node scripts/demo/web.ts [--seed S] [--pages N] [--hosts N] [--port N] [--log FILE]` prints one JSON line and
 * serves until SIGTERM.
 */
import { createWriteStream, type WriteStream } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type ExpectedUrl, walk } from './expected.ts'
import { htmlOf, type Origins } from './page.ts'
import { chanceOf } from './random.ts'
import { buildSites, type Resource, type Site } from './site.ts'

export interface DemoOptions {
  readonly seed: string | number
  /** HTML pages over all hosts. Default: 400. */
  readonly pages?: number
  /** Hosts, one of them dead, one that breaks connections, one slow; at least 4. Default: 8. */
  readonly hosts?: number
  /** Default: 0, any free port. The same on all hosts. */
  readonly port?: number
  /** File to which each request is appended as a line of JSON. Default: none. */
  readonly logFile?: string
}

export interface LoggedRequest {
  /** Arrival, milliseconds since 1970, with a fraction. */
  readonly time: number
  /** Name and port, as in a URL. */
  readonly host: string
  readonly path: string
  /** 0 where the connection was reset instead. */
  readonly status: number
}

export interface DemoStats {
  readonly requests: number
  /** By status; `0` counts resets. */
  readonly byStatus: Readonly<Record<string, number>>
  readonly byHost: Readonly<Record<string, number>>
  /** Most requests of a host at work at one time. */
  readonly inFlightMax: Readonly<Record<string, number>>
}

export interface DemoWeb {
  readonly port: number
  /** The front page of every host, the dead one too. */
  readonly seeds: readonly string[]
  readonly log: readonly LoggedRequest[]
  /** What a crawl from all seeds must come to, by default settings. */
  expected(): ExpectedUrl[]
  stats(): DemoStats
  close(): Promise<void>
}

/** Longest wait of the slow host before an answer. */
const SLOW_MS_MAX = 60
const PORT_TRIES = 10

/** Builds and serves a demo web. Errors: the port is taken on one of the addresses. */
export async function startDemoWeb(options: DemoOptions): Promise<DemoWeb> {
  const { seed, pages = 400, hosts = 8, port: wanted = 0, logFile } = options
  if (hosts < 4) throw new RangeError(`hosts is ${hosts}; it must be at least 4`)
  const sites = buildSites({ seed: String(seed), pages, hosts })
  const addresses = sites.map(({ host }) => `127.1.0.${host + 1}`)
  const state: State = {
    sites,
    origins: [],
    log: [],
    asked: new Map(),
    inFlight: new Map(),
    inFlightMax: {},
    file: undefined,
  }
  if (logFile !== undefined) state.file = createWriteStream(logFile, { flags: 'a' })
  const servers = await listenOnAll(
    addresses.filter((_, host) => sites[host].role !== 'dead'),
    wanted,
    (address) => createServer((request, response) => void serve(state, addresses.indexOf(address), request, response)),
  )
  const { port } = servers[0].address() as AddressInfo
  state.origins = addresses.map((address) => `http://${address}:${port}`)
  return {
    port,
    seeds: state.origins.map((origin) => `${origin}/`),
    log: state.log,
    expected: () => walk(sites, state.origins),
    stats: () => statsOf(state),
    close: async () => {
      await Promise.all(servers.map(closed))
      await new Promise<void>((resolve) => (state.file === undefined ? resolve() : state.file.end(resolve)))
    },
  }
}

interface State {
  readonly sites: readonly Site[]
  origins: Origins
  readonly log: LoggedRequest[]
  /** Requests so far by URL, for the faults that mend themselves. */
  readonly asked: Map<string, number>
  readonly inFlight: Map<string, number>
  readonly inFlightMax: Record<string, number>
  file: WriteStream | undefined
}

/** One port for all addresses: the first server's, or another where somebody has it on a later address. */
async function listenOnAll(
  addresses: readonly string[],
  wanted: number,
  create: (address: string) => Server,
): Promise<Server[]> {
  for (let tries = 1; ; tries += 1) {
    const servers: Server[] = []
    try {
      let port = wanted
      for (const address of addresses) {
        const server = create(address)
        await listening(server, address, port)
        servers.push(server)
        port = (server.address() as AddressInfo).port
      }
      return servers
    } catch (error) {
      await Promise.all(servers.map(closed))
      if (wanted !== 0 || tries === PORT_TRIES) throw error
    }
  }
}

function listening(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, 1024, resolve)
  })
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

async function serve(state: State, host: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const time = performance.timeOrigin + performance.now()
  const site = state.sites[host]
  const path = request.url ?? '/'
  const name = state.origins[host].slice('http://'.length)
  const end = countInFlight(state, name)
  response.once('close', end)
  const url = state.origins[host] + path
  const asked = (state.asked.get(url) ?? 0) + 1
  state.asked.set(url, asked)
  const answer = answerOf(state, site, path, asked, String(request.headers['accept-encoding'] ?? ''))
  note(state, { time, host: name, path, status: answer?.status ?? 0 })
  if (site.role === 'slow') await sleep(chanceOf(url).between(1, SLOW_MS_MAX))
  if (answer === undefined) {
    request.socket.resetAndDestroy()
    return
  }
  response.writeHead(answer.status, { 'content-length': answer.body.length, ...answer.headers })
  response.end(request.method === 'HEAD' ? undefined : answer.body)
}

function countInFlight(state: State, name: string): () => void {
  const now = (state.inFlight.get(name) ?? 0) + 1
  state.inFlight.set(name, now)
  state.inFlightMax[name] = Math.max(state.inFlightMax[name] ?? 0, now)
  return () => state.inFlight.set(name, state.inFlight.get(name)! - 1)
}

function note(state: State, request: LoggedRequest): void {
  state.log.push(request)
  state.file?.write(`${JSON.stringify(request)}\n`)
}

interface Served {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** undefined = reset the connection. */
function answerOf(state: State, site: Site, path: string, asked: number, accepted: string): Served | undefined {
  if (path === '/robots.txt') return plain(200, robotsOf(site))
  const resource = site.resources.get(path)
  if (resource === undefined) return plain(404, 'Not found\n')
  if (asked <= resource.failures) return resource.failsBy === 'reset' ? undefined : plain(500, 'Try again\n')
  const { answer } = resource
  switch (answer.kind) {
    case 'page':
    case 'copy':
      return pageAnswer(site, resource, htmlOf(site, resource, state.origins), accepted)
    case 'file':
      return { status: 200, headers: { 'content-type': answer.type }, body: fileOf(site, resource, answer.bytes) }
    case 'redirect':
      return redirectAnswer(state, resource, answer)
    case 'status':
      return plain(answer.status, `Status ${answer.status}\n`)
    case 'reset':
      return undefined
  }
}

function plain(status: number, text: string): Served {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: Buffer.from(text) }
}

function robotsOf({ disallow, role }: Site): string {
  const lines = ['# Demo', 'User-agent: badbot', 'Disallow: /', '', 'User-agent: *']
  if (role === 'slow') lines.push('Crawl-delay: 0.02')
  return [...lines, ...disallow.map((prefix) => `Disallow: ${prefix}`), ''].join('\n')
}

function pageAnswer(site: Site, { path, answer }: Resource, html: string, accepted: string): Served {
  // A copy is coded as its original, so that their bytes are the same on the wire too.
  const chance = chanceOf(`coding ${site.host}${answer.kind === 'copy' ? answer.of : path}`)
  const bytes = Buffer.from(html, site.charset === 'utf-8' ? 'utf8' : 'latin1')
  // A page that names its charset itself may leave it out here.
  const isNamed = html.includes('<meta charset') && chance.next() < 0.5
  const type = isNamed ? 'text/html' : `text/html; charset=${site.charset}`
  const coding = chance.pick(['identity', 'gzip', 'gzip', 'br'])
  if (coding === 'identity' || !new RegExp(`\\b${coding}\\b`).test(accepted)) {
    return { status: 200, headers: { 'content-type': type, vary: 'accept-encoding' }, body: bytes }
  }
  const body =
    coding === 'gzip' ? gzipSync(bytes) : brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })
  return { status: 200, headers: { 'content-type': type, vary: 'accept-encoding', 'content-encoding': coding }, body }
}

function redirectAnswer(state: State, { path }: Resource, { status, to }: RedirectTo): Served {
  const { body, headers } = plain(status, 'Moved\n')
  if (to === undefined) return { status, headers, body }
  // Both forms of a location: a path is as good as a URL.
  const location = chanceOf(path + to.path).next() < 0.5 ? to.path : state.origins[to.host] + to.path
  return { status, headers: { ...headers, location }, body }
}

type RedirectTo = Extract<Resource['answer'], { kind: 'redirect' }>

function fileOf(site: Site, { path }: Resource, bytes: number): Uint8Array {
  const chance = chanceOf(`file ${site.host}${path}`)
  const isText = !path.endsWith('.pdf')
  const head = Buffer.from(isText ? 'name,value\n' : '%PDF-1.4\n')
  const rest = Uint8Array.from({ length: bytes }, () =>
    isText ? chance.pick([32, 44, 97, 98, 10]) : chance.between(0, 255),
  )
  return Buffer.concat([head, rest])
}

function statsOf({ log, inFlightMax }: State): DemoStats {
  const byStatus: Record<string, number> = {}
  const byHost: Record<string, number> = {}
  for (const { status, host } of log) {
    byStatus[status] = (byStatus[status] ?? 0) + 1
    byHost[host] = (byHost[host] ?? 0) + 1
  }
  return { requests: log.length, byStatus, byHost, inFlightMax }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      pages: { type: 'string', default: '400' },
      hosts: { type: 'string', default: '8' },
      port: { type: 'string', default: '0' },
      log: { type: 'string' },
    },
  })
  const { seed, pages, hosts, port, log } = values
  const sizes = { seed, pages: Number(pages), hosts: Number(hosts), port: Number(port) }
  const web = await startDemoWeb(log === undefined ? sizes : { ...sizes, logFile: log })
  console.log(JSON.stringify({ pid: process.pid, port: web.port, seeds: web.seeds }))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void web.close())
}

if (import.meta.main) await main()
