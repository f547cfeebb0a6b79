import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CrawlError } from '../../src/base/errors.ts'
import { keyName, NOWHERE, RECORD_BYTES_MAX, SEGMENT_BYTES_MAX, valName } from '../../src/log/format.ts'
import { CLOSE_RESERVE_BYTES, type LogWriter } from '../../src/log/writer.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import {
  appendFact,
  appendMark,
  CRAWL_ID,
  DIGEST,
  DIRECTORY,
  FACT,
  type Fact,
  factsOf,
  openEvents,
  seeded,
  startEvents,
} from './given.ts'

function start(disk: SimulatedDisk, reserveBytes = 0, segmentBytesMax = 8192): LogWriter {
  const identity = { crawlId: CRAWL_ID, shard: 3, generation: 0 }
  return openEvents(disk, 'write').startWriter({
    random: seeded(4),
    identity,
    timeMs: 1,
    segmentBytesMax,
    reserveBytes,
  })
}

function sizes(disk: SimulatedDisk, number: number): [number | undefined, number | undefined] {
  return [disk.peek(`${DIRECTORY}/${valName(number)}`)?.length, disk.peek(`${DIRECTORY}/${keyName(number)}`)?.length]
}

test('the items of the record just ended are the words that KEY gets', () => {
  const disk = new SimulatedDisk()
  const log = start(disk)
  appendFact(log, 1, 2, 10)
  appendFact(log, 2, 3, 10)
  const items = new Uint32Array(log.lastItems())
  assert.equal(items.length, 18)
  log.write()
  const key = disk.peek(`${DIRECTORY}/${keyName(1)}`)
  assert(key)
  assert.deepEqual(new Uint32Array(key.buffer, 48, 18), items)
})

test('items of a record that rolls are those of its new place', () => {
  const disk = new SimulatedDisk()
  const log = start(disk)
  let fact = appendFact(log, 1, 2, 300)
  for (let i = 2; fact.segment === 1; i++) fact = appendFact(log, i, 2, 300)
  assert.equal(fact.position, 96)
  const items = log.lastItems()
  assert.deepEqual([items[4], items[10], items.length], [96, 96, 12])
  assert.deepEqual(disk.list(DIRECTORY), ['000001.key', '000001.val', '000002.key', '000002.val'])
})

test('an abandoned record leaves nothing', () => {
  const disk = new SimulatedDisk()
  const log = start(disk)
  appendFact(log, 1, 2, 10)
  const { position, sequence } = log
  log.begin(FACT, 0, 5).u32(1)
  log.item(1, 2, 3, 4, FACT, 0)
  log.abandon()
  assert.deepEqual([log.position, log.sequence, log.itemCount], [position, sequence, 2])
})

test('a mark of what is not synced, or of a sync from before the last mark, is a programmer’s error', () => {
  const log = start(new SimulatedDisk())
  appendFact(log, 1, 1, 10)
  log.write()
  const before = log.synced
  assert.throws(() => log.mark(5, { segment: 1, position: log.position }, NOWHERE, DIGEST, new Uint8Array(0)))
  log.syncNow()
  appendMark(log, 5)
  log.write()
  assert.throws(() => log.mark(6, before, NOWHERE, DIGEST, new Uint8Array(0)))
  log.syncNow()
  appendMark(log, 6)
})

test('the sync of a segment that was left meanwhile still calls back, with all that is durable by then', () => {
  const pending: (() => void)[] = []
  const disk = new SimulatedDisk((run) => pending.push(run))
  const log = start(disk)
  appendFact(log, 1, 1, 100)
  log.write()
  const synced: unknown[] = []
  log.sync((error, position) => synced.push(error, position))
  for (let i = 2; log.segment === 1; i++) appendFact(log, i, 1, 500)
  for (const run of pending) run()
  assert.deepEqual(synced, [undefined, log.synced])
  assert.equal(log.synced.segment, 1)
  assert(log.synced.position > 5000)
  assert.equal(log.unsyncedBytes, log.position)
})

