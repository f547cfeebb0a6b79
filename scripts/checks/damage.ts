/**
 * Damages one copy of a crawl after the other and compares what becomes of it with what must.
 *
 * Each damage is one entry of a table by kind and verdict; each disagreement is one line.
 */
import { closeLogs } from '../../src/crawl/reading.ts'
import type { Trouble } from '../../src/crawl/trouble.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { attempt, type Outcome, type Refusal, read, resume, verify } from './observing.ts'
import { SHARD } from './sample-crawl.ts'
import type { Expected, LogName, ShardFacts, What } from './verdicts.ts'

/** What is done to the files: a path with its new bytes, undefined = removed. */
export type Damage = ReadonlyMap<string, Uint8Array | undefined>

export interface Report {
  readonly counts: Map<string, number>
  readonly disagreements: string[]
  /** Told at once, since a whole run takes long. */
  readonly onDisagreement?: (line: string) => void
}

export class Bench {
  readonly report: Report
  readonly #disk: SimulatedDisk
  readonly #facts: ShardFacts
  readonly #name: string

  constructor(name: string, disk: SimulatedDisk, facts: ShardFacts, report: Report) {
    this.#name = name
    this.#disk = disk.clone()
    this.#facts = facts
    this.report = report
  }

  /** @param isWhole  read, verify and resume too, not only open */
  try(kind: string, log: LogName, damage: Damage, expected: Expected, isWhole: boolean): void {
    const undamaged = new Map([...damage.keys()].map((path) => [path, this.#disk.peek(path)]))
    apply(this.#disk, damage)
    const say = (text: string): void => {
      const where = `${expected.segment}:${expected.from}-${expected.to}`
      const line = `${this.#name}, ${kind} (${expected.what} at ${where}): ${text}`
      this.report.disagreements.push(line)
      this.report.onDisagreement?.(line)
    }
    try {
      this.#open(log, expected, say)
      if (isWhole) this.#readVerifyResume(log, expected, say)
    } catch (error) {
      say(`CRASH ${(error as Error).stack?.split('\n').slice(0, 4).join(' | ')}`)
    }
    const seen = `${this.#name} · ${kind} · ${expected.verified}`
    this.report.counts.set(seen, (this.report.counts.get(seen) ?? 0) + 1)
    apply(this.#disk, undamaged)
  }

  #open(log: LogName, expected: Expected, say: (text: string) => void): void {
    const opened = attempt(() => {
      const logs = openShardLogs(this.#disk, SHARD, 'read')
      closeLogs(logs)
      return { verdicts: logs[log].verdicts, messages: logs.messages }
    })
    if ('refused' in opened) return sayRefused(opened.refused, expected, say)
    const { verdicts, messages } = opened.done
    const what: What = verdicts.length === 0 ? 'clean' : (verdicts[0].what as What)
    if (what !== expected.what) return say(`opening says ${what}`)
    if (what !== 'clean' && !isWithin(verdicts[0], expected))
      say(`opening names ${verdicts[0].segment}:${verdicts[0].offset}`)
    if (what !== 'clean' && messages.length === 0) say('opening is silent')
  }

  #readVerifyResume(log: LogName, expected: Expected, say: (text: string) => void): void {
    if (expected.lastSequence === 0) return this.#refuseAll(expected, say)
    this.#read(log, expected, say)
    const troubles = attempt(() => verify(this.#disk))
    if ('refused' in troubles) say(`verify throws ${troubles.refused.code}`)
    else sayTroubles(troubles.done, log, expected, say)
    this.#resume(expected, say)
  }

  /** Nothing is left: nobody may take the directory for an empty one, unless nothing had been synced. */
  #refuseAll(expected: Expected, say: (text: string) => void): void {
    const found = attempt(() => read(this.#disk))
    const code = expected.what === 'syncedLost' ? 'LOG_CORRUPT' : 'DIR_NO_CRAWL'
    if (!('refused' in found) || found.refused.code !== code) say('what is left of nothing is read')
  }

  #read(log: LogName, expected: Expected, say: (text: string) => void): void {
    const found = attempt(() => read(this.#disk))
    if ('refused' in found) return this.#sayUnread('read', found, expected, say)
    const { sequence, digest, messages, isLossy } = found.done
    if (sequence !== expected.lastSequence) return say(`read up to ${sequence}, not ${expected.lastSequence}`)
    if (digest !== this.#facts.digests[sequence]) say('read gives another digest')
    if (isLossy !== (expected.what === 'syncedLost')) say(`isLossy is ${isLossy}`)
    // A replay reads no KEY of pages.
    const isKeyHit = expected.verified === 'key' && log === 'events'
    if (isKeyHit !== messages.some((message) => message.includes('KEY'))) say(`read says "${messages.join(' ')}"`)
  }

  #resume(expected: Expected, say: (text: string) => void): void {
    const disk = this.#disk.clone()
    const live = attempt(() => resume(disk))
    if ('refused' in live) return this.#sayUnread('resume', live, expected, say)
    if (expected.lastSequence === undefined) return say('resume goes on')
    if (expected.lastSequence > 0) {
      const before = read(disk, expected.lastSequence)
      if (before.digest !== this.#facts.digests[expected.lastSequence]) say('resume changed the past')
    }
    const after = read(disk)
    if (after.digest !== live.done) say('after resume live and replayed digest differ')
    if (after.messages.length > 0) say(`after resume the end is not clean: ${after.messages.join(' ')}`)
    const left = verify(disk).filter(({ isDamage }) => isDamage)
    // What nobody had to read stays as it is.
    const isMended = left.every(
      (trouble) => expected.isSealed && expected.verified === 'corrupt' && isOf(trouble, expected),
    )
    if (!isMended) say(`after resume verify says ${textOf(left)}`)
  }

  /** Damage in a sealed VAL is met by whoever needs those bytes, or not at all. */
  #sayUnread(who: string, outcome: Outcome<unknown>, expected: Expected, say: (text: string) => void): void {
    if (!('refused' in outcome)) return
    if (expected.verified !== 'corrupt') return say(`${who} is refused: ${outcome.refused.code}`)
    if (!isWithin(outcome.refused, expected)) say(`${who} names ${outcome.refused.segment}:${outcome.refused.offset}`)
  }
}

function sayRefused(refused: Refusal, expected: Expected, say: (text: string) => void): void {
  const isLost = expected.lastSequence === 0 && expected.what === 'syncedLost'
  const isAllowed = (expected.verified === 'corrupt' || isLost) && refused.code === 'LOG_CORRUPT'
  if (!isAllowed) return say(`opening is refused: ${refused.code}`)
  if (!isWithin(refused, expected)) say(`opening names ${refused.segment}:${refused.offset}`)
}

/** The damage is named with its place; what follows from it may be named too. A torn end is worth a note. */
function sayTroubles(
  troubles: readonly Trouble[],
  log: LogName,
  expected: Expected,
  say: (text: string) => void,
): void {
  const where = log === 'events' ? 'log' : 'pages'
  const isDamaged = expected.verified !== 'clean' && expected.verified !== 'torn'
  const damages = troubles.filter(({ isDamage }) => isDamage)
  const isNamed = troubles.some(
    (trouble) => trouble.where === where && trouble.isDamage === isDamaged && isOf(trouble, expected),
  )
  if (expected.verified !== 'clean' && !isNamed) say(`verify says "${textOf(troubles)}"`)
  const others = damages.filter((trouble) => trouble.where !== where || !isOf(trouble, expected))
  if (!isDamaged && damages.length > 0) return say(`verify says "${textOf(damages)}"`)
  if (others.some((trouble) => !FOLLOWS.includes(trouble.where))) say(`verify says too "${textOf(others)}"`)
}

const FOLLOWS = ['references', 'accounting', 'digest']

function textOf(troubles: readonly Trouble[]): string {
  return troubles
    .map(({ where, isDamage, message }) => `${isDamage ? 'damage' : 'note'} ${where} ${message}`)
    .join(', ')
}

function isOf({ segment, offset, where }: Trouble, expected: Expected): boolean {
  if (FOLLOWS.includes(where)) return expected.isSealed
  return isWithin({ segment: segment ?? 0, offset: offset ?? 0 }, expected)
}

function isWithin({ segment, offset }: { segment: number; offset: number }, expected: Expected): boolean {
  // Where a segment is gone altogether the end of the one before may be named.
  if (segment === expected.segment - 1) return expected.from === 0 && offset === expected.before
  return segment === expected.segment && offset >= expected.from && offset < expected.to
}

function apply(disk: SimulatedDisk, damage: Damage): void {
  for (const [path, bytes] of damage) {
    if (bytes === undefined) disk.remove(path)
    else disk.poke(path, bytes)
  }
}
