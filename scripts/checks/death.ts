/**
 * Death on real input: the crawl of the four manuals (see corpus.ts), killed by SIGKILL at 30 random moments, comes to
 * what it comes to undisturbed.
 *
 *     node scripts/checks/death.ts [--kills N] [--seed TEXT]      needs root for nginx
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Chance, chanceOf } from '../demo/random.ts'
import { compareRequests, compareWithUndisturbed, urlsOf } from './comparing.ts'
import { factsOfCrawl } from './crawl-facts.ts'
import { type DocsWeb, startDocsWeb } from './docs-web.ts'
import { compareWithReplay, type Life, live, type Moment } from './killing.ts'
import { runProgram } from './program.ts'

const PORT = 8096
/** Enough segments that some are sealed and compressed in most lives. */
const ENV = { CRAWLER_SEGMENT_BYTES: String(8 * 1024 * 1024) }
const OPTIONS = ['--delay', '0', '--min-free', '0']

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '30' }, seed: { type: 'string', default: String(Date.now()) } },
})
const differences: string[] = []

async function main(): Promise<void> {
  console.log(`seed ${values.seed}`)
  const folder = mkdtempSync(join(tmpdir(), 'death-'))
  const web = startDocsWeb(PORT)
  try {
    const undisturbed = join(folder, 'undisturbed')
    const run = await runProgram(['start', '--seeds', web.seedsFile, '--dir', undisturbed, '--quiet', ...OPTIONS], {
      env: ENV,
    })
    if (run.code !== 0) throw new Error(`the undisturbed crawl ended with ${run.code}: ${run.stderr}`)
    await web.clear()
    const disturbed = join(folder, 'disturbed')
    await dieOften(web, disturbed, chanceOf(values.seed))
    await compare(web, undisturbed, disturbed)
  } finally {
    web.stop()
    if (differences.length === 0) rmSync(folder, { recursive: true, force: true })
    else console.log(`kept: ${folder}`)
  }
  for (const line of differences.slice(0, 50)) console.log(`DIFFERENCE  ${line}`)
  console.log(differences.length === 0 ? 'No difference.' : `${differences.length} differences.`)
  process.exitCode = differences.length === 0 ? 0 : 1
}

async function dieOften(web: DocsWeb, root: string, chance: Chance): Promise<void> {
  const options = { root, start: ['--seeds', web.seedsFile, ...OPTIONS], env: ENV }
  const kills: Record<string, number> = {}
  let statuses = 0
  for (let killed = 0; ; ) {
    const life = await live(options, killed < Number(values.kills) ? momentOf(chance) : UNTIL_THE_END)
    if (life.status !== undefined) {
      statuses++
      compareStatus(root, life)
    }
    if (life.end === 'killed') {
      killed++
      kills[life.phase] = (kills[life.phase] ?? 0) + 1
      console.log(
        `kill ${killed} during ${life.phase}: ${life.status?.done ?? '?'} done, record ${life.status?.seq ?? '?'}`,
      )
    } else if (life.end === 0) break
    else if (life.end !== 3) throw new Error(`a life ended with ${life.end}: ${life.stderr}`)
  }
  console.log(`kills ${JSON.stringify(kills)}; ${statuses} statuses compared with the replay up to their record`)
}

const UNTIL_THE_END: Moment = { phase: 'start-up', afterMs: 2 ** 30 }

function momentOf(chance: Chance): Moment {
  const draw = chance.next()
  if (draw < 0.1) return { phase: 'start-up', afterMs: chance.between(0, 600) }
  if (draw < 0.3) return { phase: 'replay', afterMs: chance.between(0, 300) }
  if (draw < 0.65) return { phase: 'crawl', afterMs: chance.between(100, 4000) }
  if (draw < 0.85) return { phase: 'seal', afterMs: chance.between(0, 60) }
  return { phase: 'stop', afterMs: chance.between(100, 500) }
}

function compareStatus(root: string, { status }: Life): void {
  if (status === undefined) return
  try {
    compareWithReplay(root, status)
  } catch (error) {
    differences.push(`status at ${status.seq}: ${(error as Error).message}`)
  }
}

async function compare(web: DocsWeb, undisturbed: string, disturbed: string): Promise<void> {
  const verified = await runProgram(['verify', disturbed])
  console.log(verified.stdout.trim())
  if (verified.code !== 0) differences.push(`verify ends with ${verified.code}: ${verified.stdout}`)
  const found = { urls: await urlsOf(disturbed), facts: factsOfCrawl(disturbed) }
  const wanted = { urls: await urlsOf(undisturbed), facts: factsOfCrawl(undisturbed) }
  differences.push(...compareWithUndisturbed(found, wanted))
  const requests = compareRequests(await web.requests(), found.facts)
  differences.push(...requests.differences)
  const given = [...found.facts.urls.values()].filter(({ deaths, stops }) => deaths + stops > 0).length
  console.log(
    `${found.urls.size} URLs; ${found.facts.opens} processes, ${found.facts.closes} ended in order; ` +
      `${requests.total} requests, ${requests.again} of them again; ${given} URLs were in flight at a death or a stop`,
  )
}

await main()
