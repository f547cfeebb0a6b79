/**
 * Damages one copy of a crawl after the other and compares what becomes of it with what must.
 *
 * Each damage is one entry of a table by kind and verdict; each disagreement is one line.
 */
import { closeLogs } from '../../src/crawl/reading.ts'
import type { Finding } from '../../src/log/finding.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { attempt, type Outcome, type Refusal, read, resume, verify } from './observing.ts'
import { SHARD } from './sample-crawl.ts'
import type { Expected, LogName, ShardFacts, What } from './verdicts.ts'

const KEY_ITEM_BYTES = 24

/** What is done to the files: a path with its new bytes, undefined = removed. */
export type Damage = ReadonlyMap<string, Uint8Array | undefined>

export interface Report {
  readonly counts: Map<string, number>
  readonly disagreements: string[]
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
      this.report.disagreements.push(`${this.#name}, ${kind} (${expected.what} at ${where}): ${text}`)
    }
    try {
      this.#open(log, expected, say)
      if (isWhole) this.#readVerifyResume(log, expected, say)
    } catch (error) {
      say(`CRASH ${(error as Error).stack}`)
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
    if (what !== 'clean' && !isWithin(verdicts[0], expected)) say(`opening names ${verdicts[0].segment}:${verdicts[0].offset}`)
    if (what !== 'clean' && messages.length === 0) say('opening is silent')
  }

  #readVerifyResume(log: LogName, expected: Expected, say: (text: string) => void): void {
    this.#read(expected, say)
    const findings = attempt(() => verify(this.#disk)[log])
    if ('refused' in findings) say(`verify throws ${findings.refused.code}`)
    else this.#sayFindings(findings.done, expected, this.#keyBehind(log, expected), say)
    this.#resume(expected, say)
  }

  /** Where KEY goes on although its VAL ends: the first item of a record that was cut. */
  #keyBehind(log: LogName, { verified, segment, from }: Expected): number | undefined {
    if (verified === 'corrupt' || verified === 'key' || from === 0) return undefined
    const facts = this.#facts[log].find(({ number }) => number === segment)
    const key = Buffer.from(this.#disk.peek(facts?.keyPath ?? '') ?? [])
    for (let at = 0; at < key.length; at += KEY_ITEM_BYTES) if (key.readUInt32LE(at + 16) >= from) return at
    return undefined
  }

  #sayFindings(
    findings: readonly Finding[],
    expected: Expected,
    keyBehind: number | undefined,
    say: (text: string) => void,
  ): void {
    const text = findings.map(({ what, segment, offset }) => `${what} ${segment}:${offset}`).join(', ')
    const wanted = expected.verified === 'clean' ? [] : [expected.verified]
    if (keyBehind !== undefined) wanted.push('key')
    const isRight = findings.every((finding) => {
      if (finding.what === 'key' && keyBehind !== undefined) return finding.offset === keyBehind
      return finding.what === expected.verified && isWithin(finding, expected)
    })
    const isAll = wanted.every((what) => findings.some((finding) => finding.what === what))
    if (!isRight || !isAll || findings.length !== wanted.length) say(`verify says "${text}", not ${wanted.join(', ')}`)
  }

  #read(expected: Expected, say: (text: string) => void): void {
    const found = attempt(() => read(this.#disk))
    if ('refused' in found) return this.#sayUnread('read', found, expected, say)
    const { sequence, digest, isLossy } = found.done
    if (sequence !== expected.lastSequence) return say(`read up to ${sequence}, not ${expected.lastSequence}`)
    if (digest !== this.#facts.digests[sequence]) say('read gives another digest')
    if (isLossy !== (expected.what === 'syncedLost')) say(`isLossy is ${isLossy}`)
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
    const left = Object.values(verify(disk)).flat()
    const isMended = left.every((finding) => expected.verified === 'corrupt' && isWithin(finding, expected))
    if (!isMended) say(`after resume verify says ${left.map((finding) => finding.message).join(' ')}`)
  }

  /** Damage in a sealed VAL is met by whoever needs those bytes, or not at all. */
  #sayUnread(who: string, outcome: Outcome<unknown>, expected: Expected, say: (text: string) => void): void {
    if (!('refused' in outcome)) return
    if (expected.verified !== 'corrupt') return say(`${who} is refused: ${outcome.refused.code}`)
    if (!isWithin(outcome.refused, expected)) say(`${who} names ${outcome.refused.segment}:${outcome.refused.offset}`)
  }
}

function sayRefused(refused: Refusal, expected: Expected, say: (text: string) => void): void {
  if (expected.what !== 'corrupt' || refused.code !== 'LOG_CORRUPT') return say(`opening is refused: ${refused.code}`)
  if (!isWithin(refused, expected)) say(`opening names ${refused.segment}:${refused.offset}`)
}

function isWithin({ segment, offset }: { segment: number; offset: number }, expected: Expected): boolean {
  return segment === expected.segment && offset >= expected.from && offset < expected.to
}

function apply(disk: SimulatedDisk, damage: Damage): void {
  for (const [path, bytes] of damage) {
    if (bytes === undefined) disk.remove(path)
    else disk.poke(path, bytes)
  }
}
