/** What is left of a damaged log, and what is said of the rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import { KIND, keyName, ROLE, valName } from '../../src/log/format.ts'
import { leftSegments } from '../../src/log/left-segments.ts'
import { appendPage, PAGES_LOG, readPage } from '../../src/log/pages.ts'
import { openLog } from '../../src/log/recover.ts'
import { salvage } from '../../src/log/salvage.ts'
import type { LostBytes } from '../../src/log/salvage-numbers.ts'
import { mendPages } from '../../src/log/salvage-pages.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import {
  appendFact,
  appendMark,
  CRAWL_ID,
  DIRECTORY,
  type Fact,
  itemsOfFacts,
  openEvents,
  seeded,
  startEvents,
} from './given.ts'

const KIND_MAX = 40
const EVENTS = { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfFacts }
const path = (name: string): string => `${DIRECTORY}/${name}`

/** Three segments and more of facts, with a mark after every tenth. */
function sample(): { readonly disk: SimulatedDisk; readonly facts: readonly Fact[] } {
  const disk = new SimulatedDisk()
  const log = startEvents(openEvents(disk, 'write'), seeded(5))
  const facts: Fact[] = []
  for (let i = 0; log.segment < 4; i++) {
    facts.push(appendFact(log, i, 1 + (i % 3), 100))
    log.write()
    if (i % 10 !== 9) continue
    log.syncNow()
    facts.push(appendMark(log, 1000 + i))
  }
  log.close()
  return { disk, facts }
}

interface Found {
  readonly left: readonly string[]
  readonly lost: ReadonlyArray<LostBytes & { readonly items: number | undefined }>
  readonly greatest: number
}

function salvaged(disk: SimulatedDisk): Found {
  const left: string[] = []
  const lost: Array<LostBytes & { items: number | undefined }> = []
  const segments = leftSegments(disk, DIRECTORY, { ...EVENTS, owner: { crawlId: CRAWL_ID, shard: 3 } })
  const greatest = salvage(disk, DIRECTORY, segments, EVENTS, {
    record: ({ kind, position }, segment) => {
      if (kind !== KIND.segment) left.push(`${segment}:${position}`)
    },
    lost: (range, items) => lost.push(Object.assign(range, { items: items && items.length / 6 })),
  })
  return { left, lost, greatest }
}

const placeOf = ({ segment, position }: Fact): string => `${segment}:${position}`

function zero(disk: SimulatedDisk, name: string, from: number, to: number): void {
  const bytes = disk.peek(path(name))
  assert(bytes)
  disk.poke(path(name), bytes.fill(0, from, to))
}

test('of a whole log everything is left', () => {
  const { disk, facts } = sample()
  const { left, lost, greatest } = salvaged(disk)
  assert.deepEqual(left, facts.map(placeOf))
  assert.deepEqual(lost, [])
  assert.equal(greatest, facts[facts.length - 1].sequence)
})

test('a hole is told with place, number, time and items; all around it is left, behind it too', () => {
  const { disk, facts } = sample()
  const gone = facts.filter(({ segment, kind }) => segment === 2 && kind !== KIND.mark).slice(3, 6)
  const end = facts[facts.indexOf(gone[2]) + 1]
  zero(disk, valName(2), gone[0].position + 3, gone[2].position + 30)
  const { left, lost } = salvaged(disk)
  assert.deepEqual(
    left,
    facts.filter((fact) => fact.sequence < gone[0].sequence || fact.sequence > gone[2].sequence).map(placeOf),
  )
  const [range] = lost
  assert.equal(lost.length, 1)
  assert.deepEqual([range.segment, range.offset, range.bytes], [2, gone[0].position, end.position - gone[0].position])
  assert.deepEqual([range.fromSequence, range.toSequence], [gone[0].sequence, gone[2].sequence])
  assert.deepEqual([range.fromMs, range.toMs], [facts[facts.indexOf(gone[0]) - 1].timeMs, end.timeMs])
  assert.ok((range.items ?? 0) >= range.toSequence - range.fromSequence + 1)
})

