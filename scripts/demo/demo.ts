/**
 * `npm run demo`: crawls a small web, kills the crawler half way, goes on, shows what became of it, lets the past go on a
 * second time, and compacts it.
 *
 * The web is served by this process, the crawler is the real program in a process of its own. Leaves logs/demo and
 * logs/demo-fork behind.
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
const FORK = 'logs/demo-fork'
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
  for (const dir of [DIR, FORK]) {
    if (!existsSync(join(ROOT, dir))) continue
    say(`Removing ${dir} of an earlier run.`)
    rmSync(join(ROOT, dir), { recursive: true })
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
  const live = JSON.parse(after.stdout) as Status
  await conclude(web, live)
  await rewind(killed, expected.length)
  await compact(live)

  step('Try next')
  command(`npx crawler urls ${DIR} --state failed --json`)
  command(`npx crawler explain ${web.seeds[0]} ${DIR}`)
  command(`npx crawler export jsonl ${FORK} --state done`)
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
  dir = DIR,
): Promise<Ran> {
  const program = startProgram([...args, '--quiet', '--json'])
  running = program
  const progress = new Progress(urls)
  let status: Status | undefined
  while (!program.hasEnded()) {
    const said = (await askCrawl(socketPathOf(join(ROOT, dir)), { do: 'status' })) as Status | undefined
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

async function conclude(web: DemoWeb, live: Status): Promise<void> {
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

  const isRight = strange.length + requests.differences.length === 0
  if (!isRight || replayed.digest !== live.digest || verified.code !== 0) process.exitCode = 1
}

/** The moment of the kill once more: another crawl goes on from there, and comes to the same end. */
async function rewind(killed: Status, urls: number): Promise<void> {
  step('Rewind to the kill, and let that past go on by itself')
  command(`crawler replay ${DIR} --until @${killed.seq} --fork ${FORK} --delay 20ms`)
  const fork = ['replay', DIR, '--until', `@${killed.seq}`, '--fork', FORK, '--delay', '20ms', '--json']
  const forked = await runProgram(fork)
  if (forked.code !== 0) throw new Error(`the fork ended with ${forked.code}: ${forked.stderr}`)
  const then = JSON.parse(forked.stdout) as Status
  say(`A crawl of its own, with ${then.pending} URLs pending; it shares the files of its past with ${DIR}.`)
  command(`crawler resume ${FORK}`)
  const after = await crawl(['resume', FORK], urls, Number.POSITIVE_INFINITY, () => true, FORK)
  if (after.code !== 0) throw new Error(`resume ended with ${after.code}: ${after.stderr}`)
  const [own, others] = [await urlsOf(FORK), await urlsOf(DIR)]
  const strange = [...others].filter(([url, { state }]) => own.get(url)?.state !== state).map(([url]) => url)
  if (own.size !== others.size) strange.push(`${own.size} URLs, not ${others.size}`)
  say(verdict(strange, `${own.size} URLs, each in the state that it has in ${DIR}.`))
  if (strange.length > 0) process.exitCode = 1
}

/** What is not needed any more goes; the state stays. */
async function compact(live: Status): Promise<void> {
  step('Compact it')
  command(`crawler compact ${DIR}`)
  quote((await runProgram(['compact', DIR])).stdout)
  const verified = await runProgram(['verify', DIR])
  const now = JSON.parse((await runProgram(['status', DIR, '--json'])).stdout) as Status
  const isSame = now.digest === live.digest
  say(`digest ${now.digest}: ${isSame ? 'the same' : 'ANOTHER ONE'}; verify: exit ${verified.code}.`)
  if (!isSame || verified.code !== 0) process.exitCode = 1
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

await main()
