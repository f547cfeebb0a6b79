/** Damage of every kind, each verdict computed beforehand by a few lines that share nothing with the reader. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CrawlError } from '../../src/base/errors.ts'
import type { Finding } from '../../src/log/finding.ts'
import { keyName, valName } from '../../src/log/format.ts'
import { verifyLog } from '../../src/log/verify.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import {
  appendFact,
  appendMark,
  DIRECTORY,
  type Fact,
  factsOf,
  itemsOfFacts,
  KIND_MAX,
  openEvents,
  seeded,
  startEvents,
} from './given.ts'

const SEGMENT_HEAD = { segment: 0, position: 0 }

interface Sample {
  readonly disk: SimulatedDisk
  readonly facts: readonly Fact[]
  readonly last: number
  /** Bytes of the last VAL. */
  readonly size: number
  /** Last synced position that a mark in the last segment states, and the position of each mark there. */
  readonly marks: readonly { readonly at: number; readonly says: number }[]
}

/** Three segments; in the last one facts and marks, and behind its last mark facts that no mark speaks for. */
function sample(): Sample {
  const disk = new SimulatedDisk()
  const log = startEvents(openEvents(disk, 'write'), seeded(5))
  const facts: Fact[] = []
  let marks: { at: number; says: number }[] = []
  for (let i = 1; log.segment < 3 || log.position < 6000; i++) {
    facts.push(appendFact(log, i, i % 4, (i * 37) % 400))
    if (i % 6 !== 0) continue
    log.write()
    const synced = log.syncNow()
    const mark = appendMark(log, 1000 + i)
    facts.push(mark)
    if (marks.length > 0 && facts[facts.length - 2].segment < mark.segment) marks = []
    if (mark.segment === 3) marks.push({ at: mark.position, says: synced.segment === 3 ? synced.position : 0 })
  }
  log.write()
  disk.processDeath()
  const size = disk.peek(path(valName(3)))?.length ?? 0
  return { disk: disk.clone(), facts, last: 3, size, marks }
}

function path(name: string): string {
  return `${DIRECTORY}/${name}`
}

type Outcome = 'clean' | Finding['what']

/** Opens and says what became of it: the verdict, and how many records are left. */
function outcomeOf(disk: SimulatedDisk): { what: Outcome; records: number; segment: number; offset: number } {
  try {
    const opened = openEvents(disk, 'read')
    const verdict = opened.verdicts[0]
    const records = factsOf(opened).length
    opened.close()
    return { what: verdict?.what ?? 'clean', records, segment: verdict?.segment ?? 0, offset: verdict?.offset ?? 0 }
  } catch (error) {
    if (!(error instanceof CrawlError) || error.code !== 'LOG_CORRUPT') throw error
    return {
      what: 'corrupt',
      records: 0,
      segment: Number(error.facts['segment']),
      offset: Number(error.facts['offset']),
    }
  }
}

/** Start of the record that holds byte `at` of the last VAL. */
function recordStart(facts: readonly { segment: number; position: number }[], last: number, at: number): number {
  const starts = [0, ...facts.filter((fact) => fact.segment === last).map((fact) => fact.position)]
  return starts.findLast((start) => start <= at) ?? 0
}

test('a log cut at any byte keeps its whole records; lost synced ones are told from torn ones', () => {
  const { disk, facts, last, size, marks } = sample()
  const val = disk.peek(path(valName(last)))
  assert(val)
  const promised = Math.max(...marks.map((mark) => mark.says))
  for (let cut = Math.max(0, size - 4096); cut <= size; cut++) {
    const damaged = disk.clone()
    damaged.poke(path(valName(last)), val.subarray(0, cut))
    const start = cut === size ? size : recordStart(facts, last, cut)
    const expected = promised > start ? 'syncedLost' : start === cut ? 'clean' : 'torn'
    const left = facts.filter((fact) => fact.segment < last || fact.position < start).length
    const found = outcomeOf(damaged)
    assert.deepEqual([found.what, found.records], [expected, left], `cut at ${cut}`)
  }
})

