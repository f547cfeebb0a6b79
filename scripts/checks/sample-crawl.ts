/**
 * A small crawl of the demo web on a disk in memory, for checks that damage it: once as a death left it, once ended in
 * order. Real sockets, real clock, the shard's own code; only the disk is simulated.
 */
import { zstdCompressSync } from 'node:zlib'
import { createClock } from '../../src/adapters/clock.ts'
import { decodeContent } from '../../src/adapters/content.ts'
import { createRandom } from '../../src/adapters/random.ts'
import { createResolver } from '../../src/adapters/resolver.ts'
import { createWeb } from '../../src/adapters/web.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import type { Env } from '../../src/env/env.ts'
import { PAGES_LOG } from '../../src/log/pages.ts'
import { rewriteSegment, type Transform } from '../../src/log/rewrite.ts'
import { saveCheckpoint } from '../../src/shard/checkpoint.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { PART_ZSTD } from '../../src/shard/pages.ts'
import { isFinished } from '../../src/shard/shard.ts'
import { type Shard, wake } from '../../src/shard/shard-parts.ts'
import { closeShard } from '../../src/shard/stopping.ts'
import { SimulatedCheckpoints } from '../../test/sim/checkpoints.ts'
import { SimulatedDisk } from '../../test/sim/disk.ts'
import { startDemoWeb } from '../demo/web.ts'

/** Where the sample's DIR is, on its disk. */
export const LAYOUT = layoutOf('/crawl')
export const SHARD = LAYOUT.shard(0)
export const SETTINGS = resolveSettings({ delayMs: 0, delayMaxMs: 20, retriesMax: 1, freeBytesMin: 0 })

export interface SampleCrawl {
  /** As a death left it: claims in flight, and behind the last mark events and pages that no sync covers. */
  readonly killed: SimulatedDisk
  /** Ended in order, with a checkpoint. */
  readonly ended: SimulatedDisk
  readonly checkpoints: SimulatedCheckpoints
}

export interface SampleSizes {
  readonly pages: number
  /** VAL bytes of a segment. */
  readonly segmentBytesMax: number
}

/** Crawls a demo web of so many pages. Cost: some seconds. */
export async function crawlSample({ pages, segmentBytesMax }: SampleSizes): Promise<SampleCrawl> {
  const web = await startDemoWeb({ seed: 'any byte', pages, hosts: 6 })
  const disk = new SimulatedDisk()
  const env = createSampleEnv(disk)
  try {
    const shard = openSample(env, segmentBytesMax)
    let killed: SimulatedDisk | undefined
    await new Promise<void>((done, fail) => {
      shard.onFailure = fail
      shard.onTurn = () => {
        if (isAtItsWorst(shard, pages)) killed ??= disk.clone()
        if (isFinished(shard) && shard.state.seeds[0]?.isLast) done()
      }
      shard.inbox.push({
        kind: 'owner',
        observation: { kind: 'seeds', source: 0, lines: web.seeds.length, isLast: true, urls: web.seeds },
        done: () => {},
      })
      shard.isClaiming = true
      wake(shard)
    })
    closeShard(shard, 'finished')
    const checkpoints = new SimulatedCheckpoints()
    saveCheckpoint(shard, checkpoints)
    if (killed === undefined) throw new Error('the crawl was never at its worst; make it larger')
    return { killed, ended: disk.clone(), checkpoints }
  } finally {
    await web.close()
  }
}

/** Past its half, with requests in flight and a page unsynced. */
function isAtItsWorst({ state, inFlight, pages, events }: Shard, pagesMax: number): boolean {
  const isUnsynced = pages.unsyncedBytes > 10_000 && events.unsyncedBytes > 4000
  return state.pages > pagesMax * 0.6 && inFlight.size > 3 && isUnsynced
}

export function createSampleEnv(disk: SimulatedDisk): Env {
  const clock = createClock()
  return {
    clock,
    random: createRandom(),
    disk,
    web: createWeb(),
    resolver: createResolver({ clock }),
    decodeContent,
    sealer: {
      rewrite: (directory, number, done) => {
        clock.after(0, () => {
          rewriteSegment(disk, directory, number, PAGES_LOG, compress)
          done()
        })
      },
    },
    checkpointer: { build: (_job, done) => void clock.after(0, () => done({ kind: 'failed', why: 'not here' })) },
  }
}

const KEY_BYTES = 16

const compress: Transform = ({ body, flags }) => {
  const packed = zstdCompressSync(body.subarray(KEY_BYTES))
  if (packed.length >= body.length - KEY_BYTES) return undefined
  return { flags: flags | PART_ZSTD, body: Buffer.concat([body.subarray(0, KEY_BYTES), packed]) }
}

/** Opens the sample for writing, as `start` and `resume` do. Errors: LOG_CORRUPT, LOG_NEWER. */
export function openSample(env: Env, segmentBytesMax?: number): Shard {
  const opened = openShardLogs(env.disk, SHARD, 'write')
  return openShard(env, SHARD, opened, {
    identity: { crawlId: new Uint8Array(16).fill(7), shard: 0, generation: 0 },
    version: '0',
    pid: 1,
    shardCount: 1,
    settings: JSON.stringify(SETTINGS),
    act: 'resume',
    ...(segmentBytesMax === undefined ? {} : { segmentBytesMax }),
  })
}
