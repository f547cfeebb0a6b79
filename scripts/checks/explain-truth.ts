/**
 * What `explain` says, against what happened: the demo web's own list of requests, and the links of its model.
 *
 *     node scripts/checks/explain-truth.ts [--seed TEXT] [--pages N] [--kills N] [--per-state N]
 *
 * A crawl is killed again and again, looked at half way (pending, in flight) and at its end. Of each state some URLs at
 * random: each attempt is a request, in order, at its time, with its status, and no request is without an attempt or a death;
 * the pages that link to it are exactly those of the model that were fetched; it was found on one of them.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { decodeContent } from '../../src/adapters/content.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { type Explanation, explainUrl } from '../../src/crawl/explain.ts'
import type { ExplainedEvent } from '../../src/crawl/explained-event.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, type PastCrawl, readCrawl } from '../../src/crawl/reading.ts'
import { forEachUrl, type UrlLine } from '../../src/crawl/urls.ts'
import { type Chance, chanceOf } from '../demo/random.ts'
import { buildSites, type Site } from '../demo/site.ts'
import type { LoggedRequest } from '../demo/web.ts'
import { live } from './killing.ts'
import { serveDemoWeb, type WebSizes } from './served-web.ts'

/** Clocks: records have whole milliseconds, and the web's are not those of the crawl. */
const TOLERANCE_MS = 5
/** Statuses asked for in each life: what was shown is past, so each pushes shard time ahead of the wall's by 1 ms at most. */
const STATUSES_PER_LIFE = 2
const START = ['--delay', '20ms', '--delay-max', '100ms', '--min-free', '0']
const SEGMENT_BYTES = '65536'

export interface TruthOptions {
  readonly web: WebSizes
  readonly kills: number
  readonly perState: number
  readonly seed: string
  readonly tell: (text: string) => void
}

export interface TruthReport {
  /** URLs looked at, by state. */
  readonly checked: Record<string, number>
  attempts: number
  requests: number
  deaths: number
  inLinks: number
  readonly differences: string[]
}

/** What all looks have in common. */
interface Looking {
  readonly model: Model
  readonly perState: number
  readonly toleranceMs: number
  readonly chance: Chance
  readonly report: TruthReport
}

