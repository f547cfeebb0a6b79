/** The compacted part of a generation: several segments with the last numbers, read like any others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CrawlError } from '../../src/base/errors.ts'
import { NOWHERE, ROLE } from '../../src/log/format.ts'
import { GenerationWriter } from '../../src/log/generation-writer.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import {
  CRAWL_ID,
  DIGEST,
  DIRECTORY,
  FACT,
  factBody,
  factsOf,
  hexOf,
  itemsOfFacts,
  KIND_MAX,
  openEvents,
  seeded,
} from './given.ts'

const OPTIONS = { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfFacts }

interface Given {
  readonly items: number
  readonly bytes: number
}

function writeGeneration(disk: SimulatedDisk, records: readonly Given[], lastNumber: number, sequenceAfter: number) {
  const writer = new GenerationWriter(disk, DIRECTORY, {
    ...{ role: ROLE.events, random: seeded(1), identity: { crawlId: CRAWL_ID, shard: 3, generation: 2 } },
    ...{ lastNumber, sequenceAfter, segmentBytesMax: 4096 },
  })
  try {
    for (const [number, { items, bytes }] of records.entries()) {
      writer.begin(FACT, 1, 1000 + number).rawBytes(factBody(number, items, bytes))
      for (let i = 0; i < items; i++) writer.item(number, i, number * 31, 0xffffffff - i, FACT, i)
      writer.end()
    }
    writer.mark(2000 + records.length, NOWHERE, DIGEST, new Uint8Array(3))
    return writer.finish()
  } catch (error) {
    writer.abandon()
    throw error
  }
}

const record = fc.record({ items: fc.nat({ max: 10 }), bytes: fc.nat({ max: 1500 }) })

test('a generation is read back record by record, with its KEY, whatever the number of its first segment', () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 60 }), (records) => {
      const disk = new SimulatedDisk()
      const { segments, bytes } = writeGeneration(disk, records, 100, 5000)
      const { findings, opened } = verifyLog(disk, DIRECTORY, OPTIONS)
      assert.deepEqual(findings, [])
      assert.equal(opened.segments.length, segments)
      assert.equal(opened.segments.at(-1)?.number, 100)
      assert.equal(opened.generation, 2)
      assert.equal(opened.sequence, 5000)
      const facts = factsOf(opened)
      assert.deepEqual(
        facts.slice(0, -1).map(({ body }) => body),
        records.map(({ items, bytes: extra }, number) => hexOf(factBody(number, items, extra))),
      )
      assert.equal(facts.at(-1)?.sequence, 4999)
      const mark = opened.lastMark()
      assert.equal(mark?.mark.sequence, 4999)
      assert.deepEqual(mark?.mark.synced, { segment: 100, position: mark.address.position })
      const files = disk.list(DIRECTORY)
      assert.equal(files.length, segments * 2)
      assert.equal(
        bytes,
        files.reduce((sum, name) => sum + (disk.peek(`${DIRECTORY}/${name}`)?.length ?? 0), 0),
      )
    }),
    { numRuns: 50 },
  )
})

test('what is finished survives the machine', () => {
  const disk = new SimulatedDisk()
  writeGeneration(
    disk,
    Array.from({ length: 40 }, () => ({ items: 2, bytes: 500 })),
    9,
    100,
  )
  const random = seeded(3)
  disk.powerLoss(() => random.uint32())
  assert.equal(factsOf(openEvents(disk, 'read')).length, 41)
})

test('a generation that would need more segments than it may have is given up', () => {
  const many = Array.from({ length: 40 }, () => ({ items: 2, bytes: 500 }))
  assert.throws(
    () => writeGeneration(new SimulatedDisk(), many, 2, 100),
    (error) => error instanceof CrawlError && error.code === 'LOG_FULL',
  )
})

test('a first segment with a number above 1 is no log unless a compaction wrote it', () => {
  const disk = new SimulatedDisk()
  const writer = new GenerationWriter(disk, DIRECTORY, {
    ...{ role: ROLE.events, random: seeded(1), identity: { crawlId: CRAWL_ID, shard: 3, generation: 0 } },
    ...{ lastNumber: 7, sequenceAfter: 10 },
  })
  writer.mark(1000, NOWHERE, DIGEST, new Uint8Array(0))
  writer.finish()
  assert.throws(() => openEvents(disk, 'read'), /Segment 6 is missing/)
})
