/**
 * A thousand random damages of small crawls: each is repaired, what the repair says is compared with the truth, `verify`
 * finds nothing, and the crawl goes on to the end it would have come to undisturbed.
 *
 *     node scripts/checks/repair.ts [--damages 1000] [--seed N] [--only N]
 */
import { parseArgs } from 'node:util'
import { decodeContent } from '../../src/adapters/content.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { keyFromWords, keyToHex } from '../../src/base/md5.ts'
import { createState, type State, segmentOf, stateOf, URL_STATE, URL_WORD } from '../../src/core/state.ts'
import { closeLogs } from '../../src/crawl/reading.ts'
import { type Repair, repairCrawl } from '../../src/crawl/repairing.ts'
import { verifyCrawl } from '../../src/crawl/verifying.ts'
import { readEvent } from '../../src/shard/link-source.ts'
import { type OpenedShard, openShardLogs } from '../../src/shard/opening.ts'
import { bodyOf, readPage } from '../../src/shard/pages.ts'
import { replay } from '../../src/shard/replay.ts'
import { seeded } from '../../test/log/given.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { damage } from './repair/damages.ts'
import { hexOf, type LostRun, type Truth, truthOf } from './repair/oracle.ts'
import { LAYOUT, makeSamples, type Outcome, ROOT, resumeToEnd, type Sample, storeOf } from './repair/samples.ts'

export interface RepairReport {
  readonly counts: Map<string, number>
  readonly disagreements: string[]
}

/** Damages samples so many times, from a seed; each damage has a seed of its own, so one can be looked at alone. */
export function checkRepairs(damages: number, seed: number, tell: (line: string) => void, only?: number): RepairReport {
  const samples = makeSamples(outcomeOf)
  const report: RepairReport = { counts: new Map(), disagreements: [] }
  for (let i = 0; i < damages; i++) {
    if (only !== undefined && i !== only) continue
    const sample = samples[i % samples.length]
    const { uint32 } = seeded(Math.imul(seed + i, 0x9e3779b1))
    for (let warm = 0; warm < 8; warm++) uint32()
    const disk = sample.disk.clone()
    const what = damage(disk, uint32)
    if (what === undefined) continue
    const say = (text: string): void => {
      const line = `${i}, ${sample.name}, ${what}: ${text}`
      report.disagreements.push(line)
      tell(`DISAGREES  ${line}`)
    }
    try {
      tryOne(sample, disk, report, say, uint32)
    } catch (error) {
      say(`CRASH ${(error as Error).stack?.split('\n').slice(0, 6).join(' | ')}`)
    }
  }
  return report
}

function tryOne(
  sample: Sample,
  disk: SimulatedDisk,
  report: RepairReport,
  say: (text: string) => void,
  uint32: () => number,
): void {
  const truth = truthOf(sample.disk, disk)
  const isSeen = seenDamage(disk)
  const before = statesOf(sample.disk)
  const openStore = () => ({ store: storeOf(sample), note: '' })
  const tools = { disk, random: { uint32 }, decode: decodeContent, nowMs: NOW_MS, openStore, segmentBytesMax: 16_384 }
  const repair = repairCrawl(tools, LAYOUT)
  count(report, `${sample.name} · ${kindOf(repair, truth)}`)
  const { troubles } = verifyCrawl(disk, LAYOUT, decodeContent)
  const damages = troubles.filter(({ isDamage }) => isDamage)
  if (damages.length > 0) return say(`verify says ${damages.map(({ message }) => message).join(' ')}`)
  compareReport(repair, truth, isSeen, before, statesOf(disk), say)
  const again = repairCrawl(tools, LAYOUT)
  if (again.lost.length + again.counts.urls + again.counts.pages > 0) say('a second repair finds something')
  compareEnds(sample.end, outcomeOf(resumeToEnd(sample, disk)), say)
}