test('of 2,000 flipped bits in VAL and KEY each gets the verdict that the marks call for', () => {
  const { disk, facts, last, size, marks } = sample()
  const random = seeded(99)
  const names = [1, 2, 3].flatMap((number) => [valName(number), keyName(number)])
  const promised = Math.max(...marks.map((mark) => mark.says))
  const seen = new Map<string, number>()
  for (let run = 0; run < 2000; run++) {
    const name = names[random.uint32() % names.length]
    const bytes = disk.peek(path(name))
    assert(bytes)
    const at = random.uint32() % bytes.length
    bytes[at] ^= 1 << (random.uint32() % 8)
    const damaged = disk.clone()
    damaged.poke(path(name), bytes)
    const expected = expectedOf(name, at)
    const found = outcomeOf(damaged)
    assert.equal(found.what, expected.what, `${name} byte ${at}: ${JSON.stringify(found)}`)
    if (expected.what === 'corrupt')
      assert.deepEqual([found.segment, found.offset], [expected.segment, expected.offset])
    seen.set(expected.what, (seen.get(expected.what) ?? 0) + 1)
    checkVerified(damaged, name, at, expected.what)
  }
  assert.deepEqual([...seen.keys()].sort(), ['clean', 'corrupt', 'torn'])

  /** The oracle. Sealed VALs are read when they are needed (or verified): opening looks at their first record. */
  function expectedOf(name: string, at: number): { what: Outcome; segment: number; offset: number } {
    const number = Number(name.slice(0, 6))
    if (name.endsWith('.key')) return { what: 'clean', ...SEGMENT_HEAD, offset: 0 }
    if (number < last) return { what: at < 96 ? 'corrupt' : 'clean', segment: number, offset: 0 }
    const start = recordStart(facts, last, at)
    const isFollowed = facts.some((fact) => fact.segment === last && fact.position > start)
    const isTold = marks.some((mark) => mark.at > start && mark.says > start) || (isFollowed && promised > start)
    if (isTold) return { what: 'corrupt', segment: last, offset: start }
    return { what: promised > start ? 'syncedLost' : 'torn', segment: last, offset: start }
  }

  function checkVerified(damaged: SimulatedDisk, name: string, at: number, what: Outcome): void {
    const found = verifyLog(damaged, DIRECTORY, { role: 1, kindMax: KIND_MAX, itemsOf: itemsOfFacts })
    found.opened.close()
    const number = Number(name.slice(0, 6))
    if (name.endsWith('.key')) assert.deepEqual(shortOf(found.findings), [`key ${number} ${Math.floor(at / 24) * 24}`])
    else if (number === last || at < 96) assert.equal(found.findings[0].what, what)
    else {
      const starts = [0, ...facts.filter((fact) => fact.segment === number).map((fact) => fact.position)]
      assert.deepEqual(shortOf(found.findings), [`corrupt ${number} ${starts.findLast((start) => start <= at)}`])
    }
  }

  function shortOf(findings: readonly { what: string; segment: number; offset: number }[]): string[] {
    return findings.map(({ what, segment, offset }) => `${what} ${segment} ${offset}`)
  }
  assert(size > 0)
})

test('KEY that is missing, short, long or damaged is made anew from VAL, the same to the byte', () => {
  const { disk, last } = sample()
  for (const number of [1, 2, last]) {
    const name = path(keyName(number))
    const right = disk.peek(name)
    assert(right)
    const flipped = right.slice()
    flipped[100] ^= 4
    const longer = new Uint8Array(right.length + 24)
    longer.set(right)
    for (const wrong of [undefined, right.subarray(0, right.length - 7), new Uint8Array(0), flipped, longer]) {
      const damaged = disk.clone()
      if (wrong === undefined) damaged.remove(name)
      else damaged.poke(name, wrong)
      const reader = openEvents(damaged, 'read')
      assert.deepEqual(new Uint8Array(new Uint32Array(reader.key(number)).buffer), right)
      assert.deepEqual(
        damaged.peek(name),
        wrong === undefined ? undefined : new Uint8Array(wrong),
        'a reader writes nothing',
      )
      const opened = openEvents(damaged, 'write')
      for (const segment of opened.segments) opened.key(segment.number)
      startEvents(opened, seeded(8)).close()
      assert.deepEqual(damaged.peek(name), right)
    }
  }
})

test('a missing segment is corruption, wherever it lies before another', () => {
  const { disk } = sample()
  for (const number of [1, 2]) {
    const damaged = disk.clone()
    damaged.remove(path(valName(number)))
    const found = outcomeOf(damaged)
    assert.deepEqual([found.what, found.segment], ['corrupt', number])
  }
})

test('a sealed VAL that is shorter or longer than its successor says is corruption', () => {
  const { disk } = sample()
  const val = disk.peek(path(valName(2)))
  assert(val)
  const longer = new Uint8Array(val.length + 5)
  longer.set(val)
  for (const [bytes, offset] of [
    [val.subarray(0, val.length - 1), val.length - 1],
    [longer, val.length],
  ] as const) {
    const damaged = disk.clone()
    damaged.poke(path(valName(2)), bytes)
    const found = outcomeOf(damaged)
    assert.deepEqual([found.what, found.segment, found.offset], ['corrupt', 2, offset])
  }
})

test('a last segment whose first record is torn was being made: the log ends with the one before', () => {
  const { disk, facts, last } = sample()
  for (const bytes of [
    new Uint8Array(0),
    new Uint8Array(40),
    new Uint8Array(4096),
    disk.peek(path(valName(last)))?.subarray(0, 95),
  ]) {
    const damaged = disk.clone()
    damaged.poke(path(valName(last)), bytes ?? new Uint8Array(0))
    damaged.remove(path(keyName(last)))
    const opened = openEvents(damaged, 'write')
    assert.deepEqual(
      opened.verdicts.map((verdict) => [verdict.what, verdict.segment, verdict.offset]),
      [['torn', last, 0]],
    )
    const left = facts.filter((fact) => fact.segment < last)
    assert.deepEqual(factsOf(opened), left)
    const log = startEvents(opened, seeded(9))
    const next = appendFact(log, 7777, 1, 200)
    assert.equal(next.sequence, left[left.length - 1].sequence + 1 + (next.segment === last ? 1 : 0))
    log.close()
    assert.equal(outcomeOf(damaged).what, 'clean')
  }
})

