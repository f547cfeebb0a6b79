/** A death at any operation of the disk while a crawl is compacted, of the process or of the machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { layoutOf } from '../../src/crawl/layout.ts'
import { statedGeneration, writeManifest } from '../../src/crawl/manifest.ts'
import { loadCheckpoint } from '../../src/shard/checkpoint.ts'
import { compactShard } from '../../src/shard/compacting.ts'
import { removeOtherGenerations } from '../../src/shard/generations.ts'
import { cutToMatch, openShardLogs } from '../../src/shard/opening.ts'
import { replayFrom } from '../../src/shard/replay.ts'
import { seeded } from '../log/given.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import type { SimulatedDisk } from '../sim/disk.ts'
import { diesAt } from '../sim/dying.ts'
import { crawl } from './small-crawl.ts'

const DIRECTORY = '/crawl'
const LAYOUT = layoutOf(DIRECTORY)
const IDENTITY = { crawlId: new Uint8Array(16), shard: 0, generation: 0 }

/** A crawl that died: URLs in flight, waiting, queued, done and failed; a page stored that nothing refers to. */
function diedCrawl(): SimulatedDisk {
  const link = (href: string): string => `<a href="${href}">x</a>`
  const pages: Parameters<typeof crawl>[0]['pages'] = {
    'http://a.test/': { body: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => link(`/${i}`)).join('') },
    'http://a.test/1': { body: link('http://b.test/') + link('http://bad.test/') },
    'http://a.test/2': { status: 503, body: 'x'.repeat(9000) },
    'http://b.test/': { body: [1, 2, 3, 4].map((i) => link(`/${i}`)).join('') + 'y'.repeat(9000) },
  }
  const settings = { scope: 'any', delayMs: 30, retriesMax: 5 } as const
  const given = { pages, seeds: ['http://a.test/'], settings, addresses: { 'bad.test': [] }, segmentBytesMax: 12_000 }
  return crawl({ ...given, untilMs: 215, dies: true }).disk
}

function compact(disk: SimulatedDisk, store: SimulatedCheckpoints): void {
  compactShard({ disk, random: seeded(1) }, DIRECTORY, {
    store,
    stated: statedGeneration(disk, LAYOUT),
    wallMs: 0,
    compress: (bytes) => zstdCompressSync(bytes),
    segmentBytesMax: 12_000,
    commit: ({ plan, horizon }) =>
      writeManifest(disk, LAYOUT, {
        ...{ version: 1, crawlId: '', shards: 1, generation: plan.to },
        ...{ horizonMs: horizon.timeMs, horizonSequence: horizon.sequence },
      }),
  })
}

/** What the next writer finds, and leaves of the directory. */
function reopened(disk: SimulatedDisk, store: SimulatedCheckpoints) {
  const opened = openShardLogs(disk, DIRECTORY, 'write', store.newestCheckpoint(0), statedGeneration(disk, LAYOUT))
  assert.equal(opened.isLossy, false, opened.messages.join(' '))
  removeOtherGenerations(disk, DIRECTORY, opened.generation)
  cutToMatch(opened)
  const checkpoint = loadCheckpoint(disk, DIRECTORY, opened, store, 0)
  const { state } = replayFrom(opened.events, checkpoint, {})
  const start = { random: seeded(2), timeMs: opened.events.lastTimeMs, identity: IDENTITY }
  opened.pages.startWriter(start).close()
  opened.events.startWriter(start).close()
  const logs = disk.list(DIRECTORY).filter((name) => name.startsWith('log'))
  return { digest: state.digest.toHex(), counts: [...state.counts], logs, generation: opened.generation }
}

for (const isPowerLost of [false, true]) {
  test(`a ${isPowerLost ? 'loss of power' : 'death'} at any operation of a compaction leaves the crawl as it was`, () => {
    const died = diedCrawl()
    const before = reopened(died.clone(), new SimulatedCheckpoints())
    assert.ok(
      before.counts.slice(1, 5).every((count) => count > 0),
      `all states are met: ${before.counts}`,
    )
    const generations = new Set<number>()
    const random = seeded(7)
    let operations = 0
    for (let isDead = true; isDead; ) {
      operations++
      for (let draw = 0; draw < (isPowerLost ? 2 : 1); draw++) {
        const disk = died.clone()
        isDead = diesAt(disk, operations, () => void compact(disk, new SimulatedCheckpoints()))
        if (isPowerLost) disk.powerLoss(() => random.uint32())
        const after = reopened(disk, new SimulatedCheckpoints())
        assert.deepEqual(after.counts, before.counts, `operation ${operations}`)
        assert.equal(after.digest, before.digest, `operation ${operations}`)
        assert.equal(after.logs.length, 1, `operation ${operations}: ${after.logs}`)
        generations.add(after.generation)
        // The next compaction catches up with all that this one did not come to.
        if (draw > 0) continue
        compact(disk, new SimulatedCheckpoints())
        assert.equal(reopened(disk, new SimulatedCheckpoints()).digest, before.digest)
      }
    }
    assert.deepEqual([...generations].sort(), [0, 1])
    assert.ok(operations > 40, `${operations} operations`)
  })
}