/** Crawls, kills, looks. Cost: some seconds for each hundred pages. */
export async function explainTruth(options: TruthOptions): Promise<TruthReport> {
  const report: TruthReport = { checked: {}, attempts: 0, requests: 0, deaths: 0, inLinks: 0, differences: [] }
  const folder = mkdtempSync(join(tmpdir(), 'explain-'))
  const web = await serveDemoWeb(options.web, join(folder, 'requests'))
  const root = join(folder, 'crawl')
  const env = { CRAWLER_SEGMENT_BYTES: SEGMENT_BYTES, NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const life = { root, start: [...web.seeds, ...START], env }
  const chance = chanceOf(options.seed)
  const lookEvery = options.kills <= 5 ? 1 : 3
  const toleranceMs = TOLERANCE_MS + STATUSES_PER_LIFE * options.kills
  const model = modelOf(options.web, web.seeds)
  const looking: Looking = { model, perState: options.perState, toleranceMs, chance, report }
  const look = async (states: readonly string[]): Promise<void> => {
    // What the web has noted is with the file a moment later.
    await sleep(300)
    checkAll(root, states, requestsIn(web.logFile), looking)
  }
  try {
    for (let kills = 0; kills < options.kills; kills++) {
      const { end } = await live(life, { phase: 'crawl', afterMs: chance.between(50, 400) })
      if (end !== 'killed') break
      options.tell(`killed ${kills + 1} times`)
      if (kills % lookEvery === lookEvery - 1) await look(['pending', 'processing'])
    }
    await live(life, { phase: 'start-up', afterMs: 2 ** 30 })
    await look(['done', 'failed', 'refused'])
  } finally {
    await web.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return report
}

function requestsIn(logFile: string): Map<string, LoggedRequest[]> {
  const requests = new Map<string, LoggedRequest[]>()
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    if (line === '') continue
    const request = JSON.parse(line) as LoggedRequest
    const url = `http://${request.host}${request.path}`
    const list = requests.get(url)
    if (list === undefined) requests.set(url, [request])
    else list.push(request)
  }
  return requests
}

/** URLs of the pages and redirects that lead to each URL, whatever became of them. */
type Model = ReadonlyMap<string, ReadonlySet<string>>

function modelOf(sizes: WebSizes, seeds: readonly string[]): Model {
  const origins = seeds.map((url) => url.replace(/\/$/, ''))
  const model = new Map<string, Set<string>>()
  for (const site of buildSites(sizes)) {
    for (const { path } of site.resources.values()) {
      const from = origins[site.host] + path
      for (const target of targetsOf(site, path)) {
        const to = origins[target.host] + target.path
        if (to === from) continue
        const known = model.get(to) ?? new Set<string>()
        model.set(to, known.add(from))
      }
    }
  }
  return model
}

function targetsOf(site: Site, path: string) {
  const resource = site.resources.get(path)
  if (resource === undefined) return []
  const { answer, links } = resource
  if (answer.kind === 'redirect') return answer.to === undefined ? [] : [answer.to]
  if (answer.kind === 'copy') return site.resources.get(answer.of)?.links ?? []
  return answer.kind === 'page' ? links : []
}

function checkAll(
  root: string,
  states: readonly string[],
  requests: ReadonlyMap<string, LoggedRequest[]>,
  looking: Looking,
): void {
  const { perState, chance, report } = looking
  const past = readCrawl(nodeDisk, layoutOf(root))
  try {
    const lines = new Map<string, UrlLine>()
    forEachUrl(past, {}, false, (line) => lines.set(line.url, line))
    for (const state of states) {
      const urls = [...lines.values()].filter((line) => line.state === state)
      for (const line of sample(urls, perState, chance)) {
        const say = (text: string): void => void report.differences.push(`${line.url} (${state}): ${text}`)
        checkUrl(past, line, lines, requests.get(line.url) ?? [], say, looking)
      }
    }
  } finally {
    closeLogs(past.logs)
  }
}

function sample<T>(list: readonly T[], count: number, chance: Chance): T[] {
  const left = [...list]
  const taken: T[] = []
  while (taken.length < count && left.length > 0) taken.push(...left.splice(chance.between(0, left.length - 1), 1))
  return taken
}

function checkUrl(
  past: PastCrawl,
  line: UrlLine,
  lines: ReadonlyMap<string, UrlLine>,
  requests: readonly LoggedRequest[],
  say: (text: string) => void,
  { model, toleranceMs, report }: Looking,
): void {
  const options = { settings: past.state.settings, nowMs: Date.now(), decode: decodeContent, wantsLinks: true }
  const explained = explainUrl(past.logs, line.url, { ...options, linksNamedMax: Number.POSITIVE_INFINITY })
  if (explained === undefined) return say('unknown to explain')
  report.checked[line.state] = (report.checked[line.state] ?? 0) + 1
  if (explained.state !== line.state) say(`explain says ${explained.state}`)
  if (explained.depth !== line.depth) say(`depth ${explained.depth}, urls says ${line.depth}`)
  checkRequests(explained, requests, toleranceMs, say, report)
  checkLinks(explained, lines, model.get(line.url) ?? new Set(), say, report)
  if (line.state === 'refused' && explained.robots.verdict !== 'denied') say(`robots.txt ${explained.robots.verdict}`)
  if (line.state === 'pending' && explained.standing === undefined) say('pending without a standing')
}

/** Each claim with its end: an outcome of one request, or a death that may have cut off one. */
function checkRequests(
  { events }: Explanation,
  requests: readonly LoggedRequest[],
  toleranceMs: number,
  say: (text: string) => void,
  report: TruthReport,
): void {
  let next = 0
  const take = (untilMs: number): LoggedRequest[] => {
    const from = next
    while (next < requests.length && requests[next].time <= untilMs + toleranceMs) next++
    return requests.slice(from, next)
  }
  let claim: ExplainedEvent | undefined
  for (const event of events) {
    if (event.kind === 'claim') {
      if (take(Date.parse(event.time) - 2 * toleranceMs).length > 0) say(`a request before the claim of ${event.time}`)
      claim = event
      continue
    }
    const isEnd = event.kind === 'void' || event.attempt !== undefined
    if (!isEnd) continue
    if (claim === undefined && event.class !== 'poison') say(`${event.kind} at ${event.time} without a claim`)
    const sent = claim === undefined ? [] : take(Date.parse(event.time))
    if (event.kind === 'void') report.deaths++
    else if (event.class !== 'poison') compareAttempt(event, sent, say, report)
    report.requests += sent.length
    claim = undefined
  }
  if (claim !== undefined) report.requests += take(Number.POSITIVE_INFINITY).length
  if (next < requests.length) say(`${requests.length - next} requests that nothing tells of`)
}

/** One request; a second one where the first was reset, for the client cannot tell whether it had arrived. */
function compareAttempt(
  event: ExplainedEvent,
  sent: readonly LoggedRequest[],
  say: (text: string) => void,
  report: TruthReport,
): void {
  report.attempts++
  const isUnheard = event.class === 'connect.refused'
  const expectedMax = sent[0]?.status === 0 ? 2 : 1
  if (isUnheard ? sent.length > 0 : sent.length < 1 || sent.length > expectedMax)
    say(`${sent.length} requests for attempt ${event.attempt} at ${event.time}`)
  const status = sent.at(-1)?.status
  if (!isUnheard && status !== (event.status ?? 0)) say(`answered ${status}, explain says ${event.status}`)
}

function checkLinks(
  { url, linkedFrom, events }: Explanation,
  lines: ReadonlyMap<string, UrlLine>,
  linking: ReadonlySet<string>,
  say: (text: string) => void,
  report: TruthReport,
): void {
  const expected = [...linking].filter((page) => lines.get(page)?.state === 'done').sort()
  const found = (linkedFrom?.pages ?? []).map((page) => page.url).sort()
  report.inLinks += found.length
  if (found.join(' ') !== expected.join(' ')) say(`linked from ${found.join(' ')}, not ${expected.join(' ')}`)
  if (linkedFrom?.count !== found.length) say(`${linkedFrom?.count} links counted, ${found.length} named`)
  const [first] = events
  const isFoundThere = first?.from === null ? url.endsWith('/') : linking.has(String(first?.from))
  if (!isFoundThere) say(`found on ${first?.from}, which does not link to it`)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now()) },
      pages: { type: 'string', default: '1200' },
      kills: { type: 'string', default: '20' },
      'per-state': { type: 'string', default: '100' },
    },
  })
  console.log(`seed ${values.seed}`)
  const { differences, ...figures } = await explainTruth({
    web: { seed: `explain ${values.seed}`, pages: Number(values.pages), hosts: 10 },
    kills: Number(values.kills),
    perState: Number(values['per-state']),
    seed: values.seed,
    tell: console.log,
  })
  console.log(JSON.stringify(figures))
  for (const text of differences.slice(0, 50)) console.log(`DIFFERENCE  ${text}`)
  console.log(differences.length === 0 ? 'No difference.' : `${differences.length} differences.`)
  process.exitCode = differences.length === 0 ? 0 : 1
}

if (import.meta.main) await main()
