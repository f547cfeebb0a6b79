/** A death at any operation of the disk while a crawl is repaired, of the process or of the machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeContent } from '../../src/adapters/content.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { statedGeneration, writeManifest } from '../../src/crawl/manifest.ts'
import { type Repair, repairCrawl } from '../../src/crawl/repairing.ts'
import { verifyCrawl } from '../../src/crawl/verifying.ts'
import { seeded } from '../log/given.ts'
import { crawl } from '../shard/small-crawl.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import type { SimulatedDisk } from '../sim/disk.ts'
import { diesAt } from '../sim/dying.ts'

const LAYOUT = { ...layoutOf('/crawl'), shard: () => '/crawl' }
const NOW_MS = Date.UTC(2027, 0, 1)

/** A crawl stopped half way, with a hole in the log of events and one in a sealed segment of pages. */
function damagedCrawl(): SimulatedDisk {
  const pages: Record<string, { body: string }> = {}
  for (let i = 0; i < 16; i++) {
    const links = [i * 2 + 1, i * 2 + 2].map((n) => `<a href="/${n}">${n}</a>`).join('')
    pages[`http://a.test/${i}`] = { body: links + 'x'.repeat(500) }
  }
  const given = { pages, seeds: ['http://a.test/0'], settings: { delayMs: 10 }, segmentBytesMax: 5000 }
  const { disk } = crawl({ ...given, untilMs: 280 })
  writeManifest(disk, LAYOUT, {
    ...{ version: 1, crawlId: '00'.repeat(16), shards: 1, generation: 0 },
    ...{ horizonMs: 0, horizonSequence: 0 },
  })
  for (const [path, at] of [
    ['/crawl/log/000001.val', 2000],
    ['/crawl/pages/000001.val', 900],
  ] as const) {
    const bytes = disk.peek(path)
    assert(bytes)
    bytes.fill(0, at, at + 300)
    disk.poke(path, bytes)
  }
  return disk
}

function repair(disk: SimulatedDisk): Repair {
  const openStore = () => ({ store: new SimulatedCheckpoints(), note: '' })
  const tools = { disk, random: seeded(3), decode: decodeContent, nowMs: NOW_MS, openStore, segmentBytesMax: 5000 }
  return repairCrawl(tools, LAYOUT)
}

/** The digest of a crawl that `verify` finds nothing wrong with; undefined where it does. */
function soundDigest(disk: SimulatedDisk): string | undefined {
  try {
    const { troubles, status } = verifyCrawl(disk, LAYOUT, decodeContent)
    return troubles.some(({ isDamage }) => isDamage) ? undefined : status?.digest
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return undefined
  }
}

const lossesOf = ({ lost, counts, urls, pages }: Repair): unknown => ({
  events: lost.filter(({ log }) => log === 1),
  counts,
  urls,
  pages,
})

for (const isPowerLost of [false, true]) {
  test(`a ${isPowerLost ? 'loss of power' : 'death'} at any operation of a repair leaves the damaged crawl or the repaired one`, () => {
    const damaged = damagedCrawl()
    const whole = damaged.clone()
    const expected = repair(whole)
    assert.ok(expected.counts.urls > 0 && expected.counts.pages > 0, JSON.stringify(expected.counts))
    const digest = soundDigest(whole)
    assert.ok(digest)
    const random = seeded(7)
    const generations = new Set<number | undefined>()
    let operations = 0
    for (let isDead = true; isDead; ) {
      operations++
      const disk = damaged.clone()
      isDead = diesAt(disk, operations, () => void repair(disk))
      if (isPowerLost) disk.powerLoss(() => random.uint32())
      const generation = statedGeneration(disk, LAYOUT)
      generations.add(generation)
      assert.equal(soundDigest(disk), generation === 1 ? digest : undefined, `operation ${operations}`)
      if (generation === 1) continue
      const again = repair(disk)
      assert.deepEqual(lossesOf(again), lossesOf(expected), `operation ${operations}`)
      assert.equal(soundDigest(disk), digest, `operation ${operations}`)
    }
    assert.deepEqual([...generations].sort(), [0, 1])
    assert.ok(operations > 30, `${operations} operations`)
  })
}
