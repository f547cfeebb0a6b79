/**
 * Real input: the program crawls four real manuals (scripts/bench/docs-web.sh: some 12,000 pages) and comes to what a walk
 * with a DOM comes to; then its speed beside a bare drain and wget2.
 *
 *     node scripts/checks/corpus.ts [--pairs N] [--no-walk]      needs root for nginx
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keyOf } from '../../src/base/md5.ts'
import { type UrlLine, urlsOf } from './comparing.ts'
import { type CrawlFacts, factsOfCrawl } from './crawl-facts.ts'
import { type DocsWeb, startDocsWeb } from './docs-web.ts'
import { type WalkedPage, walkWithDom } from './dom-walk.ts'
import { ROOT, runProgram } from './program.ts'

const PORT = 8095
const WGET2_SECONDS_MAX = 60

const { values } = parseArgs({
  options: { pairs: { type: 'string', default: '5' }, walk: { type: 'boolean', default: true } },
  allowNegative: true,
})
const failures: string[] = []

function expect(isRight: boolean, what: string): void {
  console.log(`${isRight ? 'ok   ' : 'WRONG'} ${what}`)
  if (!isRight) failures.push(what)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'corpus-'))
  const web = startDocsWeb(PORT)
  try {
    await checkCrawl(web, join(folder, 'crawl'))
    await measure(web, folder)
  } finally {
    web.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(failures.length === 0 ? 'All as it should be.' : `${failures.length} not as it should be.`)
  process.exitCode = failures.length === 0 ? 0 : 1
}

async function checkCrawl(web: DocsWeb, root: string): Promise<void> {
  await web.clear()
  const run = await crawl(web, root)
  expect(run.code === 0, `start --seeds … --delay 0 ends with exit ${run.code} after ${(run.ms / 1000).toFixed(1)} s`)
  const asked = Map.groupBy(await web.requests(), ({ host, path }) => host + path)
  const twice = [...asked.values()].filter((requests) => requests.length > 1)
  expect(twice.length === 0, `${asked.size} URLs asked for, ${twice.length} of them more than once`)
  const verified = await runProgram(['verify', root])
  expect(
    verified.code === 0,
    `verify ends with exit ${verified.code}: ${verified.stdout.trim().replaceAll('\n', '; ')}`,
  )
  if (values.walk) await compareWithWalk(web, await urlsOf(root), factsOfCrawl(root))
}

async function crawl(web: DocsWeb, root: string): Promise<{ readonly code: number | string; readonly ms: number }> {
  const startedMs = performance.now()
  const { code } = await runProgram(['start', '--seeds', web.seedsFile, '--delay', '0', '--dir', root, '--quiet'])
  return { code, ms: performance.now() - startedMs }
}

async function compareWithWalk(web: DocsWeb, urls: ReadonlyMap<string, UrlLine>, facts: CrawlFacts): Promise<void> {
  const seeds = readFileSync(web.seedsFile, 'utf8').trim().split('\n')
  const walked = await walkWithDom(seeds, (pages) => console.error(`walked ${pages} URLs`))
  const isPage = ({ status, type }: WalkedPage): boolean => status === 200 && type === 'text/html'
  const pages = [...walked].filter(([, page]) => isPage(page))
  const missing = [...walked.keys()].filter((url) => !urls.has(url))
  const more = [...urls.keys()].filter((url) => !walked.has(url))
  expect(
    missing.length + more.length === 0,
    `${walked.size} URLs walked, ${urls.size} crawled; ${some(missing)} missing, ${some(more)} more`,
  )
  const otherwise = pages.filter(
    ([url, page]) => endOf(facts, url) !== `${page.status} ${page.bodyBytes} ${page.content}`,
  )
  expect(
    otherwise.length === 0,
    `${pages.length} pages of HTML, ${some(otherwise.map(([url]) => url))} with another answer or body`,
  )
  const rest = [...walked].filter(([url, page]) => !isPage(page) && urls.get(url)?.status !== page.status)
  expect(
    rest.length === 0,
    `${walked.size - pages.length} other answers, ${some(rest.map(([url]) => url))} with another status`,
  )
}

function endOf(facts: CrawlFacts, url: string): string | undefined {
  return facts.urls.get(keyOf(url))?.end
}

function some(urls: readonly string[]): string {
  return urls.length === 0 ? 'none' : `${urls.length} (${urls.slice(0, 3).join(' ')})`
}

/** Alternating runs, so that whatever else the machine does hits all alike. */
async function measure(web: DocsWeb, folder: string): Promise<void> {
  const rounds: Record<'crawler' | 'drain' | 'wget2', number[]> = { crawler: [], drain: [], wget2: [] }
  const hasWget2 = spawnSync('wget2', ['--version']).status === 0
  for (let round = 0; round < Number(values.pairs); round++) {
    const root = join(folder, `timed-${round}`)
    await web.clear()
    const { ms } = await crawl(web, root)
    rounds.crawler.push((web.served().pages * 1000) / ms)
    rmSync(root, { recursive: true })
    rounds.drain.push(drain(web))
    if (hasWget2) rounds.wget2.push(await wget2(web, folder))
  }
  if (rounds.crawler.length === 0) return
  console.log(
    `load of the machine ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  for (const [name, speeds] of Object.entries(rounds))
    if (speeds.length > 0) console.log(`${name.padEnd(8)} ${speedsText(speeds)}`)
  const [ours, bare, peer] = [rounds.crawler, rounds.drain, rounds.wget2].map(median)
  console.log(
    `crawler / drain ${(ours / bare).toFixed(2)}${hasWget2 ? `, crawler / wget2 ${(ours / peer).toFixed(2)}` : ''}`,
  )
}

function drain(web: DocsWeb): number {
  const script = join(ROOT, 'scripts', 'bench', 'drain.mjs')
  const line = execFileSync(process.execPath, [script, web.urlsFile], { encoding: 'utf8' })
  return (JSON.parse(line) as { pagesPerSecond: number }).pagesPerSecond
}

/** Counted by the server, since wget2 may fail to end when it is done. */
async function wget2(web: DocsWeb, folder: string): Promise<number> {
  await web.clear()
  const seeds = readFileSync(web.seedsFile, 'utf8').trim().split('\n')
  const options = [
    '-r',
    '-l',
    'inf',
    '--max-threads=16',
    '--http2=off',
    '-q',
    '--no-robots',
    '-H',
    '-D',
    web.hosts.join(','),
  ]
  const directory = join(folder, 'wget2')
  spawnSync('wget2', [...options, '-P', directory, ...seeds], {
    timeout: WGET2_SECONDS_MAX * 1000,
    killSignal: 'SIGTERM',
  })
  rmSync(directory, { recursive: true, force: true })
  return web.served().pagesPerSecond ?? 0
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

function speedsText(speeds: readonly number[]): string {
  const sorted = speeds.toSorted((a, b) => a - b)
  const whole = (speed: number): string => speed.toFixed(0)
  return `${whole(median(speeds)).padStart(6)} pages/s (${whole(sorted[0])} to ${whole(sorted[sorted.length - 1])}, ${speeds.length} runs)`
}

await main()
