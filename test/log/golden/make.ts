/**
 * Makes the golden logs of the current format version, into `v1/` beside this file: run once per version, never again.
 *
 * They are made by the writer itself, with fixed times and salts; FORMAT.md explains the bytes of one of them.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyOf } from '../../../src/base/md5.ts'
import { NOWHERE, ROLE } from '../../../src/log/format.ts'
import { GenerationWriter } from '../../../src/log/generation-writer.ts'
import { appendPage, PAGES_LOG } from '../../../src/log/pages.ts'
import { openLog } from '../../../src/log/recover.ts'
import { adoptRewritten, rewriteSegment } from '../../../src/log/rewrite.ts'
import { Store } from '../../../src/log/store.ts'
import { SimulatedDisk } from '../../sim/disk.ts'
import { appendFact, CRAWL_ID, DIGEST, DIRECTORY, FACT, factBody, openEvents, seeded, startEvents } from '../given.ts'

/** Time of the worked example in FORMAT.md: 2024-01-02T03:04:05.678Z. */
const TIME_MS = Date.UTC(2024, 0, 2, 3, 4, 5, 678)

/** Three segments of events with marks. */
export function makeEvents(disk: SimulatedDisk): void {
  const log = startEvents(openEvents(disk, 'write'), seeded(2024), 4096)
  for (let i = 1; log.segment < 3 || log.position < 1500; i++) {
    appendFact(log, i, i % 4, (i * 53) % 300)
    if (i % 5 !== 0) continue
    log.write()
    const synced = log.syncNow()
    log.mark(1000 + i, synced, { segment: 1, position: 40 * i }, DIGEST, new Uint8Array([i]))
  }
  log.close()
}

/** The same, its first two segments compacted into one. */
export function makeCompacted(disk: SimulatedDisk): void {
  makeEvents(disk)
  const opened = openEvents(disk, 'read')
  const sequenceAfter = opened.segments[2].header.firstSequence
  opened.close()
  const writer = new GenerationWriter(disk, ASIDE, {
    ...{ role: ROLE.events, random: seeded(11), identity: { crawlId: CRAWL_ID, shard: 3, generation: 1 } },
    ...{ lastNumber: 2, sequenceAfter, segmentBytesMax: 4096 },
  })
  for (let i = 1; i <= 6; i++) {
    writer.begin(FACT, i, 1000 + i).rawBytes(factBody(i, i % 4, 7 * i))
    for (let item = 0; item < i % 4; item++) writer.item(i, item, i * 31, 0xffffffff - item, FACT, item)
    writer.end()
  }
  writer.mark(1006, { segment: 1, position: 400 }, DIGEST, new Uint8Array([6]))
  writer.finish()
  for (const number of [1, 2]) for (const half of ['val', 'key']) disk.remove(`${DIRECTORY}/00000${number}.${half}`)
  for (const half of ['val', 'key']) disk.link(`${ASIDE}/000002.${half}`, `${DIRECTORY}/000002.${half}`)
}

const ASIDE = '/log.1'

/** A store with puts, an overwrite and deletions. */
export function makeStore(disk: SimulatedDisk): void {
  const store = new Store({
    disk,
    directory: DIRECTORY,
    clock: { wallMs: () => TIME_MS },
    random: seeded(7),
    segmentBytesMax: 4096,
  })
  for (let i = 0; i < 60; i++) store.put(`http://golden.test/${i}`, `value ${i} ${'.'.repeat(i)}`)
  for (let i = 0; i < 60; i += 9) store.delete(`http://golden.test/${i}`)
  store.put('http://golden.test/1', 'once more')
  store.close()
}

/** Pages in three segments, the first rewritten. */
export function makePages(disk: SimulatedDisk): void {
  const identity = { crawlId: CRAWL_ID, shard: 3, generation: 0 }
  const opened = openLog(disk, DIRECTORY, { ...PAGES_LOG, mode: 'write' })
  const log = opened.startWriter({ random: seeded(9), identity, timeMs: TIME_MS, segmentBytesMax: 4096 })
  for (let i = 0; i < 30; i++) {
    appendPage(log, keyOf(`http://golden.test/${i}`), 1, TIME_MS + i, [Buffer.from(`page ${i} `.repeat(20 + i))])
  }
  rewriteSegment(disk, DIRECTORY, 1, PAGES_LOG, (record) => ({ flags: 3, body: record.body.subarray(0, 16 + 9) }))
  log.close()
  adoptRewritten(disk, DIRECTORY, 1)
}

/** The worked example of FORMAT.md: a segment record, one fact with one item, one mark. */
export function makeExample(disk: SimulatedDisk): void {
  const identity = { crawlId: CRAWL_ID, shard: 3, generation: 0 }
  const random = { uint32: () => 0x5a17_0001 }
  const log = openEvents(disk, 'write').startWriter({ random, identity, timeMs: TIME_MS, segmentBytesMax: 4096 })
  log.begin(12, 0, TIME_MS + 1).rawLatin1('hello')
  log.item(0x33221100, 0x77665544, 0xbbaa9988, 0xffeeddcc, 12, 7)
  log.end()
  log.write()
  log.mark(TIME_MS + 2, log.syncNow(), NOWHERE, DIGEST, new Uint8Array(0))
  log.close()
}

export const MAKERS = {
  events: makeEvents,
  store: makeStore,
  pages: makePages,
  example: makeExample,
  compacted: makeCompacted,
} as const

if (import.meta.main) {
  for (const [name, make] of Object.entries(MAKERS)) {
    const disk = new SimulatedDisk()
    make(disk)
    const directory = join(import.meta.dirname, 'v1', name)
    // What was written once is never written again.
    if (existsSync(directory)) continue
    mkdirSync(directory, { recursive: true })
    for (const file of disk.list(DIRECTORY))
      writeFileSync(join(directory, file), disk.peek(`${DIRECTORY}/${file}`) ?? '')
  }
}
