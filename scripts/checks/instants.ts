/**
 * The past is exact: what a crawl said of itself at many instants, while it ran, died and was changed, is what a replay
 * up to that instant says afterwards, by time and by record number.
 *
 *     node scripts/checks/instants.ts [--instants N] [--pages N] [--seed TEXT] [--then "COMMAND OPTIONS"]…
 *
 * The demo web is crawled with SIGKILLs, stops, retries, a dead host, and the acts of an operator between and beside them:
 * `add`, `retry`, `resume` under other rules. `status` is noted at N instants, outside DIR. `--then` runs a command of the
 * program on DIR afterwards (`--then compact`), after which all instants it has left must still be the same.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { askCrawl, socketPathOf } from '../../src/crawl/control.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, readCrawl, type Until } from '../../src/crawl/reading.ts'
import type { Status } from '../../src/crawl/status.ts'
import { type Chance, chanceOf } from '../demo/random.ts'
import { type Program, runProgram, startProgram } from './program.ts'
import { serveDemoWeb, type WebSizes } from './served-web.ts'

export interface InstantsOptions {
  readonly instants: number
  readonly web: WebSizes
  readonly seed: string
  readonly tell: (text: string) => void
  /** Commands of the program run on DIR afterwards, without DIR: `['compact', '--keep', '1s']`. */
  readonly afterwards?: ReadonlyArray<readonly string[]>
}

export interface InstantsReport {
  readonly noted: readonly Status[]
  readonly lives: number
  readonly kills: number
  readonly acts: Readonly<Record<string, number>>
  /** Instants that a command afterwards has left no past of. */
  gone: number
  readonly differences: string[]
}

/** Segments of a few hundred records, so that cuts fall into many of them. */
const ENV = { CRAWLER_SEGMENT_BYTES: '65536' }
const QUICK = ['--delay', '40ms', '--delay-max', '200ms', '--min-free', '0', '--quiet']
/** What `resume` is given in turn: narrower and wider rules, other limits. */
const CHANGES: ReadonlyArray<readonly string[]> = [
  [],
  ['--depth', '4'],
  ['--exclude', '/files/', '--keep-refused'],
  ['--no-exclude', '--concurrency', '12'],
  ['--depth', '200', '--retries', '1'],
]

/** Crawls, notes, and compares. */
export async function checkInstants(options: InstantsOptions): Promise<InstantsReport> {
  const folder = mkdtempSync(join(tmpdir(), 'instants-'))
  const root = join(folder, 'crawl')
  const report: { -readonly [K in keyof InstantsReport]: InstantsReport[K] } = {
    ...{ noted: [], lives: 0, kills: 0, acts: {}, gone: 0, differences: [] },
  }
  const web = await serveDemoWeb(options.web, join(folder, 'requests'))
  try {
    Object.assign(report, await crawlAndNote(root, web.seeds, options))
    writeFileSync(join(folder, 'instants.json'), JSON.stringify(report.noted))
  } finally {
    await web.stop()
  }
  report.differences.push(
    ...(await compareWithProgram(root, report.noted)),
    ...compareInstants(root, report.noted).differences,
  )
  for (const [command, ...rest] of options.afterwards ?? []) {
    const { code, stderr } = await runProgram([command, root, ...rest], { env: ENV })
    if (code !== 0) report.differences.push(`${command} ends with ${code}: ${stderr}`)
    const after = compareInstants(root, report.noted)
    report.gone = after.gone
    report.differences.push(...after.differences.map((text) => `after ${command}: ${text}`))
  }
  if (report.differences.length === 0) rmSync(folder, { recursive: true, force: true })
  else options.tell(`kept: ${folder}`)
  return report
}

/** What the log says of each instant against what was said then. Those before the kept range are counted, not compared. */
export function compareInstants(root: string, noted: readonly Status[]): { gone: number; differences: string[] } {
  const differences: string[] = []
  let gone = 0
  for (const [i, said] of noted.entries()) {
    const cuts: Until[] = [
      { kind: 'time', timeMs: Date.parse(said.time) },
      { kind: 'sequence', sequence: Number(said.seq) },
    ]
    for (const until of cuts) {
      try {
        const past = readCrawl(nodeDisk, layoutOf(root), until, undefined, i % 2 === 0)
        closeLogs(past.logs)
        if (!isDeepStrictEqual(past.status, said)) {
          differences.push(
            `${until.kind} of record ${said.seq}: ${JSON.stringify(past.status)} was ${JSON.stringify(said)}`,
          )
        }
      } catch (error) {
        if (error instanceof CrawlError && error.code === 'UNTIL_UNREACHABLE') gone++
        else differences.push(`${until.kind} of record ${said.seq}: ${(error as Error).message}`)
      }
    }
  }
  return { gone, differences }
}