test('without a KEY that can be believed the numbers come from the marks and the segments around', () => {
  const { disk, facts } = sample()
  const gone = facts.filter(({ segment, kind }) => segment === 2 && kind !== KIND.mark).slice(3, 5)
  zero(disk, valName(2), gone[0].position, gone[1].position + 30)
  zero(disk, keyName(2), 48, 72)
  const [range] = salvaged(disk).lost
  assert.equal(range.items, undefined)
  assert.deepEqual([range.fromSequence, range.toSequence], [gone[0].sequence, gone[1].sequence])
  assert.equal(range.records, gone[1].sequence - gone[0].sequence + 1)
})

test('a segment whose first record is damaged is read by the salt of the others; one of another segment is not', () => {
  const { disk, facts } = sample()
  const headless = disk.clone()
  zero(headless, valName(2), 10, 90)
  const { left, lost } = salvaged(headless)
  assert.deepEqual(left, facts.map(placeOf))
  assert.deepEqual(
    lost.map(({ segment, offset, bytes, records }) => [segment, offset, bytes, records]),
    [[2, 0, 96, 1]],
  )
  const foreign = disk.clone()
  foreign.poke(path(valName(2)), disk.peek(path(valName(1))) as Uint8Array)
  assert.deepEqual(salvaged(foreign).left, facts.filter(({ segment }) => segment !== 2).map(placeOf))
})

test('a missing segment is told with the numbers between its neighbours', () => {
  const { disk, facts } = sample()
  disk.remove(path(valName(2)))
  disk.remove(path(keyName(2)))
  const [range] = salvaged(disk).lost
  const inside = facts.filter(({ segment }) => segment === 2)
  assert.equal(range.segment, 2)
  // Its own `segment` record too.
  assert.deepEqual([range.fromSequence, range.toSequence], [inside[0].sequence - 1, inside[inside.length - 1].sequence])
})

test('a segment of pages written anew keeps the ordinal of every page that is left, and the log is sound', () => {
  const disk = new SimulatedDisk()
  const identity = { crawlId: CRAWL_ID, shard: 3, generation: 0 }
  const start = { random: seeded(11), identity, timeMs: 1, segmentBytesMax: 8192 }
  const log = openLog(disk, DIRECTORY, { ...PAGES_LOG, mode: 'write' }).startWriter(start)
  const pages = Array.from({ length: 60 }, (_, i) => {
    const key = keyOf(`http://a.test/${i}`)
    return { key, ...appendPage(log, key, 0, 100 + i, [Buffer.from(`page ${i} `.repeat(30))]) }
  })
  log.close()
  const owner = { crawlId: CRAWL_ID, shard: 3 }
  const words = pages.map(({ segment, ordinal, key }) => {
    const bytes = Buffer.from(key, 'latin1')
    return [segment, ordinal, ...[0, 4, 8, 12].map((at) => bytes.readUInt32LE(at))]
  })
  const common = { owner, generation: 0, salt: 7, timeMs: 1, isLast: false, voidFlags: 2 }
  const joint = { valBytes: 0, keyBytes: 0, keyChecksum: 0, sequence: 1 }
  for (const hasKey of [true, false]) {
    const damaged = disk.clone()
    zero(damaged, valName(1), 1000, 2500)
    if (!hasKey) damaged.remove(path(keyName(1)))
    const expected = hasKey ? new Uint32Array(0) : Uint32Array.from(words.flat())
    const [segment] = leftSegments(damaged, DIRECTORY, { ...PAGES_LOG, owner })
    mendPages(damaged, DIRECTORY, segment, joint, { ...common, expected })
    const verified = verifyLog(damaged, DIRECTORY, PAGES_LOG)
    assert.deepEqual(verified.findings, [])
    const found = pages.map((page) => readPage(verified.opened, page)?.key === page.key)
    const missing = found.flatMap((isThere, i) => (isThere ? [] : [i]))
    assert.ok(missing.length > 2 && missing.length < 10, `${missing}`)
    assert.ok(
      missing.every((i, at) => at === 0 || i === missing[at - 1] + 1),
      'only those in the hole are missing',
    )
    verified.opened.close()
  }
})