test('a nearly full segment asks for a sync, so that rolling finds little to do', () => {
  const log = start(new SimulatedDisk(), 0, SEGMENT_BYTES_MAX)
  const body = new Uint8Array(4_000_000)
  while (log.position < (SEGMENT_BYTES_MAX * 7) / 8) {
    assert.equal(log.wantsSync, false)
    log.begin(FACT, 0, 1).rawBytes(body)
    log.end()
  }
  assert.equal(log.wantsSync, true)
  log.write()
  log.syncNow()
  log.sync(() => {})
  assert.equal(log.wantsSync, false)
})

test('a record may have 4 MiB and no byte more', () => {
  const log = start(new SimulatedDisk(), 0, SEGMENT_BYTES_MAX)
  log.begin(FACT, 0, 1).rawBytes(new Uint8Array(RECORD_BYTES_MAX - 20))
  const { segment, position } = log.end()
  assert.equal(log.read(segment, position).length, RECORD_BYTES_MAX)
  log.begin(FACT, 0, 1).rawBytes(new Uint8Array(RECORD_BYTES_MAX - 19))
  assert.throws(() => log.end(), /4 MiB/)
})

test('on a full disk the batch is cut off again, nothing before it is touched, and the writer refuses more', () => {
  for (let room = 0; room < 700; room += 13) {
    const disk = new SimulatedDisk()
    const log = start(disk)
    const kept = [appendFact(log, 1, 2, 50), appendFact(log, 2, 0, 0)]
    log.write()
    const before = sizes(disk, 1)
    disk.budgetBytes = disk.usedBytes() + room
    appendFact(log, 3, 3, 500)
    appendFact(log, 4, 1, 60)
    assert.throws(() => log.write(), { code: 'DISK_FULL' })
    assert.deepEqual(sizes(disk, 1), before)
    assert.throws(() => log.begin(FACT, 0, 9), { code: 'DISK_FULL' })
    assert.throws(() => log.write(), { code: 'DISK_FULL' })
    disk.processDeath()
    const opened = openEvents(disk, 'read')
    assert.deepEqual([opened.verdicts, factsOf(opened)], [[], kept])
  }
})

test('a last record goes to a full disk from the reserve, also where rolling was what failed', () => {
  const disk = new SimulatedDisk()
  const log = start(disk, 4096)
  let number = 0
  disk.budgetBytes = disk.usedBytes() + 7000
  assert.throws(() => {
    while (number < 500) {
      appendFact(log, ++number, 1, 100)
      log.write()
    }
  }, CrawlError)
  assert.equal(disk.freeBytes() < 200, true)
  let sequence = 0
  const isDurable = log.closeAfterFailure((writer) => {
    writer.begin(3, 0, 5000).u32(0)
    sequence = writer.end().sequence
  })
  assert.equal(isDurable, true)
  disk.powerLoss(seeded(1).uint32)
  const opened = openEvents(disk, 'read')
  const facts = factsOf(opened)
  assert.deepEqual([opened.verdicts, facts[facts.length - 1].kind, facts.length], [[], 3, number])
  assert.equal(facts[facts.length - 1].sequence, sequence)
})

test('a successor that could not be made does not come back to contradict the last record', () => {
  for (let seed = 1; seed < 40; seed++) {
    const disk = new SimulatedDisk()
    const log = start(disk, 4096)
    const full = new CrawlError('DISK_FULL', 'no space for a name')
    for (let i = 1; log.position < 6900; i++) appendFact(log, i, 1, 100)
    log.write()
    disk.fault = (operation, path) => (operation === 'sync' && path === DIRECTORY ? full : undefined)
    assert.throws(() => {
      for (let i = 1; i < 50; i++) appendFact(log, i, 1, 300)
    }, full)
    disk.fault = () => undefined
    const isDurable = log.closeAfterFailure((writer) => {
      writer.begin(3, 0, 5000).rawBytes(new Uint8Array(CLOSE_RESERVE_BYTES - 20))
      writer.end()
    })
    assert.equal(isDurable, true)
    disk.powerLoss(seeded(seed).uint32)
    const opened = openEvents(disk, 'write')
    assert.equal(factsOf(opened).at(-1)?.kind, 3)
    startEvents(opened, seeded(seed)).close()
  }
})