test('a tail of zeros is torn, whatever its length', () => {
  const { disk, facts, last } = sample()
  const val = disk.peek(path(valName(last)))
  assert(val)
  for (const zeros of [1, 3, 4, 19, 20, 4096, 100_000]) {
    const longer = new Uint8Array(val.length + zeros)
    longer.set(val)
    const damaged = disk.clone()
    damaged.poke(path(valName(last)), longer)
    const found = outcomeOf(damaged)
    assert.deepEqual([found.what, found.offset, found.records], ['torn', val.length, facts.length])
  }
})

test('a hole of zeros behind the last mark cuts there, good records after it included', () => {
  const { disk, facts, last, marks } = sample()
  const val = disk.peek(path(valName(last)))
  assert(val)
  const lastMark = marks[marks.length - 1]
  const behind = facts.filter((fact) => fact.segment === last && fact.position > lastMark.at)
  val.fill(0, behind[0].position, behind[1].position)
  disk.poke(path(valName(last)), val)
  const opened = openEvents(disk, 'write')
  assert.deepEqual(
    opened.verdicts.map((verdict) => [verdict.what, verdict.records]),
    [['torn', behind.length - 1]],
  )
  startEvents(opened, seeded(2)).close()
  assert.equal(disk.peek(path(valName(last)))?.length, behind[0].position)
})

test('a directory without one whole segment record is an empty log', () => {
  for (const bytes of [undefined, new Uint8Array(0), new Uint8Array(96), new Uint8Array(5000).fill(1)]) {
    const disk = new SimulatedDisk()
    if (bytes !== undefined) disk.poke(path(valName(1)), bytes)
    const opened = openEvents(disk, 'write')
    assert.equal(opened.isEmpty, true)
    const log = startEvents(opened, seeded(3))
    assert.equal(appendFact(log, 1, 1, 1).sequence, 2)
    log.close()
    assert.equal(factsOf(openEvents(disk, 'read')).length, 1)
  }
})

test('a whole record of an unknown kind or version is refused as newer, a damaged one is not', () => {
  const disk = new SimulatedDisk()
  const log = startEvents(openEvents(disk, 'write'), seeded(3))
  log.begin(KIND_MAX + 1, 0, 2000).u32(7)
  log.end()
  log.close()
  assert.throws(() => openEvents(disk, 'read'), { code: 'LOG_NEWER' })
  const val = disk.peek(path(valName(1)))
  assert(val)
  val[val.length - 1] ^= 1
  disk.poke(path(valName(1)), val)
  assert.equal(outcomeOf(disk).what, 'torn')
})

test('a caller that knows more was synced than is left is told: lost at the end, corrupt with records behind', () => {
  const { disk, facts, last, size } = sample()
  const behind = facts.filter((fact) => fact.segment === last)
  const end = { segment: last, position: size }
  const val = disk.peek(path(valName(last)))
  assert(val)
  const cut = disk.clone()
  cut.poke(path(valName(last)), val.subarray(0, behind[behind.length - 1].position))
  assert.equal(openEvents(cut, 'read', { promised: end }).verdicts[0].what, 'syncedLost')
  const flipped = disk.clone()
  val[behind[behind.length - 2].position + 9] ^= 1
  flipped.poke(path(valName(last)), val)
  assert.equal(openEvents(flipped, 'read').verdicts[0].what, 'torn')
  assert.throws(() => openEvents(flipped, 'read', { promised: end }), { code: 'LOG_CORRUPT' })
  const gone = disk.clone()
  gone.remove(path(valName(last)))
  assert.equal(openEvents(gone, 'read', { promised: end }).verdicts[0].what, 'syncedLost')
  assert.equal(openEvents(new SimulatedDisk(), 'read', { promised: end }).verdicts[0].what, 'syncedLost')
})

test('what an accepted loss had promised does not come back to accuse the log that went on', () => {
  const { disk, facts, last, marks } = sample()
  const val = disk.peek(path(valName(last)))
  assert(val)
  const lost = facts.find((fact) => fact.segment === last && fact.position > marks[1].at)
  assert(lost)
  for (let seed = 1; seed <= 60; seed++) {
    const cut = disk.clone()
    cut.poke(path(valName(last)), val.subarray(0, lost.position))
    const opened = openEvents(cut, 'write')
    assert.equal(opened.verdicts[0].what, 'syncedLost')
    const log = startEvents(opened, seeded(seed))
    for (let i = 0; i < 8; i++) {
      appendFact(log, 9000 + i, 1, 130)
      log.write()
    }
    cut.powerLoss(seeded(seed).uint32)
    assert.match(openEvents(cut, 'read').verdicts[0]?.what ?? 'clean', /clean|torn/)
  }
})
