/**
 * One life of a crawling process: begun by `start` or `resume`, killed by SIGKILL at a moment of our choice, and what it
 * said of itself right before.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { readOwner } from '../../src/adapters/lock.ts'
import { askCrawl, socketPathOf } from '../../src/crawl/control.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, crawlIn, readCrawl } from '../../src/crawl/reading.ts'
import type { Status } from '../../src/crawl/status.ts'
import { type Program, startProgram } from './program.ts'

/** When a life ends: while Node starts, the log is replayed, it crawls, a segment is compressed, it stops in order. */
export type Phase = 'start-up' | 'replay' | 'crawl' | 'seal' | 'stop'

export interface Moment {
  readonly phase: Phase
  /** How long into the phase, milliseconds. */
  readonly afterMs: number
}

export interface Life {
  readonly phase: Phase
  /** `killed`, or the exit code of a process that was quicker. */
  readonly end: 'killed' | number
  /** What it said right before it was killed. */
  readonly status: Status | undefined
  readonly stderr: string
}

export interface LifeOptions {
  readonly root: string
  /** Arguments of `start`, without `--dir`. */
  readonly start: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Lives one life. */
export async function live({ root, start, env }: LifeOptions, moment: Moment): Promise<Life> {
  const isThere = crawlIn(nodeDisk, layoutOf(root)) !== undefined
  const args = isThere ? ['resume', root] : ['start', ...start, '--dir', root]
  const program = startProgram([...args, '--quiet'], { env })
  const status = await waitFor(program, root, moment)
  const wasKilled = !program.hasEnded() && program.child.kill('SIGKILL')
  const code = await program.ended
  const end = wasKilled && code === 'SIGKILL' ? 'killed' : Number(code)
  return { phase: moment.phase, end, status, stderr: program.stderr() }
}

async function waitFor(program: Program, root: string, { phase, afterMs }: Moment): Promise<Status | undefined> {
  const passed = (ms: number): Promise<unknown> => Promise.race([sleep(ms, undefined, { ref: false }), program.ended])
  if (phase === 'start-up') {
    await passed(afterMs)
    return undefined
  }
  // The lock is taken right before the log is opened.
  while (!program.hasEnded() && readOwner(root)?.pid !== program.pid) await sleep(1)
  if (phase === 'replay') {
    await passed(afterMs)
    return undefined
  }
  while (!program.hasEnded() && (await askStatus(root)) === undefined) await sleep(2)
  if (phase === 'seal') while (!program.hasEnded() && !isSealing(root)) await passed(1)
  await passed(phase === 'stop' ? afterMs * 2 : afterMs)
  const status = program.hasEnded() ? undefined : await askStatus(root)
  if (phase === 'stop') {
    program.child.kill('SIGTERM')
    await passed(afterMs / 4)
  }
  return status
}

/** A segment of pages is being rewritten. */
function isSealing(root: string): boolean {
  return nodeDisk.list(`${layoutOf(root).shard(0)}/pages`).some((name) => name.endsWith('.tmp'))
}

async function askStatus(root: string): Promise<Status | undefined> {
  return (await askCrawl(socketPathOf(root), { do: 'status' })) as Status | undefined
}

/** What a process said of itself is what the log still says of that record. Errors: a difference. */
export function compareWithReplay(root: string, said: Status): void {
  const past = readCrawl(nodeDisk, layoutOf(root), { kind: 'sequence', sequence: Number(said.seq) })
  closeLogs(past.logs)
  assert.deepEqual(past.status, said)
}