test('after a failed sync the writer refuses everything, and says so once', () => {
  const pending: (() => void)[] = []
  const disk = new SimulatedDisk((run) => pending.push(run))
  const log = start(disk)
  appendFact(log, 1, 1, 100)
  log.write()
  const failed = new CrawlError('DISK_FAILED', 'EIO')
  disk.fault = (operation) => (operation === 'sync' ? failed : undefined)
  const calls: unknown[] = []
  log.sync((error) => calls.push(error))
  for (const run of pending) run()
  assert.deepEqual(calls, [failed])
  assert.throws(() => log.begin(FACT, 0, 1), failed)
  assert.throws(() => log.sync(() => {}), failed)
  disk.fault = () => undefined
  assert.equal(
    log.closeAfterFailure(() => assert.fail('a sync that failed is never tried again')),
    false,
  )
})

test('records are read back from the batch, from memory and from the file, the last in at most two reads', () => {
  const disk = new SimulatedDisk()
  const log = start(disk, 0, SEGMENT_BYTES_MAX)
  const facts: Fact[] = []
  for (let i = 0; i < 3000; i++) {
    facts.push(appendFact(log, i, 1, i % 3 === 0 ? 9000 : 80))
    if (i % 10 === 9) log.write()
  }
  let readsMax = 0
  for (let i = 0; i < facts.length; i++) {
    const { segment, position, body } = facts[i]
    const before = disk.counters.reads
    const record = log.read(segment, position)
    readsMax = Math.max(readsMax, disk.counters.reads - before)
    if (i > facts.length - 1000) assert.equal(disk.counters.reads, before, 'lately written: no read')
    assert.equal(record.body.toString('hex'), body)
    const hinted = disk.counters.reads
    log.read(segment, position, record.length)
    assert(disk.counters.reads - hinted <= 1)
  }
  assert.equal(readsMax, 2)
})

test('damage to a record read is reported with segment and offset', () => {
  const disk = new SimulatedDisk()
  const log = start(disk)
  const fact = appendFact(log, 1, 1, 100)
  log.close()
  const val = disk.peek(`${DIRECTORY}/${valName(1)}`)
  assert(val)
  const opened = openEvents(disk, 'read')
  val[fact.position + 30] ^= 1
  disk.open(`${DIRECTORY}/${valName(1)}`, 'write').write(val, 0)
  assert.throws(
    () => opened.read(1, fact.position),
    (error: CrawlError) => error.code === 'LOG_CORRUPT' && error.facts['offset'] === fact.position,
  )
})

test('a cut to any record boundary goes on from there, with the numbers as they were', () => {
  const disk = new SimulatedDisk()
  const log = start(disk)
  const facts = []
  for (let i = 1; log.segment < 4; i++) facts.push(appendFact(log, i, i % 3, 200))
  log.close()
  for (const keep of [1, 5, 20, facts.length - 1]) {
    const copy = disk.clone()
    const opened = openEvents(copy, 'write')
    opened.cut(facts[keep])
    assert.deepEqual(opened.end, { segment: facts[keep].segment, position: facts[keep].position })
    copy.powerLoss(seeded(keep).uint32)
    const again = openEvents(copy, 'write')
    assert.deepEqual(factsOf(again), facts.slice(0, keep))
    const next = appendFact(startEvents(again, seeded(1)), 500, 1, 10)
    assert.equal(next.sequence, facts[keep].sequence)
  }
  const none = openEvents(disk, 'write')
  none.cut(NOWHERE)
  assert.equal(none.isEmpty, true)
  assert.equal(openEvents(disk, 'read').isEmpty, true)
})
