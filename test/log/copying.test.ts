/** Segments that two logs share. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyLastSegment, shareSegment } from '../../src/log/copying.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { crawl } from '../shard/small-crawl.ts'
import type { SimulatedDisk } from '../sim/disk.ts'

function givenLog(): SimulatedDisk {
  const pages: Record<string, { body: string }> = {}
  for (let i = 0; i < 60; i++) pages[`http://a.test/${i}`] = { body: `<a href="/${i + 1}">next</a>` }
  return crawl({ pages, seeds: ['http://a.test/0'], segmentBytesMax: 4000 }).disk
}

/** The first three segments of /crawl as those of /fork, the third cut in its middle. */
function fork(disk: SimulatedDisk): number {
  const { events } = openShardLogs(disk, '/crawl', 'read')
  assert(events.segments.length > 4)
  let position = 0
  events.scan(3, (record) => {
    if (record.position < 1500) position = record.position
  })
  for (const number of [1, 2]) shareSegment(disk, '/crawl/log', '/fork/log', number)
  copyLastSegment(disk, '/crawl/log', '/fork/log', 3, position)
  return position
}

test('a log made of shared segments and a cut copy of the last opens as its beginning', () => {
  for (const canLink of [true, false]) {
    const disk = givenLog()
    disk.canLink = canLink
    const position = fork(disk)
    assert.equal(disk.nameCount('/fork/log/000001.val'), canLink ? 2 : 1)
    const { events } = openShardLogs(disk, '/fork', 'read')
    assert.deepEqual(events.end, { segment: 3, position })
    assert.deepEqual(events.verdicts, [])
    assert.deepEqual(events.key(2), openShardLogs(disk, '/crawl', 'read').events.key(2))
  }
})

test('a shared segment that becomes the last of one log is replaced by a copy before it is cut or written', () => {
  const disk = givenLog()
  fork(disk)
  const path = '/crawl/log/000002.val'
  const before = disk.peek(path)
  const { events } = openShardLogs(disk, '/fork', 'write')
  events.cut({ segment: 2, position: 96 })
  const start = { random: { uint32: () => 7 }, timeMs: 1_800_000_000_000 }
  events.startWriter(start).close()
  assert.equal(disk.peek('/fork/log/000002.val')?.length, 96)
  assert.deepEqual(disk.peek(path), before)
  assert.equal(disk.nameCount(path), 1)
})

test('a KEY that is made anew leaves the other name of its file alone', () => {
  const disk = givenLog()
  fork(disk)
  const file = disk.open('/crawl/log/000001.key', 'write')
  file.write(Uint8Array.of(1, 2, 3), 40)
  file.close()
  const damaged = disk.peek('/crawl/log/000001.key')
  openShardLogs(disk, '/fork', 'write').events.key(1)
  assert.deepEqual(disk.peek('/crawl/log/000001.key'), damaged)
  assert.notDeepEqual(disk.peek('/fork/log/000001.key'), damaged)
})
