/**
 * `npm run demo`: crawls a small web, kills the crawler half way, goes on, and shows what became of it.
 *
 * The web is served by this process, the crawler is the real program in a process of its own. Leaves logs/demo behind.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { askCrawl, socketPathOf } from '../../src/crawl/control.ts'
import type { Status } from '../../src/crawl/status.ts'
import { compareRequests, compareWithModel, urlsOf } from '../checks/comparing.ts'
import { type CrawlFacts, factsOfCrawl } from '../checks/crawl-facts.ts'
import { type Program, ROOT, runProgram, startProgram } from '../checks/program.ts'
import { command, Progress, quote, say, step, table } from './screen.ts'
import { type DemoWeb, startDemoWeb } from './web.ts'

const DIR = 'logs/demo'
/** A delay that makes the crawl last some seconds, and pauses after failures that do not outlast it. */
const OPTIONS = ['--delay', '80ms', '--delay-max', '250ms', '--min-free', '0']
const POLL_MS = 100

let running: Program | undefined

async function main(): Promise<void> {
  const web = await startDemoWeb({ seed: 'demo', pages: 260, hosts: 8 })
  try {
    await demonstrate(web)
  } finally {
    running?.child.kill('SIGKILL')
    await web.close()
  }
}

async function demonstrate(web: DemoWeb): Promise<void> {
  const expected = web.expected()
  step('A small web')
  say(
    `${web.seeds.length} hosts on 127.1.0.x, port ${web.port}, ${expected.length} URLs: pages that link to each other, redirects, ` +
      'loops, files, forbidden paths. Some pages fail at first; one host is slow, one breaks connections, one is dead.',
  )
  if (existsSync(join(ROOT, DIR))) {
    say(`Removing ${DIR} of an earlier run.`)
    rmSync(join(ROOT, DIR), { recursive: true })
  }

  step('Crawl it')
  command(`crawler start ${web.seeds[0]} … --delay 80ms --dir ${DIR}`)
  const half = Math.floor(expected.length / 2)
  const slowHost = new URL(web.seeds[web.seeds.length - 3]).host
  const isSlowOneAsked = (): boolean => web.log.at(-1)?.host === slowHost
  const start = ['start', ...web.seeds, '--dir', DIR, ...OPTIONS]
  const before = await crawl(start, expected.length, half, isSlowOneAsked)
  if (before.status === undefined) throw new Error(`the crawler ended too soon: ${before.stderr}`)

  step('Kill it half way, with SIGKILL: it cannot prepare for that')
  const killed = before.status
  say(`Process ${before.pid} is dead. The last it said, at record ${killed.seq}: digest ${killed.digest}.`)
  command(`crawler status ${DIR}`)
  quote((await runProgram(['status', DIR])).stdout)
  command(`crawler replay ${DIR} --until @${killed.seq} --json`)
  const past = JSON.parse((await runProgram(['replay', DIR, '--until', `@${killed.seq}`, '--json'])).stdout) as Status
  say(`digest ${past.digest}: ${past.digest === killed.digest ? 'the same' : 'ANOTHER ONE'}.`)

  step('Go on')
  command(`crawler resume ${DIR}`)
  const after = await crawl(['resume', DIR], expected.length)
  if (after.code !== 0) throw new Error(`resume ended with ${after.code}: ${after.stderr}`)
  await conclude(web, JSON.parse(after.stdout) as Status, killed)
}

interface Ran {
  readonly pid: number
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
  /** The last it said of itself while it ran. */
  readonly status: Status | undefined
}

