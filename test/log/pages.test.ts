import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import type { Disk } from '../../src/env/disk.ts'
import { type Position, SEGMENT_BYTES_MAX } from '../../src/log/format.ts'
import { appendPage, endOfPage, PAGES_LOG, type PageAddress, readPage } from '../../src/log/pages.ts'
import { openLog } from '../../src/log/recover.ts'
import { adoptRewritten, rewriteSegment } from '../../src/log/rewrite.ts'
import { verifyLog } from '../../src/log/verify.ts'
import type { LogWriter } from '../../src/log/writer.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { CRAWL_ID, seeded } from './given.ts'

const PAGES = '/pages'
const SMALL = 16_384

function openPages(disk: Disk, mode: 'read' | 'write', promised?: Position) {
  return openLog(disk, PAGES, { ...PAGES_LOG, mode, ...(promised ? { promised } : {}) })
}

function startPages(disk: Disk, segmentBytesMax = SMALL): LogWriter {
  const identity = { crawlId: CRAWL_ID, shard: 0, generation: 0 }
  return openPages(disk, 'write').startWriter({ random: seeded(11), identity, timeMs: 1, segmentBytesMax })
}

function pageBody(i: number): Buffer {
  return Buffer.from(`page ${i} `.repeat(20 + (i % 40)))
}

function fill(log: LogWriter, count: number): PageAddress[] {
  const addresses: PageAddress[] = []
  for (let i = 0; i < count; i++) {
    addresses.push(appendPage(log, keyOf(`http://a.test/${i}`), 5, 100 + i, [Buffer.from('head'), pageBody(i)]))
    if (i % 5 === 0) log.write()
  }
  return addresses
}

test('a page is read by segment and ordinal, in two reads at most, while it is written and afterwards', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk)
  const addresses = fill(log, 200)
  const check = (source: Parameters<typeof readPage>[0]) => {
    for (const [i, address] of addresses.entries()) {
      const before = disk.counters.reads
      const page = readPage(source, address)
      assert(disk.counters.reads - before <= 2)
      assert.deepEqual([page?.key, page?.timeMs, page?.parts.length], [keyOf(`http://a.test/${i}`), 100 + i, 1])
      assert.deepEqual([page?.parts[0].flags, page?.parts[0].bytes.toString()], [5, `head${pageBody(i)}`])
    }
    const last = addresses[addresses.length - 1]
    assert.equal(readPage(source, { segment: last.segment, ordinal: last.ordinal + 1 }), undefined)
    assert.equal(readPage(source, { segment: last.segment + 1, ordinal: 0 }), undefined)
  }
  check(log)
  log.close()
  check(openPages(disk, 'read'))
})

test('a page above 4 MiB goes into several records, also across segments, and is missing if one of them is', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk, 6 * 1024 * 1024)
  const body = Buffer.alloc(13_000_000, 'abcdefgh')
  const key = keyOf('http://big.test/')
  appendPage(log, keyOf('http://a.test/'), 0, 1, [pageBody(1)])
  const address = appendPage(log, key, 2, 7, [Buffer.from('head'), body])
  assert.equal(log.segment, 3)
  assert.deepEqual(endOfPage(log, address), { segment: 3, position: log.position })
  const check = (page: ReturnType<typeof readPage>) => {
    assert.equal(
      Buffer.concat(page?.parts.map((part) => part.bytes) ?? []).equals(Buffer.concat([Buffer.from('head'), body])),
      true,
    )
    assert.deepEqual([page?.key, page?.parts.map((part) => part.flags)], [key, [2, 2, 2, 2]])
  }
  check(readPage(log, address))
  log.close()
  check(readPage(openPages(disk, 'read'), address))
  const opened = openPages(disk, 'write')
  opened.cut({ segment: 2, position: opened.valBytes(2) })
  assert.equal(readPage(opened, address), undefined)
  assert.equal(endOfPage(opened, address), undefined)
})

test('a segment whose first record is damaged is corrupt if its pages had been promised, torn if not', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk, SEGMENT_BYTES_MAX)
  fill(log, 50)
  const end = log.write()
  log.close()
  const val = disk.peek(`${PAGES}/000001.val`)
  assert(val)
  for (let bit = 0; bit < 96 * 8; bit += 5) {
    const damaged = disk.clone()
    const bytes = val.slice()
    bytes[bit >> 3] ^= 1 << (bit & 7)
    damaged.poke(`${PAGES}/000001.val`, bytes)
    assert.equal(openPages(damaged, 'read').verdicts[0].what, 'torn')
    assert.throws(() => openPages(damaged, 'read', end), { code: 'LOG_CORRUPT' }, `bit ${bit}`)
  }
  const nothing = disk.clone()
  nothing.poke(`${PAGES}/000001.val`, new Uint8Array(val.length))
  assert.equal(openPages(nothing, 'read', end).verdicts[0].what, 'syncedLost')
})

