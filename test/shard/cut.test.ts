/** Instants and record numbers against a walk over every record. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cut, cutAtSequence, cutAtTime, cutBefore } from '../../src/shard/cut.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { ShardClock } from '../../src/shard/shard-clock.ts'
import { crawl } from './small-crawl.ts'

/** A crawl of a chain of pages whose log has several segments and many marks. */
function givenLog() {
  const pages: Record<string, { body: string }> = {}
  for (let i = 0; i < 60; i++) {
    const links = Array.from({ length: 8 }, (_, j) => `<a href="/${i}/${j}">x</a>`).join('')
    pages[`http://a.test/${i}`] = { body: `<a href="/${i + 1}">next</a>${links}` }
  }
  const { disk } = crawl({
    pages,
    seeds: ['http://a.test/0'],
    settings: { durabilityMs: 20 },
    segmentBytesMax: 12_000,
  })
  return { disk, log: openShardLogs(disk, '/crawl', 'read').events }
}

function everyCut(log: ReturnType<typeof givenLog>['log']): Cut[] {
  const cuts: Cut[] = []
  for (const { number } of log.segments) {
    log.scan(number, ({ position, length, timeMs }) => {
      cuts.push({ position: { segment: number, position: position + length }, sequence: cuts.length + 1, timeMs })
    })
  }
  return cuts
}

test('a cut by number, time or place is the one that a walk over all records finds', () => {
  const { log } = givenLog()
  const cuts = everyCut(log)
  assert(log.segments.length > 4 && cuts.length > 300)
  for (const [i, cut] of cuts.entries()) {
    assert.deepEqual(cutAtSequence(log, cut.sequence), cut)
    assert.deepEqual(cutBefore(log, cut.position), cut)
    for (const timeMs of [cut.timeMs - 1, cut.timeMs, cut.timeMs + 1]) {
      const last = cuts.findLast((other) => other.timeMs <= timeMs)
      if (last === undefined) assert.throws(() => cutAtTime(log, timeMs), { code: 'UNTIL_UNREACHABLE' })
      else assert.deepEqual(cutAtTime(log, timeMs), last, String(i))
    }
  }
  for (const sequence of [0, cuts.length + 1]) {
    assert.throws(() => cutAtSequence(log, sequence), { code: 'UNTIL_UNREACHABLE' })
  }
})

test('a cut reads the records between two marks, not the segment', () => {
  const { log, disk } = givenLog()
  const { header, number } = log.segments[2]
  log.key(number)
  const before = disk.counters.bytesRead
  cutAtSequence(log, header.firstSequence + 40)
  const keyBytes = log.key(number).byteLength
  assert(disk.counters.bytesRead - before < 2 * keyBytes + 4000, `${disk.counters.bytesRead - before} bytes`)
})

test('an instant that was shown is closed: the next record is later, whatever the wall clock does', () => {
  let wallMs = 5000
  const clock = new ShardClock({ wallMs: () => wallMs, monotonicMs: () => 0, after: () => () => {} }, 5000)
  assert.equal(clock.stamp(clock.now().shardMs), 5001, 'after one of another process')
  wallMs = 0
  assert.equal(clock.stamp(clock.now().shardMs), 5001)
  clock.closeInstant()
  clock.closeInstant()
  assert.equal(clock.stamp(clock.now().shardMs), 5002)
  assert.equal(clock.lastRecordMs, 5002)
  assert.equal(clock.now().shardMs, 5000, 'delays do not end earlier by it')
})