/** Runs the crawler with a progress line; kills it once so many URLs are settled and the web is at work for it. */
async function crawl(
  args: readonly string[],
  urls: number,
  killAt = Number.POSITIVE_INFINITY,
  isBusy = () => true,
): Promise<Ran> {
  const program = startProgram([...args, '--quiet', '--json'])
  running = program
  const progress = new Progress(urls)
  let status: Status | undefined
  while (!program.hasEnded()) {
    const said = (await askCrawl(socketPathOf(join(ROOT, DIR)), { do: 'status' })) as Status | undefined
    if (said !== undefined) {
      status = said
      progress.show(settled(said), `${said.done} done, ${said.failed} failed, ${said.processing} in flight`)
      if (settled(said) >= killAt) {
        while (!isBusy() && !program.hasEnded()) await sleep(1)
        program.child.kill('SIGKILL')
      }
    }
    await Promise.race([sleep(POLL_MS, undefined, { ref: false }), program.ended])
  }
  const code = await program.ended
  const last = code === 0 ? (JSON.parse(program.stdout()) as Status) : status
  if (code === 0 && last !== undefined)
    progress.show(settled(last), `${last.done} done, ${last.failed} failed, finished`)
  progress.end()
  return { pid: program.pid, code, stdout: program.stdout(), stderr: program.stderr(), status }
}

function settled({ done, failed, refused }: Status): number {
  return done + failed + refused
}

async function conclude(web: DemoWeb, live: Status, killed: Status): Promise<void> {
  const facts = factsOfCrawl(join(ROOT, DIR))
  const urls = await urlsOf(DIR)
  const replayed = JSON.parse((await runProgram(['replay', DIR, '--json'])).stdout) as Status
  const verified = await runProgram(['verify', DIR])
  const strange = compareWithModel(urls, web.expected())
  const requests = compareRequests(web.log, facts)

  step('What happened')
  table([
    ['URLs', `${live.seen} seen: ${live.done} done, ${live.failed} failed, ${live.refused} refused`],
    ['hosts', `${live.hosts}, ${live.badHosts} of them bad: nobody answers there`],
    ['retries', `${sum(facts, 'retries')} requests were tried again later, after an error or a broken connection`],
    ['the kill', killText(facts)],
    [
      'requests',
      `${requests.total}; ${verdict(requests.differences, 'none twice but for a retry, the kill, a reset')}`,
    ],
    ['outcome', verdict(strange, 'each URL ended as the model of this web says it must')],
    ['digest', `live ${live.digest}`],
    ['', `replayed ${replayed.digest}: ${replayed.digest === live.digest ? 'the same' : 'ANOTHER ONE'}`],
    ['verify', verified.code === 0 ? 'all is well' : `exit ${verified.code}`],
  ])

  step('Try next')
  command(`npx crawler urls ${DIR} --state failed --json`)
  command(`npx crawler explain ${retriedUrl(facts) ?? web.seeds[0]} ${DIR}`)
  command(`npx crawler replay ${DIR} --until @${killed.seq}`)
  const isRight = strange.length + requests.differences.length === 0
  if (!isRight || replayed.digest !== live.digest || verified.code !== 0) process.exitCode = 1
}

function killText(facts: CrawlFacts): string {
  const given = [...facts.urls.values()].filter(({ deaths }) => deaths > 0)
  if (given.length === 0) return 'no URL was in flight at that moment'
  const names = given
    .slice(0, 2)
    .map(({ url }) => new URL(url).pathname)
    .join(', ')
  return `${given.length} in flight, given back and asked for again: ${names}${given.length > 2 ? ', …' : ''}`
}

function sum(facts: CrawlFacts, field: 'retries' | 'deaths'): number {
  return [...facts.urls.values()].reduce((total, url) => total + url[field], 0)
}

function verdict(differences: readonly string[], good: string): string {
  return differences.length === 0 ? good : `NOT AS IT SHOULD BE: ${differences.slice(0, 3).join('; ')}`
}

/** A URL with a story to tell. */
function retriedUrl(facts: CrawlFacts): string | undefined {
  const told = [...facts.urls.values()].filter(({ url }) => url.length > 0 && url.length < 40)
  return (told.find(({ deaths }) => deaths > 0) ?? told.find(({ retries }) => retries > 0))?.url
}

await main()
