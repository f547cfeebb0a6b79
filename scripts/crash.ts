/**
 * Real deaths: the program crawls the demo web, is killed by SIGKILL at random moments, is resumed, and comes to what it
 * would have come to anyway.
 *
 *     npm run crash -- 1000 [--seed TEXT] [--kills-per-crawl N] [--pages N]
 *
 * A crawl after the other until so many kills have hit. Before a kill the running process is asked for its status; the
 * log afterwards must tell the same of that record. At the end of each crawl: `verify` exits 0; states are those of the
 * model, states, answers and bodies those of a crawl that nobody disturbed; no request without a claim, no claim
 * again but for a retry or for a death at which the URL was in flight.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { layoutOf } from '../src/crawl/layout.ts'
import { compareRequests, compareWithModel, compareWithUndisturbed, type UrlLine, urlsOf } from './checks/comparing.ts'
import { type CrawlFacts, factsOfCrawl } from './checks/crawl-facts.ts'
import { compareWithReplay, type Life, live, type Moment, type Phase } from './checks/killing.ts'
import { runProgram } from './checks/program.ts'
import { serveDemoWeb, type WebSizes } from './checks/served-web.ts'
import { type Chance, chanceOf } from './demo/random.ts'

export interface CrashOptions {
  readonly kills: number
  /** After so many kills a crawl is left alone, so that each comes to its end. */
  readonly killsPerCrawlMax: number
  readonly web: WebSizes
  readonly seed: string
  readonly tell: (text: string) => void
}

export interface CrashReport {
  crawls: number
  readonly kills: Record<Phase, number>
  /** Lives that ended before they could be killed. */
  escapes: number
  /** Checkpoints built while crawling, and openings that went on from one of these. */
  checkpoints: number
  resumedByCheckpoint: number
  /** Statuses compared with the replay up to their record. */
  statuses: number
  requests: number
  /** Requests beyond the first of a URL. */
  again: number
  /** URLs given up because the process died five times while they were in flight, twice alone. */
  poisoned: number
  readonly differences: string[]
}

/** A checkpoint is built as often as there are marks, so that one is under way at most deaths. */
const START = ['--delay', '10ms', '--delay-max', '100ms', '--min-free', '0', '--checkpoint-after', '0']
/** Small segments, so that some are sealed and compressed in every life. */
const SEGMENT_BYTES = '65536'

/** Kills the program so often, and says what became of it. */
export async function crash(options: CrashOptions): Promise<CrashReport> {
  const report: CrashReport = {
    crawls: 0,
    kills: { 'start-up': 0, replay: 0, crawl: 0, seal: 0, stop: 0 },
    escapes: 0,
    checkpoints: 0,
    resumedByCheckpoint: 0,
    statuses: 0,
    requests: 0,
    again: 0,
    poisoned: 0,
    differences: [],
  }
  const folder = mkdtempSync(join(tmpdir(), 'crash-'))
  try {
    const wanted = await crawlUndisturbed(folder, options)
    const chance = chanceOf(options.seed)
    while (killsOf(report) < options.kills) {
      await crawlDisturbed(join(folder, String(report.crawls)), options, wanted, chance, report)
      report.crawls++
      options.tell(`${killsOf(report)} kills, ${report.crawls} crawls, ${report.differences.length} differences`)
    }
  } finally {
    if (report.differences.length === 0) rmSync(folder, { recursive: true, force: true })
    else options.tell(`kept: ${folder}`)
  }
  return report
}

function killsOf({ kills }: CrashReport): number {
  return Object.values(kills).reduce((sum, count) => sum + count, 0)
}

interface Wanted {
  readonly port: number
  readonly urls: ReadonlyMap<string, UrlLine>
  readonly facts: CrawlFacts
}

function environment(folder: string): Record<string, string> {
  return { CRAWLER_SEGMENT_BYTES: SEGMENT_BYTES, NODE_COMPILE_CACHE: join(folder, 'compiled') }
}

async function crawlUndisturbed(folder: string, { web: sizes, tell }: CrashOptions): Promise<Wanted> {
  const web = await serveDemoWeb(sizes, join(folder, 'requests'))
  const root = join(folder, 'undisturbed')
  const { code, stderr } = await runProgram(['start', ...web.seeds, '--dir', root, '--quiet', ...START], {
    env: environment(folder),
  })
  await web.stop()
  if (code !== 0) throw new Error(`the undisturbed crawl ended with ${code}: ${stderr}`)
  const urls = await urlsOf(root)
  tell(`undisturbed: ${urls.size} URLs`)
  return { port: web.port, urls, facts: factsOfCrawl(root) }
}

