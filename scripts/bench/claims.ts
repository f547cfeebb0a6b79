/**
 * Reads per 1,000 URLs claimed, counted at `env`: `node scripts/bench/claims.ts [--hosts N] [--pages N]`.
 *
 * A shard crawls a web that answers from memory: first pages with 100 links each (one in five to another host), until far
 * more links are pending than are remembered; then pages without links, while reads of the events log are counted, once
 * going on in the same process and once after a restart, when nothing is remembered.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClock } from '../../src/adapters/clock.ts'
import { decodeContent } from '../../src/adapters/content.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { createRandom } from '../../src/adapters/random.ts'
import { REMEMBERED_LINKS_MAX } from '../../src/core/frontier.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import type { Disk, File } from '../../src/env/disk.ts'
import type { Env } from '../../src/env/env.ts'
import type { FetchAnswer } from '../../src/env/web.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { type Shard, wake } from '../../src/shard/shard-parts.ts'
import { closeShard } from '../../src/shard/stopping.ts'

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '200' },
    pages: { type: 'string', default: '8000' },
    claims: { type: 'string', default: '100000' },
  },
})
const hostCount = Number(values.hosts)
const linkingPages = Number(values.pages)
const claimsCounted = Number(values.claims)
const LINKS_PER_PAGE = 100
const TIMING = { connectMs: 0, firstByteMs: 0, totalMs: 0 }

let answered = 0
let nextPage = 0

/** A page of a host with links to pages never linked before. */
function pageOf(url: string): FetchAnswer {
  const own = Number(/h(\d+)\./.exec(url)?.[1])
  const links: string[] = []
  if (answered++ < linkingPages) {
    for (let i = 0; i < LINKS_PER_PAGE; i++) {
      const host = i % 5 === 0 ? (own * 31 + nextPage * 17) % hostCount : own
      links.push(`<a href="http://h${host}.test/section/page-${nextPage++}.html">x</a>`)
    }
  }
  const body = Buffer.from(`<title>${url}</title>${links.join('\n')}`)
  return {
    kind: 'answer',
    status: 200,
    headers: [['content-type', 'text/html']],
    body,
    truncated: false,
    timing: TIMING,
  }
}

let reads = 0

/** The real disk, with reads of the events' VAL files counted. */
const countingDisk: Disk = {
  ...nodeDisk,
  open: (path, mode) => {
    const file = nodeDisk.open(path, mode)
    if (!path.includes('/log/') || !path.endsWith('.val')) return file
    return new Proxy(file, {
      get: (target, property) => {
        if (property === 'read') reads++
        const value = Reflect.get(target, property, target) as unknown
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
      },
    }) as File
  },
}

function env(): Env {
  return {
    clock: createClock(),
    random: createRandom(),
    disk: countingDisk,
    web: { fetch: ({ url }, done) => setImmediate(() => done(pageOf(url))), stop: () => {} },
    resolver: {
      resolve: (_, done) =>
        setImmediate(() => done({ kind: 'addresses', addresses: ['93.184.216.34'], ttlMs: 3_600_000 })),
    },
    decodeContent,
    sealer: { rewrite: (_directory, _number, done) => setImmediate(() => done(new Error('not here'))) },
    checkpointer: { build: (_job, done) => setImmediate(() => done({ kind: 'failed', why: 'not here' })) },
  }
}

const root = mkdtempSync(join(tmpdir(), 'claims-'))
const settings = resolveSettings({ delayMs: 0, robots: false, scope: 'any', concurrency: 256, graph: false })

function open(): Shard {
  const logs = openShardLogs(countingDisk, root, 'write')
  const identity = { crawlId: new Uint8Array(16), shard: 0, generation: 0 }
  return openShard(env(), root, logs, {
    identity,
    version: 'bench',
    pid: process.pid,
    shardCount: 1,
    settings: JSON.stringify(settings),
    act: 'bench',
  })
}

/** Crawls until `count` answers have come, then closes the shard. */
function crawl(shard: Shard, count: number): Promise<{ claims: number; reads: number }> {
  const goal = answered + count
  const before = { answered, reads }
  return new Promise((resolve, reject) => {
    shard.onFailure = reject
    shard.onTurn = () => {
      if (answered < goal) return
      const result = { claims: answered - before.answered, reads: reads - before.reads }
      closeShard(shard, 'bench')
      resolve(result)
    }
    shard.isClaiming = true
    wake(shard)
  })
}

const first = open()
const seeds = Array.from({ length: hostCount }, (_, i) => `http://h${i}.test/`)
first.inbox.push({
  kind: 'owner',
  observation: { kind: 'seeds', source: 0, lines: seeds.length, isLast: true, urls: seeds },
  done: () => {},
})
const growing = await crawl(first, linkingPages)
const pending = first.state.counts[1]
const afterRestart = open()
const same = await crawl(afterRestart, claimsCounted / 2)
const going = open()
const again = await crawl(going, claimsCounted / 2)
rmSync(root, { recursive: true, force: true })
console.log(
  JSON.stringify({
    bench: 'claims',
    node: process.version,
    hosts: hostCount,
    pending,
    remembered: REMEMBERED_LINKS_MAX,
    whileGrowing: { claims: growing.claims, readsPer1000: +((growing.reads / growing.claims) * 1000).toFixed(1) },
    afterRestart: { claims: same.claims, readsPer1000: +((same.reads / same.claims) * 1000).toFixed(1) },
    afterSecondRestart: { claims: again.claims, readsPer1000: +((again.reads / again.claims) * 1000).toFixed(1) },
  }),
)