/** Opens for writing and asks for every KEY, as a replay does. */
function mendKeys(disk: Disk): void {
  const opened = openPages(disk, 'write')
  for (const { number } of opened.segments) opened.key(number)
  opened.close()
}

/** Halves every body, flags it, and lets every third record be. */
const halve = (record: { flags: number; body: Buffer; kind: number }) => {
  const body = record.body
  return body.length % 3 === 0
    ? undefined
    : { flags: record.flags | 64, body: body.subarray(0, 16 + (body.length >> 1)) }
}

test('rewriting a sealed segment keeps ordinals, keys, times and numbers; a death at any point is mended', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk)
  const addresses = fill(log, 120)
  log.close()
  const before = addresses.map((address) => readPage(openPages(disk, 'read'), address))
  const { beforeBytes, afterBytes } = rewriteSegment(disk, PAGES, 2, PAGES_LOG, halve)
  assert(afterBytes < beforeBytes)
  const aside = disk.clone()
  for (const names of [[], ['000002.val'], ['000002.val', '000002.key'], ['000002.key']]) {
    const dead = aside.clone()
    for (const name of names) dead.rename(`${PAGES}/${name}.tmp`, `${PAGES}/${name}`)
    const isNew = names.includes('000002.val')
    const opened = openPages(dead, 'read')
    for (const [i, address] of addresses.entries()) {
      const page = readPage(opened, address)
      const old = before[i]
      assert(page && old)
      assert.deepEqual([page.key, page.timeMs], [old.key, old.timeMs])
      const isChanged = isNew && address.segment === 2 && (old.parts[0].bytes.length + 16) % 3 !== 0
      assert.equal(page.parts[0].flags, isChanged ? 5 | 64 : 5)
      if (!isChanged) assert.deepEqual(page, old)
    }
    openPages(dead, 'write')
      .startWriter({ random: seeded(1), timeMs: 1, segmentBytesMax: SMALL })
      .close()
    assert.deepEqual(
      dead.list(PAGES).filter((name) => name.endsWith('.tmp')),
      [],
    )
    const { findings } = verifyLog(dead, PAGES, PAGES_LOG)
    assert.deepEqual(findings, [])
  }
})

test('a running writer takes over a rewritten segment, and it can be rewritten again', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk)
  const addresses = fill(log, 120)
  for (let round = 0; round < 2; round++) {
    rewriteSegment(disk, PAGES, 1, PAGES_LOG, halve)
    log.adopt(1)
    for (const [i, address] of addresses.entries()) {
      assert.equal(readPage(log, address)?.key, keyOf(`http://a.test/${i}`))
    }
  }
  log.close()
  assert.deepEqual(verifyLog(disk, PAGES, PAGES_LOG).findings, [])
})

test('a rewritten segment that a cut makes the last one again grows and seals like any other', () => {
  const disk = new SimulatedDisk()
  const addresses = (() => {
    const log = startPages(disk)
    const all = fill(log, 120)
    log.close()
    return all
  })()
  rewriteSegment(disk, PAGES, 2, PAGES_LOG, halve)
  adoptRewritten(disk, PAGES, 2)
  const opened = openPages(disk, 'write')
  const end = endOfPage(opened, { segment: 2, ordinal: 3 })
  assert(end)
  opened.cut(end)
  disk.powerLoss(seeded(5).uint32)
  const log = openPages(disk, 'write').startWriter({ random: seeded(1), timeMs: 1, segmentBytesMax: SMALL })
  fill(log, 60)
  log.close()
  mendKeys(disk) // that of the first segment was not synced yet
  assert.deepEqual(verifyLog(disk, PAGES, PAGES_LOG).findings, [])
  assert.equal(addresses.length, 120)
})

test('rewriting on a full disk leaves the segment as it was', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk)
  fill(log, 120)
  log.close()
  const names = disk.list(PAGES)
  const val = disk.peek(`${PAGES}/000002.val`)
  disk.budgetBytes = disk.usedBytes() + 3000
  assert.throws(() => rewriteSegment(disk, PAGES, 2, PAGES_LOG, () => undefined), { code: 'DISK_FULL' })
  assert.deepEqual(disk.list(PAGES), names)
  assert.deepEqual(disk.peek(`${PAGES}/000002.val`), val)
})

test('a KEY item that was damaged on disk is noticed and made anew when its page is read', () => {
  const disk = new SimulatedDisk()
  const log = startPages(disk)
  const addresses = fill(log, 120)
  log.close()
  const right = disk.peek(`${PAGES}/000002.key`)
  assert(right)
  for (const at of [24 * 3, 24 * 3 + 17, 24 * 3 + 23, 24 * 4 + 16]) {
    const wrong = right.slice()
    wrong[at] ^= 16
    const damaged = disk.clone()
    damaged.poke(`${PAGES}/000002.key`, wrong)
    for (const source of [openPages(damaged, 'read'), startPages(damaged)]) {
      for (const [i, address] of addresses.entries()) {
        assert.equal(readPage(source, address)?.key, keyOf(`http://a.test/${i}`))
      }
    }
  }
})
