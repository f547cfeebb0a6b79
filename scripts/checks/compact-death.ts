/**
 * Death while a crawl is compacted: the command itself is killed by SIGKILL at random moments, and each time the crawl
 * must be the same as before, sound, and compacted by the next attempt.
 *
 *     node scripts/checks/compact-death.ts [--kills N] [--pages N] [--seed TEXT]
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { decodeContent } from '../../src/adapters/content.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { readOwner } from '../../src/adapters/lock.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { readManifest } from '../../src/crawl/manifest.ts'
import { closeLogs, readCrawl } from '../../src/crawl/reading.ts'
import { verifyCrawl } from '../../src/crawl/verifying.ts'
import { type Chance, chanceOf } from '../demo/random.ts'
import { runProgram, startProgram } from './program.ts'

export interface CompactDeathOptions {
  readonly kills: number
  /** Pages of the crawl that is compacted. */
  readonly pages: number
  readonly seed: string
  readonly tell: (line: string) => void
}

export interface CompactDeathReport {
  readonly differences: readonly string[]
  readonly kills: number
  /** Kills after which the new generation counted. */
  readonly compacted: number
  /** Kills that left files of another generation, or half of one. */
  readonly leftovers: number
}

/** Small segments: there is something to seal, to link and to empty. */
const ENV = { CRAWLER_SEGMENT_BYTES: '200000' }

export async function compactDeath({ kills, pages, seed, tell }: CompactDeathOptions): Promise<CompactDeathReport> {
  const folder = mkdtempSync(join(tmpdir(), 'compact-death-'))
  const chance = chanceOf(seed)
  const base = join(folder, 'base')
  const differences: string[] = []
  try {
    await makeCrawl(base, pages)
    const wanted = factsOf(base)
    const workMs = await measure(base, join(folder, 'measured'))
    tell(`${wanted.seen} URLs; a compaction takes ${Math.round(workMs)} ms`)
    let compacted = 0
    let leftovers = 0
    for (let kill = 1; kill <= kills; kill++) {
      const root = join(folder, 'killed')
      cpSync(base, root, { recursive: true })
      await killOnce(root, chance, workMs)
      const names = nodeDisk.list(layoutOf(root).shard(0)).filter((name) => name.startsWith('log'))
      if (names.length > 1) leftovers++
      if ((readManifest(nodeDisk, layoutOf(root))?.generation ?? 0) > 0) compacted++
      compare(root, wanted, `kill ${kill}, ${names.join(' ')}`, differences)
      // The next one has all to do, or nothing.
      const ended = await runProgram(['compact', root, '--json'], { env: ENV })
      if (ended.code !== 0)
        differences.push(`kill ${kill}: the next compaction ends with ${ended.code}: ${ended.stderr}`)
      compare(root, wanted, `after kill ${kill} and a compaction`, differences)
      rmSync(root, { recursive: true })
      if (kill % 20 === 0) tell(`${kill} kills, ${compacted} of them after the new generation counted`)
    }
    return { differences, kills, compacted, leftovers }
  } finally {
    if (differences.length === 0) rmSync(folder, { recursive: true, force: true })
    else tell(`kept: ${folder}`)
  }
}

/** A finished crawl of which a part is pending again: pages that nothing will refer to, queues, done and failed URLs. */
async function makeCrawl(root: string, pages: number): Promise<void> {
  const server = createServer((request, response) => {
    const number = Number(/^\/p(\d+)$/.exec(request.url ?? '')?.[1] ?? -1)
    if (number < 0 || number % 7 === 3) return void response.writeHead(404).end(`none here: ${'-'.repeat(2000)}`)
    const links = [1, 2, 3, 5, 8, 13, 21].map((step) => `<a href="/p${(number * step + step) % pages}">x</a>`)
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${number}</p>${links.join('')}`)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const options = ['--delay', '0', '--retries', '0', '--min-free', '0', '--quiet']
    for (const args of [
      ['start', `${origin}/p1`, ...options, '--dir', root],
      ['retry', root],
    ]) {
      const ended = await runProgram(args, { env: ENV })
      if (ended.code !== 0) throw new Error(`${args[0]} ended with ${ended.code}: ${ended.stderr}`)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** Milliseconds from the lock to the end of a compaction that nothing disturbs. */
async function measure(base: string, root: string): Promise<number> {
  cpSync(base, root, { recursive: true })
  const program = startProgram(['compact', root], { env: ENV })
  while (!program.hasEnded() && readOwner(root)?.pid !== program.pid) await sleep(1)
  const startedMs = performance.now()
  const code = await program.ended
  if (code !== 0) throw new Error(`compact ended with ${code}: ${program.stderr()}`)
  rmSync(root, { recursive: true })
  return performance.now() - startedMs
}

async function killOnce(root: string, chance: Chance, workMs: number): Promise<void> {
  const program = startProgram(['compact', root], { env: ENV })
  while (!program.hasEnded() && readOwner(root)?.pid !== program.pid) await sleep(1)
  await Promise.race([sleep(chance.between(0, Math.ceil(workMs * 10)) / 10, undefined, { ref: false }), program.ended])
  if (!program.hasEnded()) program.child.kill('SIGKILL')
  await program.ended
}

/** What must stay, whatever happens to a compaction. */
function factsOf(root: string) {
  const past = readCrawl(nodeDisk, layoutOf(root))
  closeLogs(past.logs)
  const { seq, events, time, ...facts } = past.status
  return facts
}

function compare(root: string, wanted: ReturnType<typeof factsOf>, when: string, differences: string[]): void {
  try {
    const found = JSON.stringify(factsOf(root))
    if (found !== JSON.stringify(wanted)) differences.push(`${when}: ${found}, not ${JSON.stringify(wanted)}`)
    const { troubles } = verifyCrawl(nodeDisk, layoutOf(root), decodeContent)
    for (const { message, isDamage } of troubles) if (isDamage) differences.push(`${when}: ${message}`)
  } catch (error) {
    differences.push(`${when}: ${(error as Error).message}`)
  }
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      pages: { type: 'string', default: '3000' },
      seed: { type: 'string', default: String(Date.now()) },
    },
  })
  console.log(`seed ${values.seed}`)
  const { differences, ...report } = await compactDeath({
    ...{ kills: Number(values.kills), pages: Number(values.pages), seed: values.seed, tell: console.log },
  })
  for (const line of differences.slice(0, 50)) console.log(`DIFFERENCE  ${line}`)
  console.log(
    JSON.stringify(report),
    differences.length === 0 ? 'No difference.' : `${differences.length} differences.`,
  )
  process.exitCode = differences.length === 0 ? 0 : 1
}