async function crawlDisturbed(
  folder: string,
  options: CrashOptions,
  wanted: Wanted,
  chance: Chance,
  report: CrashReport,
): Promise<void> {
  mkdirSync(folder)
  const web = await serveDemoWeb(options.web, join(folder, 'requests'), wanted.port)
  const root = join(folder, 'crawl')
  const say = (text: string): void => void report.differences.push(`crawl ${report.crawls}: ${text}`)
  const lifeOptions = { root, start: [...web.seeds, ...START], env: environment(join(folder, '..')) }
  let killed = 0
  for (let isFinished = false; !isFinished; ) {
    const isSpared = killed >= options.killsPerCrawlMax || killsOf(report) >= options.kills
    const life = await live(lifeOptions, isSpared ? UNTIL_THE_END : momentOf(chance))
    if (life.end === 'killed') {
      killed++
      report.kills[life.phase]++
    } else isFinished = endOf(life, report, say)
    if (life.status !== undefined) compareStatus(root, life, report, say)
  }
  const requests = await web.stop()
  countCheckpoints(root, report)
  await compareEnd(root, requests, web.expected, wanted, report, say)
  if (report.differences.length === 0) rmSync(folder, { recursive: true })
}

const UNTIL_THE_END: Moment = { phase: 'start-up', afterMs: 2 ** 30 }

function momentOf(chance: Chance): Moment {
  const draw = chance.next()
  if (draw < 0.08) return { phase: 'start-up', afterMs: chance.between(0, 400) }
  if (draw < 0.22) return { phase: 'replay', afterMs: chance.between(0, 80) }
  if (draw < 0.76) return { phase: 'crawl', afterMs: chance.between(0, 250) }
  if (draw < 0.86) return { phase: 'seal', afterMs: chance.between(0, 5) }
  return { phase: 'stop', afterMs: chance.between(0, 100) }
}

/** Whether a process that ended by itself had finished; one that was asked to stop has not. */
function endOf(life: Life, report: CrashReport, say: (text: string) => void): boolean {
  report.escapes++
  if (life.end !== 0 && life.end !== 3) throw new Error(`a life ended with ${life.end}: ${life.stderr}`)
  if (life.end === 3 && life.phase !== 'stop') say('stopped although nobody asked')
  return life.end === 0
}

function compareStatus(root: string, { status }: Life, report: CrashReport, say: (text: string) => void): void {
  if (status === undefined) return
  report.statuses++
  try {
    compareWithReplay(root, status)
  } catch (error) {
    say(`status at ${status.seq}: ${(error as Error).message}`)
  }
}

/** What crawler.log tells of checkpoints; one saved by a stop replayed nothing. */
function countCheckpoints(root: string, report: CrashReport): void {
  const built = new Set<number>()
  for (const line of readFileSync(layoutOf(root).log, 'utf8').split('\n')) {
    const isTold = line.includes('"msg":"checkpoint"') || line.includes('"msg":"replayed"')
    if (!isTold || !line.endsWith('}')) continue
    const { msg, sequence, items, checkpoint } = JSON.parse(line) as Record<string, unknown>
    if (msg === 'replayed' && built.has(Number(checkpoint))) report.resumedByCheckpoint++
    if (msg === 'checkpoint' && Number(items) > 0) built.add(Number(sequence))
  }
  report.checkpoints += built.size
}

async function compareEnd(
  root: string,
  requests: Parameters<typeof compareRequests>[0],
  expected: Parameters<typeof compareWithModel>[1],
  wanted: Wanted,
  report: CrashReport,
  say: (text: string) => void,
): Promise<void> {
  const verified = await runProgram(['verify', root])
  if (verified.code !== 0) say(`verify ends with ${verified.code}: ${verified.stdout}${verified.stderr}`)
  const facts = factsOfCrawl(root)
  const urls = new Map(await urlsOf(root))
  const { differences, total, again } = compareRequests(requests, facts)
  for (const line of urls.values()) if (line.class === 'poison') report.poisoned++
  for (const text of [
    ...differences,
    ...compareWithModel(urls, expected),
    ...compareWithUndisturbed({ urls, facts }, wanted),
  ])
    say(text)
  report.requests += total
  report.again += again
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: String(Date.now()) },
      pages: { type: 'string', default: '400' },
      'kills-per-crawl': { type: 'string', default: '40' },
    },
  })
  const startedMs = performance.now()
  console.log(`seed ${values.seed}`)
  const report = await crash({
    kills: Number(positionals[0] ?? 100),
    killsPerCrawlMax: Number(values['kills-per-crawl']),
    web: { seed: 'crash', pages: Number(values.pages), hosts: 8 },
    seed: values.seed,
    tell: console.log,
  })
  const { differences, ...figures } = report
  console.log(JSON.stringify({ ...figures, seconds: Math.round((performance.now() - startedMs) / 1000) }, undefined, 1))
  for (const line of differences.slice(0, 50)) console.log(`DIFFERENCE  ${line}`)
  console.log(differences.length === 0 ? 'No difference.' : `${differences.length} differences.`)
  process.exitCode = differences.length === 0 ? 0 : 1
}

if (import.meta.main) await main()
