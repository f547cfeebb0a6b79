/** Random lives of a log against a list: what was written survives the process, what was synced the machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { comparePositions, ITEM_WORDS, itemKind, KIND, keyName, type Position, valName } from '../../src/log/format.ts'
import type { OpenedLog } from '../../src/log/opened.ts'
import type { LogWriter } from '../../src/log/writer.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { appendFact, appendMark, DIRECTORY, type Fact, factsOf, openEvents, seeded, startEvents } from './given.ts'

type Step =
  | { readonly do: 'append'; readonly items: number; readonly bytes: number }
  | { readonly do: 'write' }
  | { readonly do: 'sync' }
  | { readonly do: 'complete' }
  | { readonly do: 'mark' }
  | { readonly do: 'kill' }
  | { readonly do: 'reopen' }
  | { readonly do: 'lose'; readonly seed: number }
  | { readonly do: 'full'; readonly seed: number }

const append = (items: number, bytes: number) =>
  fc.record({ do: fc.constant('append' as const), items: fc.nat(items), bytes: fc.nat(bytes) })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 24, arbitrary: append(4, 700) },
  { weight: 2, arbitrary: append(30, 4000) },
  { weight: 5, arbitrary: fc.constant({ do: 'write' as const }) },
  { weight: 5, arbitrary: fc.constant({ do: 'complete' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'sync' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'mark' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'kill' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), seed: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('full' as const), seed: fc.nat() }) },
)

/** A log and what must be true of it. */
class Life {
  private readonly pending: (() => void)[] = []
  private readonly disk = new SimulatedDisk((run) => this.pending.push(run))
  private readonly random = seeded(77)
  private log: LogWriter
  private facts: Fact[] = []
  private written = 0
  private synced = 0
  private number = 0

  constructor() {
    this.log = startEvents(openEvents(this.disk, 'write'), this.random)
  }

  run(step: Step): void {
    if (step.do === 'append') this.append(step.items, step.bytes)
    else if (step.do === 'write') this.write()
    else if (step.do === 'sync') this.sync()
    else if (step.do === 'complete') this.pending.shift()?.()
    else if (step.do === 'mark') this.mark()
    else if (step.do === 'kill') this.kill()
    else if (step.do === 'reopen') this.reopen()
    else if (step.do === 'lose') this.lose(step.seed)
    else this.fill(step.seed)
  }

  private append(items: number, bytes: number): void {
    this.push(appendFact(this.log, ++this.number, items, bytes))
  }

  /** A record in a new segment says that all before it was written and synced. */
  private push(fact: Fact): void {
    const before = this.facts[this.facts.length - 1]
    this.facts.push(fact)
    if (before !== undefined && before.segment < fact.segment) {
      this.written = this.facts.length - 1
      this.synced = this.written
    }
    const record = this.log.read(fact.segment, fact.position)
    assert.equal(Buffer.from(record.body).toString('hex'), fact.body)
  }

  private write(): void {
    this.log.write()
    this.written = this.facts.length
  }

  private sync(): void {
    if (this.log.syncRunning) return
    this.write()
    this.log.sync((error, position) => {
      assert.equal(error, undefined)
      this.synced = Math.max(this.synced, this.countBefore(position))
    })
  }

  private countBefore(position: Position): number {
    return this.facts.filter((fact) => comparePositions(fact, position) < 0).length
  }

  private mark(): void {
    const last = this.facts.findLast((fact) => fact.kind === KIND.mark)
    if (last === undefined || comparePositions(this.log.synced, last) > 0)
      this.push(appendMark(this.log, this.timeMs()))
  }

  private timeMs(): number {
    return 1000 + this.number
  }

  /** kill −9: everything written is there, nothing else. */
  private kill(): void {
    this.disk.processDeath()
    this.pending.length = 0
    this.check(this.written, this.written)
  }

  /** Power: everything synced is there, and what is there was written. */
  private lose(seed: number): void {
    this.disk.powerLoss(seeded(seed).uint32)
    this.pending.length = 0
    this.check(this.synced, this.written)
  }

  private reopen(): void {
    this.log.close()
    this.pending.length = 0
    this.written = this.facts.length
    this.check(this.written, this.written)
  }

  /** A full disk: the batch is gone, nothing before it. */
  private fill(seed: number): void {
    this.write()
    this.disk.budgetBytes = this.disk.usedBytes() + (seed % 600)
    try {
      for (let i = 0; i < 4; i++) this.append(2, 300)
      this.write()
    } catch {
      assert.notEqual(this.log.failure, undefined)
      this.written = this.countBefore(this.log.written) // rolling may have written some
    }
    this.disk.budgetBytes = Number.POSITIVE_INFINITY
    this.kill()
  }

  private check(least: number, most: number): void {
    const opened = openEvents(this.disk, 'write')
    for (const verdict of opened.verdicts) assert.equal(verdict.what, 'torn', verdict.message)
    const found = factsOf(opened)
    assert(found.length >= least && found.length <= most, `${found.length} of ${least} to ${most}`)
    assert.deepEqual(found, this.facts.slice(0, found.length))
    checkKeys(opened, found)
    this.facts = found
    this.written = found.length
    this.synced = found.length
    this.log = startEvents(opened, this.random)
    if (found.length > 0) assert(this.log.sequence > found[found.length - 1].sequence)
  }
}

/** Every item lies in KEY where its record says: in order, at its record's position. */
function checkKeys(opened: OpenedLog, facts: readonly Fact[]): void {
  for (const { number } of opened.segments) {
    const words = opened.key(number)
    const positions: number[] = []
    for (let at = 0; at < words.length; at += ITEM_WORDS) {
      assert([KIND.mark, KIND.synced, 12].includes(itemKind(words[at + 5])))
      positions.push(words[at + 4])
    }
    const expected = facts
      .filter((fact) => fact.segment === number)
      .flatMap((fact) => new Array(itemsIn(fact)).fill(fact.position))
    assert.deepEqual(positions, expected)
  }
}

function itemsIn(fact: Fact): number {
  return fact.kind === KIND.mark ? 2 : Number.parseInt(fact.body.slice(0, 2), 16)
}

test('written records survive the process, synced ones the machine, and none is invented', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 120, size: 'max' }), (steps) => {
      const life = new Life()
      for (const each of steps) life.run(each)
      life.run({ do: 'reopen' })
    }),
    { numRuns: Number(process.env['MODEL_RUNS'] ?? 300) },
  )
})

test('a segment has both its files from the start, named by six digits', () => {
  const disk = new SimulatedDisk()
  startEvents(openEvents(disk, 'write'), seeded(1)).close()
  assert.deepEqual(disk.list(DIRECTORY), [keyName(1), valName(1)])
  assert.deepEqual(disk.list(DIRECTORY), ['000001.key', '000001.val'])
})
