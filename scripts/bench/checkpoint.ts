/**
 * What building a checkpoint beside a crawl costs: time and memory of its thread, from the checkpoint before and, beside
 * it, from the start of the log.
 *
 *     node scripts/bench/checkpoint.ts [--urls 2000000] [--hosts 2000] [--tail 0.2] [FOLDER]
 *
 * A log of so many URLs is written, a checkpoint saved, and by `--tail` as many URLs more follow. Then processes build
 * the checkpoint at the end. Memory is the highest resident set less that before the build; time is CPU time.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClock } from '../../src/adapters/clock.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { createRandom } from '../../src/adapters/random.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import type { CheckpointJob } from '../../src/env/checkpointer.ts'
import type { Env } from '../../src/env/env.ts'
import { buildCheckpoint } from '../../src/shard/building.ts'
import { loadCheckpoint, saveCheckpoint } from '../../src/shard/checkpoint.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { type Shard, wake } from '../../src/shard/shard-parts.ts'
import { closeShard } from '../../src/shard/stopping.ts'
import { SimulatedCheckpoints } from '../../test/sim/checkpoints.ts'

/** URLs of an observation of seeds. */
const BATCH = 1000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    urls: { type: 'string', default: '2000000' },
    hosts: { type: 'string', default: '2000' },
    tail: { type: 'string', default: '0.2' },
    // Of a process that builds.
    job: { type: 'string' },
  },
})

if (values.job !== undefined) console.log(JSON.stringify(measure(JSON.parse(values.job) as CheckpointJob)))
else await compare(Number(values.urls), Number(values.hosts), Number(values.tail))

interface Measured {
  readonly cpuMs: number
  readonly memoryMB: number
  readonly items: number
}

function measure(job: CheckpointJob): Measured {
  const before = process.memoryUsage.rss()
  const cpu = process.cpuUsage()
  const built = buildCheckpoint(nodeDisk, job)
  if (built.kind !== 'built') throw new Error(built.why)
  const { user, system } = process.cpuUsage(cpu)
  const memoryMB = (process.resourceUsage().maxRSS * 1024 - before) / 1e6
  return { cpuMs: (user + system) / 1000, memoryMB, items: built.items }
}

async function compare(urls: number, hosts: number, tail: number): Promise<void> {
  const folder = mkdtempSync(join(positionals[0] ?? tmpdir(), 'checkpoint-'))
  const store = new SimulatedCheckpoints()
  try {
    const first = open(folder, store)
    await grow(first, 0, urls, hosts)
    closeShard(first, 'bench')
    const saved = saveCheckpoint(first, store, { saveMsMax: Number.POSITIVE_INFINITY })
    if (saved.kind !== 'saved') throw new Error(saved.why)
    const second = open(folder, store)
    await grow(second, urls, Math.round(urls * tail), hosts)
    closeShard(second, 'bench')
    const { urls: table, contents } = second.state
    console.log(`${table.count} URLs, image ${(saved.checkpoint.bytes / 1e6).toFixed(0)} MB`)
    console.log(`tables of URLs and contents ${((table.bytes + contents.bytes) / 1e6).toFixed(0)} MB`)
    const job = jobAtEnd(second, folder, store)
    for (let round = 0; round < 3; round++) {
      console.log(`from the checkpoint ${told(job)}; from the start ${told({ ...job, known: [] })}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function open(folder: string, store: SimulatedCheckpoints): Shard {
  const opened = openShardLogs(nodeDisk, folder, 'write')
  const checkpoint = loadCheckpoint(nodeDisk, folder, opened, store, 0)
  const web = { fetch: () => {}, stop: () => {} }
  const env = { clock: createClock(), random: createRandom(), disk: nodeDisk, web } as Partial<Env> as Env
  return openShard(env, folder, opened, {
    identity: { crawlId: new Uint8Array(16), shard: 0, generation: 0 },
    version: 'bench',
    pid: process.pid,
    shardCount: 1,
    settings: JSON.stringify(resolveSettings({ freeBytesMin: 0 })),
    act: 'bench',
    ...(checkpoint && { checkpoint }),
  })
}

/** Records seeds from number `start` on; nothing is fetched. */
async function grow(shard: Shard, start: number, count: number, hosts: number): Promise<void> {
  for (let from = start; from < start + count; from += BATCH) {
    const urls = Array.from({ length: BATCH }, (_, i) => `http://h${from % hosts}.test/section/page-${from + i}.html`)
    const observation = {
      kind: 'seeds',
      source: start === 0 ? 0 : 1,
      lines: from + BATCH,
      isLast: false,
      urls,
    } as const
    await new Promise<void>((done) => {
      shard.inbox.push({ kind: 'owner', observation, done: () => {} })
      shard.onTurn = done
      wake(shard)
    })
  }
}

function jobAtEnd(shard: Shard, directory: string, store: SimulatedCheckpoints): CheckpointJob {
  const { events, state, clock } = shard
  const { segment, position } = events.synced
  const place = { shard: 0, generation: 0, segment, position, sequence: events.sequence - 1 }
  const mark = { ...place, timeMs: clock.lastRecordMs, digest: state.digest.toHex() }
  return { directory, mark, known: store.checkpointsBefore(0, segment, position) }
}

/** A process for each build: memory is counted from the same start. */
function told(job: CheckpointJob): string {
  const output = execFileSync(process.execPath, [import.meta.filename, '--job', JSON.stringify(job)], {
    encoding: 'utf8',
  })
  const { cpuMs, memoryMB, items } = JSON.parse(output) as Measured
  return `${memoryMB.toFixed(0)} MB, ${cpuMs.toFixed(0)} ms of CPU, ${items} items`
}