/** An end that nobody knows to have been synced is torn, and no damage. */
function seenDamage(disk: SimulatedDisk): (log: LostRun['log']) => boolean {
  let wheres: string[]
  try {
    const { troubles } = verifyCrawl(disk, LAYOUT, decodeContent)
    wheres = troubles.filter(({ isDamage, message }) => isDamage && !message.includes('KEY')).map(({ where }) => where)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return () => true // no MANIFEST, or nothing of the log
  }
  const isLogSeen = wheres.includes('log')
  return (log) => isLogSeen || (log === 'pages' && wheres.includes('pages'))
}

const NOW_MS = Date.UTC(2027, 0, 1)

function kindOf({ lost, counts, isRepaired }: Repair, truth: Truth): string {
  if (!isRepaired) return truth.isLossy ? 'lost, not noticed' : 'nothing'
  if (lost.length === 0) return 'time only'
  return counts.pages > 0 ? 'pages lost' : counts.urls > 0 ? 'outcomes lost' : 'records lost'
}

function count({ counts }: RepairReport, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

function compareReport(
  repair: Repair,
  facts: Truth,
  isSeen: (log: LostRun['log']) => boolean,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  say: (text: string) => void,
): void {
  if (!repair.isRepaired) return
  const isTold = compareRanges(repair, facts, isSeen, say)
  const truth = { ...facts, isIndexed: facts.isIndexed && isTold }
  compareLists('pages', repair.pages.toSorted(), truth.pages, isSeen('pages') || repair.lost.length > 0, say)
  const isFinal = (state: number | undefined): boolean => (state ?? 0) > URL_STATE.processing
  const again = [...after].filter(([key, state]) => state === URL_STATE.pending && isFinal(before.get(key)))
  const keys = again.map(([key]) => key).sort()
  compareLists('URLs', repair.urls.map(hexOf).sort(), keys, truth.isIndexed, say)
  compareLists('host facts', repair.hostFacts.map(factOf).sort(), truth.hostFacts.map(factOf), truth.isIndexed, say)
  const forgotten = [...before.keys()].filter((key) => !after.has(key)).length
  const { counts } = repair
  // Where VAL is gone and KEY is damaged, nothing shows that it is.
  const isBelieved = facts.lost.every((run) => run.isIndexed || run.offset > 0)
  if (isBelieved && (truth.isIndexed ? counts.forgotten !== forgotten : counts.forgotten > forgotten))
    say(`${counts.forgotten} URLs forgotten, not ${forgotten}`)
  if (truth.isIndexed && counts.settings !== truth.settings)
    say(`${counts.settings} records of settings, not ${truth.settings}`)
}

/** A host that nothing names any more is told by its key. */
function factOf(text: string): string {
  const [fact, host] = text.split(' of ')
  return `${fact} of ${/^[0-9a-f]{32}$/.test(host) ? host : hexOf(host)}`
}

function compareLists(
  what: string,
  told: readonly string[],
  expected: readonly string[],
  isExact: boolean,
  say: (text: string) => void,
): void {
  const wrong = told.filter((one) => !expected.includes(one))
  const missing = isExact ? expected.filter((one) => !told.includes(one)) : []
  if (wrong.length > 0) say(`${what} told and not lost: ${wrong.slice(0, 3).join(' ')} (${wrong.length})`)
  if (missing.length > 0) say(`${what} lost and not told: ${missing.slice(0, 3).join(' ')} (${missing.length})`)
}

/** @returns whether all that is lost was told; an end that looks torn need not be */
function compareRanges(
  { lost }: Repair,
  truth: Truth,
  isSeen: (log: LostRun['log']) => boolean,
  say: (text: string) => void,
): boolean {
  let isTold = true
  const nameOf = (log: number): string => (log === 1 ? 'events' : 'pages')
  for (const run of truth.lost) {
    const ofLog = lost.filter((range) => nameOf(range.log) === run.log)
    const told = ofLog.find((range) => isAt(range, run)) ?? ofLog.find((range) => covers(range, run))
    if (told === undefined) {
      isTold = false
      if (isSeen(run.log)) say(`not told: ${JSON.stringify(run)} of ${JSON.stringify(lost)}`)
      continue
    }
    // Behind the end of VAL a KEY that is damaged as well is believed.
    if (!run.isIndexed && (run.offset === 0 || told.toMs === 0)) continue
    if (told.records !== undefined && told.offset === run.offset && told.records !== run.records)
      say(`${told.records} records, not ${run.records} in ${JSON.stringify(told)}`)
    const isWrong = (number: number, right: number): boolean => number !== 0 && number !== right
    if (run.log !== 'events') continue
    if (isWrong(told.fromSequence, run.fromSequence) || isWrong(told.toSequence, run.toSequence))
      say(`numbers ${told.fromSequence}-${told.toSequence}, not ${run.fromSequence}-${run.toSequence}`)
    if (run.isIndexed && told.records === undefined) say(`KEY tells how many records: ${JSON.stringify(told)}`)
  }
  for (const range of lost) {
    const isTrue = truth.lost.some((run) => nameOf(range.log) === run.log && covers(range, run))
    if (!isTrue) say(`told and not lost: ${JSON.stringify(range)}`)
  }
  return isTold
}

function covers(range: Repair['lost'][number], run: LostRun): boolean {
  // Of a last segment that is gone altogether the end of the one before may be named.
  const isEndBefore = range.segment === run.segment - 1 && range.bytes === 0 && range.records === undefined
  if (isEndBefore && run.offset === 0) return true
  return isAt(range, run)
}

function isAt(range: Repair['lost'][number], run: LostRun): boolean {
  return range.segment === run.segment && range.offset === run.offset
}

function compareEnds(expected: Outcome, found: Outcome, say: (text: string) => void): void {
  const differing = [...expected].filter(([key, outcome]) => found.get(key) !== outcome)
  const more = [...found.keys()].filter((key) => !expected.has(key))
  if (differing.length > 0)
    say(
      `ends differ for ${differing.length}: ${differing
        .slice(0, 3)
        .map(([key, outcome]) => `${key} ${outcome} / ${found.get(key)}`)
        .join(', ')}`,
    )
  if (more.length > 0) say(`${more.length} URLs more`)
}

function stateIn(disk: SimulatedDisk): { logs: OpenedShard; state: State } {
  const logs = openShardLogs(disk, ROOT, 'read')
  const state = createState()
  replay(state, logs.events)
  return { logs, state }
}

/** State by key. */
function statesOf(disk: SimulatedDisk): Map<string, number> {
  const { logs, state } = stateIn(disk)
  const states = new Map<string, number>()
  state.urls.forEach((handle) => {
    states.set(hexAt(state, handle), stateOf(state.urls.word(handle, URL_WORD.rest)))
  })
  closeLogs(logs)
  return states
}

/** State and body by key. */
function outcomeOf(disk: SimulatedDisk): Outcome {
  const { logs, state } = stateIn(disk)
  const outcome = new Map<string, string>()
  state.urls.forEach((handle) => {
    const rest = state.urls.word(handle, URL_WORD.rest)
    const event = readEvent(logs.events, segmentOf(rest), state.urls.word(handle, URL_WORD.position))
    const page =
      'stored' in event && event.stored !== undefined
        ? readPage(logs.pages, event.stored.page, decodeContent)
        : undefined
    const body = page === undefined ? '' : Buffer.from(bodyOf(logs.pages, page, decodeContent)).toString('base64')
    outcome.set(hexAt(state, handle), `${stateOf(rest)} ${body.slice(-24)} ${body.length}`)
  })
  closeLogs(logs)
  return outcome
}

function hexAt({ urls }: State, handle: number): string {
  return keyToHex(
    keyFromWords(urls.keyWord(handle, 0), urls.keyWord(handle, 1), urls.keyWord(handle, 2), urls.keyWord(handle, 3)),
  )
}

function main(): void {
  const { values } = parseArgs({
    options: {
      damages: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
    },
  })
  const only = values.only === undefined ? undefined : Number(values.only)
  const report = checkRepairs(Number(values.damages), Number(values.seed), console.log, only)
  for (const [what, times] of [...report.counts].sort()) console.log(`${String(times).padStart(6)}  ${what}`)
  console.log(report.disagreements.length === 0 ? 'No disagreement.' : `${report.disagreements.length} disagreements.`)
  process.exitCode = report.disagreements.length === 0 ? 0 : 1
}

if (import.meta.main) main()
