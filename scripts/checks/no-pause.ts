/**
 * Checkpoints do not hold up the crawl: the documentation web (docs-web.ts) is crawled with frequent checkpoints and
 * without any, in alternating pairs.
 *
 *     node scripts/checks/no-pause.ts [--pairs 5] [--after 1ms] [--folder DIR]      needs root for nginx
 *
 * Of each crawl: pages a second, and a second of CPU of the crawl's thread; the longest pause of the loop (perf_hooks,
 * sampled each millisecond); the longest that thread was kept by a checkpoint at once, at its begin or its end, and how
 * much CPU it took for it. Goals, by medians: no pause longer than 50 ms more than without, pages a second at least 95 %
 * of those without. Other work of the machine shows in all but the CPU. COPIES=3 in the environment makes a larger web.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { resolveSettings } from '../../src/core/settings.ts'
import { parseDurationMs } from '../../src/core/units.ts'
import { startCrawl } from '../../src/crawl/starting.ts'
import type { Checkpointer } from '../../src/env/checkpointer.ts'
import { startDocsWeb } from './docs-web.ts'

const PORT = 8097
const PAUSE_MS_MAX = 50
const SPEED_MIN = 0.95
/** So late that none is made. */
const NEVER_MS = 2 ** 31 - 1

/** What one crawl came to. */
interface Figures {
  readonly pages: number
  readonly pagesPerSecond: number
  readonly pagesPerCpuSecond: number
  readonly pauseMs: number
  /** Checkpoints built while crawling, and those that were not. */
  readonly checkpoints: number
  readonly failures: number
  /** The longest of all builds, in its thread; the longest of what the crawl's thread had to do for one. */
  readonly buildMs: number
  readonly ownMs: number
  readonly ownCpuMs: number
}

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    after: { type: 'string', default: '1ms' },
    folder: { type: 'string', default: tmpdir() },
    // Of the process that crawls: the file of the seeds, and DIR.
    seeds: { type: 'string' },
    dir: { type: 'string' },
  },
})
const afterMs = parseDurationMs(values.after) ?? 0

if (values.seeds !== undefined && values.dir !== undefined) {
  console.log(JSON.stringify(await crawl(values.seeds, values.dir, afterMs)))
} else comparePairs(Number(values.pairs))

/** One crawl, in this process. */
async function crawl(seedsFile: string, root: string, checkpointAfterMs: number): Promise<Figures> {
  const settings = resolveSettings({ delayMs: 0, freeBytesMin: 0, checkpointAfterMs })
  const built: number[] = []
  let failures = 0
  const { crawl: running, close } = await startCrawl(
    root,
    settings,
    { urls: [], files: [seedsFile], stream: undefined },
    {
      onMessage: (level, text, facts) => {
        if (text === 'checkpoint') built.push(Number(facts?.ms))
        if (text.includes('checkpoint') && level === 'warn') failures++
        if (level !== 'info') console.error(text)
      },
    },
  )
  const own = measureOwnWork(running.env.checkpointer)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const startedMs = performance.now()
  const startedCpuMs = threadCpuMs()
  const end = await running.run()
  const seconds = (performance.now() - startedMs) / 1000
  const cpuSeconds = (threadCpuMs() - startedCpuMs) / 1000
  delay.disable()
  const checkpoints = built.length
  const buildMs = Math.max(0, ...built)
  await close()
  const { done, failed } = end.status
  return {
    pages: done + failed,
    pagesPerSecond: (done + failed) / seconds,
    pagesPerCpuSecond: (done + failed) / cpuSeconds,
    pauseMs: delay.max / 1e6,
    ...{ checkpoints, failures, buildMs, ownMs: own.longestMs, ownCpuMs: own.longestCpuMs },
  }
}

/** Times what the crawl's own thread does for checkpoints: beginning one, and writing its row and tidying. */
function measureOwnWork(checkpointer: Checkpointer): { longestMs: number; longestCpuMs: number } {
  const own = { longestMs: 0, longestCpuMs: 0 }
  const timed = <T>(act: () => T): T => {
    const startedMs = performance.now()
    const startedCpuMs = threadCpuMs()
    const result = act()
    own.longestMs = Math.max(own.longestMs, performance.now() - startedMs)
    own.longestCpuMs = Math.max(own.longestCpuMs, threadCpuMs() - startedCpuMs)
    return result
  }
  const build = checkpointer.build.bind(checkpointer)
  checkpointer.build = (job, done) => timed(() => build(job, (built) => timed(() => done(built))))
  return own
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function comparePairs(pairs: number): void {
  const web = startDocsWeb(PORT)
  const folder = mkdtempSync(join(values.folder, 'no-pause-'))
  const withOut: Figures[] = []
  const withThem: Figures[] = []
  try {
    for (let pair = 0; pair < pairs; pair++) {
      // Who is first changes, so that neither always has the warmer cache.
      for (const isFrequent of pair % 2 === 0 ? [false, true] : [true, false]) {
        const figures = crawlApart(web.seedsFile, join(folder, `${pair}-${isFrequent}`), isFrequent)
        ;(isFrequent ? withThem : withOut).push(figures)
        console.log(`${isFrequent ? 'with   ' : 'without'} ${JSON.stringify(figures, rounded)}`)
      }
    }
  } finally {
    web.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  conclude(withOut, withThem)
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10) / 10 : value
}

/** A process for each crawl: none inherits the heap of the one before. */
function crawlApart(seedsFile: string, root: string, isFrequent: boolean): Figures {
  const after = String(isFrequent ? afterMs : NEVER_MS)
  const args = [import.meta.filename, '--seeds', seedsFile, '--dir', root, '--after', after]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  rmSync(root, { recursive: true })
  return JSON.parse(output) as Figures
}

function conclude(withOut: readonly Figures[], withThem: readonly Figures[]): void {
  const of = (all: readonly Figures[], name: keyof Figures): number => median(all.map((figures) => figures[name]))
  const ratiosOf = (name: keyof Figures): number[] => withThem.map((figures, i) => figures[name] / withOut[i][name])
  const [pauseMs, pauseMsWithout] = [of(withThem, 'pauseMs'), of(withOut, 'pauseMs')]
  const [ownMs, ownCpuMs] = [of(withThem, 'ownMs'), of(withThem, 'ownCpuMs')]
  const speeds = ratiosOf('pagesPerSecond')
  const checkpoints = of(withThem, 'checkpoints')
  console.log(`checkpoints in a crawl ${checkpoints}`)
  console.log(`longest pause ${pauseMs.toFixed(1)} ms with, ${pauseMsWithout.toFixed(1)} ms without`)
  console.log(`of it for a checkpoint at most ${ownMs.toFixed(1)} ms, ${ownCpuMs.toFixed(1)} ms of CPU`)
  console.log(
    `pages a second, with / without ${median(speeds).toFixed(3)} (${speeds.map((ratio) => ratio.toFixed(2)).join(' ')})`,
  )
  console.log(`pages a second of CPU, with / without ${median(ratiosOf('pagesPerCpuSecond')).toFixed(3)}`)
  const isQuick = pauseMs - pauseMsWithout <= PAUSE_MS_MAX && ownMs <= PAUSE_MS_MAX && median(speeds) >= SPEED_MIN
  console.log(isQuick && checkpoints > 0 ? 'Within the goals.' : 'NOT within the goals.')
  process.exitCode = isQuick && checkpoints > 0 ? 0 : 1
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]
}
