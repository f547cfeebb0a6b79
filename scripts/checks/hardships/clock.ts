/** The wall clock is set while the crawl runs, and between two runs: shard time goes on, and delays hold. */
import { readFileSync, writeFileSync } from 'node:fs'
import { nodeDisk } from '../../../src/adapters/disk.ts'
import { layoutOf } from '../../../src/crawl/layout.ts'
import { openShardLogs } from '../../../src/shard/opening.ts'
import type { LoggedRequest } from '../../demo/web.ts'
import { runProgram } from '../program.ts'
import type { Bench, Hardship } from './case.ts'

const HOUR_MS = 3_600_000
const DELAY_MS = 60
/** Requests are timed where they arrive, so a few milliseconds may be lost on the way. */
const SLACK_MS = 5

export const clock: Hardship = {
  title: 'clock stepping',
  run: async (bench) => {
    const steps = bench.path('steps.mjs')
    // The process believes its clock to be set again and again: an hour back, two forward, …
    writeFileSync(
      steps,
      `const now = Date.now; const start = performance.now()
       Date.now = () => now() + (Math.floor((performance.now() - start) / 700) % 2 === 0 ? ${HOUR_MS} : -${HOUR_MS})\n`,
    )
    const environment = { env: { NODE_OPTIONS: `--import=${steps}` } }
    const seen = requestsOf(bench).length
    const dir = bench.path('crawl')
    const options = ['--delay', `${DELAY_MS}ms`, '--delay-max', '100ms', '--min-free', '0', '--quiet']
    const start = ['start', ...bench.web.seeds, '--dir', dir, ...options, '--max-pages', '60']
    bench.expectCode(await runProgram(start, environment), 3, 'a crawl while the clock steps to and fro')
    // And then an hour back, as the next process finds it.
    bench.expectCode(
      await runProgram(['resume', dir, '--quiet', '--max-pages', 'none']),
      0,
      'resume with the clock far back',
    )
    await bench.expectWhole('crawl')
    const back = stepsBack(dir)
    bench.expect(back === 0, 'times in the log never go back', `${back} steps back`)
    const gaps = shortGaps(requestsOf(bench).slice(seen))
    bench.expect(
      gaps.length === 0,
      `no host is asked again within ${DELAY_MS} ms`,
      gaps.length === 0 ? 'none is' : gaps.slice(0, 3).join(', '),
    )
  },
}

function stepsBack(dir: string): number {
  const logs = openShardLogs(nodeDisk, layoutOf(dir).shard(0), 'read')
  let back = 0
  let beforeMs = 0
  for (const { number } of logs.events.segments) {
    logs.events.scan(number, ({ timeMs }) => {
      if (timeMs < beforeMs) back++
      beforeMs = timeMs
    })
  }
  logs.events.close()
  logs.pages.close()
  return back
}

function requestsOf(bench: Bench): LoggedRequest[] {
  const lines = readFileSync(bench.web.logFile, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LoggedRequest)
}

/** Arrivals at a host closer together than the delay; it counts from the end of an answer, so they are farther apart. */
function shortGaps(requests: readonly LoggedRequest[]): string[] {
  const gaps: string[] = []
  const last = new Map<string, LoggedRequest>()
  for (const request of requests) {
    const { host, time, path } = request
    const before = last.get(host)
    // A connection that was reset may be tried once more at once: see compareRequests.
    const isSecondTry = before?.status === 0 && before.path === path
    const gapMs = time - (before?.time ?? Number.NEGATIVE_INFINITY)
    if (gapMs < DELAY_MS - SLACK_MS && !isSecondTry) gaps.push(`${host}${path} after ${gapMs.toFixed(1)} ms`)
    last.set(host, request)
  }
  return gaps
}