/** The first and the last by the program itself. */
async function compareWithProgram(root: string, noted: readonly Status[]): Promise<string[]> {
  const differences: string[] = []
  for (const said of [noted[0], noted[noted.length - 1]]) {
    for (const until of [said.time, `@${said.seq}`]) {
      const { stdout } = await runProgram(['replay', root, '--until', until, '--json'])
      if (stdout.trim() !== JSON.stringify(said)) differences.push(`replay --until ${until}: ${stdout}`)
    }
  }
  return differences
}

type Noted = Pick<InstantsReport, 'noted' | 'lives' | 'kills' | 'acts'>

async function crawlAndNote(root: string, seeds: readonly string[], options: InstantsOptions): Promise<Noted> {
  const chance = chanceOf(options.seed)
  const noted: Status[] = []
  const acts: Record<string, number> = {}
  let lives = 0
  let kills = 0
  mkdirSync(root, { recursive: true })
  while (noted.length < options.instants) {
    const args =
      lives === 0 ? ['start', ...seeds.slice(0, -2), '--dir', root] : ['resume', root, ...chance.pick(CHANGES)]
    const program = startProgram([...args, ...QUICK], { env: ENV })
    const wanted = Math.min(options.instants - noted.length, chance.between(2, 8))
    await noteWhileItLives(program, root, wanted, chance, noted)
    lives++
    if (!program.hasEnded()) {
      // An operator's act beside it, then a death or a stop.
      if (chance.next() < 0.4) await act(root, seeds, chance, acts)
      const isKilled = chance.next() < 0.7
      if (program.child.kill(isKilled ? 'SIGKILL' : 'SIGTERM') && isKilled) kills++
    }
    const code = await program.ended
    if (code === 1 || code === 2 || code === 4) throw new Error(`a life ended with ${code}: ${program.stderr()}`)
    if (chance.next() < 0.5) await act(root, seeds, chance, acts)
    if (noted.length < options.instants) noted.push(await statusOfStopped(root))
    options.tell(`${noted.length} instants, ${lives} lives, ${kills} kills`)
  }
  return { noted, lives, kills, acts }
}

async function noteWhileItLives(
  program: Program,
  root: string,
  wanted: number,
  chance: Chance,
  noted: Status[],
): Promise<void> {
  for (let left = wanted; left > 0 && !program.hasEnded(); ) {
    const status = (await askCrawl(socketPathOf(root), { do: 'status' })) as Status | undefined
    if (status !== undefined) {
      noted.push(status)
      left--
    }
    await Promise.race([sleep(status === undefined ? 5 : chance.between(0, 150)), program.ended])
  }
}

async function act(
  root: string,
  seeds: readonly string[],
  chance: Chance,
  acts: Record<string, number>,
): Promise<void> {
  const [name, ...args] = chance.pick([
    ['add', ...seeds.slice(-2), '--dir', root],
    ['add', `${seeds[0]}no-such-page-${chance.between(1, 1000)}`, '--dir', root],
    ['retry', root],
    ['retry', root, '--class', 'http.status'],
  ])
  const { code, stderr } = await runProgram([name, ...args], { env: ENV })
  if (code !== 0) throw new Error(`${name} ends with ${code}: ${stderr}`)
  acts[name] = (acts[name] ?? 0) + 1
}

async function statusOfStopped(root: string): Promise<Status> {
  const { stdout, code, stderr } = await runProgram(['status', root, '--json'])
  if (code !== 0) throw new Error(`status ends with ${code}: ${stderr}`)
  return JSON.parse(stdout) as Status
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      instants: { type: 'string', default: '50' },
      pages: { type: 'string', default: '1500' },
      seed: { type: 'string', default: String(Date.now()) },
      // biome-ignore lint/suspicious/noThenProperty: the name of an option
      then: { type: 'string', multiple: true, default: [] },
    },
  })
  console.log(`seed ${values.seed}`)
  const report = await checkInstants({
    instants: Number(values.instants),
    web: { seed: 'instants', pages: Number(values.pages), hosts: 8 },
    seed: values.seed,
    tell: console.log,
    afterwards: values.then.map((command) => command.split(' ')),
  })
  const { differences, noted, ...figures } = report
  console.log(JSON.stringify({ instants: noted.length, ...figures }))
  for (const line of differences.slice(0, 20)) console.log(`DIFFERENCE  ${line}`)
  console.log(differences.length === 0 ? 'No difference.' : `${differences.length} differences.`)
  process.exitCode = differences.length === 0 ? 0 : 1
}

if (import.meta.main) await main()
