/**
 * What a compaction costs: `node scripts/bench/compact.ts [--pages N] [--claims N]`.
 *
 * A shard crawls a web that answers from memory: pages with 100 links each, until many are pending, then pages without
 * links; then it is compacted on the real disk. Printed: bytes before and after, CPU seconds, and what a replay costs then.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClock } from '../../src/adapters/clock.ts'
import { decodeContent } from '../../src/adapters/content.ts'
import { openCrawlDb } from '../../src/adapters/crawl-db.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { compressPage } from '../../src/adapters/page-compression.ts'
import { createRandom } from '../../src/adapters/random.ts'
import { resolveSettings } from '../../src/core/settings.ts'
import { createState } from '../../src/core/state.ts'
import type { Env } from '../../src/env/env.ts'
import { compactShard } from '../../src/shard/compacting.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import { wake } from '../../src/shard/shard-parts.ts'
import { closeShard } from '../../src/shard/stopping.ts'

const { values } = parseArgs({
  options: { pages: { type: 'string', default: '3000' }, claims: { type: 'string', default: '50000' } },
})
const HOSTS = 200
const LINKS_PER_PAGE = 100
const TIMING = { connectMs: 0, firstByteMs: 0, totalMs: 0 }
const linkingPages = Number(values.pages)
const root = mkdtempSync(join(tmpdir(), 'compact-'))
const random = createRandom()
let answered = 0
let nextPage = 0

function bodyOf(url: string): Buffer {
  const own = Number(/h(\d+)\./.exec(url)?.[1])
  const links: string[] = []
  for (let i = 0; answered < linkingPages && i < LINKS_PER_PAGE; i++) {
    const host = i % 5 === 0 ? (own * 31 + nextPage * 17) % HOSTS : own
    links.push(`<a href="http://h${host}.test/section/page-${nextPage++}.html">x</a>`)
  }
  answered++
  return Buffer.from(`<title>${url}</title>${links.join('\n')}`)
}

const env: Env = {
  clock: createClock(),
  random,
  disk: nodeDisk,
  web: {
    fetch: ({ url }, done) =>
      setImmediate(() => {
        const headers = [['content-type', 'text/html'] as const]
        done({ kind: 'answer', status: 200, headers, body: bodyOf(url), truncated: false, timing: TIMING })
      }),
    stop: () => {},
  },
  resolver: {
    resolve: (_, done) =>
      void setImmediate(() => done({ kind: 'addresses', addresses: ['93.184.216.34'], ttlMs: 3_600_000 })),
  },
  decodeContent,
  sealer: { rewrite: (_directory, _number, done) => void setImmediate(() => done(new Error('not here'))) },
}

async function crawl(): Promise<void> {
  const settings = resolveSettings({ delayMs: 0, robots: false, scope: 'any', concurrency: 256 })
  const identity = { crawlId: new Uint8Array(16), shard: 0, generation: 0 }
  const options = { identity, version: 'bench', pid: process.pid, shardCount: 1, act: 'bench' }
  const shard = openShard(env, root, openShardLogs(nodeDisk, root, 'write'), {
    ...options,
    settings: JSON.stringify(settings),
  })
  const urls = Array.from({ length: HOSTS }, (_, i) => `http://h${i}.test/`)
  const observation = { kind: 'seeds', source: 0, lines: HOSTS, isLast: true, urls } as const
  shard.inbox.push({ kind: 'owner', observation, done: () => {} })
  shard.isClaiming = true
  wake(shard)
  await new Promise<void>((done, fail) => {
    shard.onFailure = fail
    shard.onTurn = () => {
      if (answered < linkingPages + Number(values.claims)) return
      closeShard(shard, 'bench')
      done()
    }
  })
}

/** CPU seconds of something, and what it gave. */
function timed<T>(run: () => T): { readonly seconds: number; readonly result: T } {
  const before = process.cpuUsage()
  const result = run()
  const { user, system } = process.cpuUsage(before)
  return { seconds: Math.round((user + system) / 10_000) / 100, result }
}

function replayed(): number {
  const { events } = openShardLogs(nodeDisk, root, 'read')
  const state = createState()
  replay(state, events)
  events.close()
  return state.urls.count
}

await crawl()
const before = timed(replayed)
const { store } = openCrawlDb(join(root, 'crawl.db'))
const compaction = timed(() =>
  compactShard({ disk: nodeDisk, random }, root, {
    ...{ store, stated: undefined, wallMs: env.clock.wallMs(), compress: compressPage, commit: () => {} },
  }),
)
store.close()
const after = timed(replayed)
const { result } = compaction
const sizes = result.kind === 'compacted' ? result.written : undefined
rmSync(root, { recursive: true, force: true })
console.log(
  JSON.stringify({
    ...{ bench: 'compact', node: process.version, urls: before.result, compactionSeconds: compaction.seconds },
    ...{ eventsBefore: sizes?.beforeBytes, eventsAfter: sizes?.afterBytes },
    ...{ replaySecondsBefore: before.seconds, replaySecondsAfter: after.seconds },
    peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
)
