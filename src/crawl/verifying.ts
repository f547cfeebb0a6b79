/**
 * `verify`: reads everything and says what is wrong and where; changes nothing.
 *
 * 1. every checksum of both logs, and KEY against VAL (log/verify.ts);
 * 2. every page that an event refers to is there, and its body has the SHA-256 that was noted;
 * 3. the accounting: three counts that share no code with the projections they are compared with;
 * 4. the digest, once more by shard/audit.ts, which shares nothing with `evolve`; replay itself has compared it with the
 *    marks on the way.
 *
 * A log of events with damaged records is not replayed: then 2 to 4 are left out.
 */
import { CrawlError } from '../base/errors.ts'
import { type State, URL_STATE } from '../core/state.ts'
import type { DecodeContent } from '../env/content.ts'
import type { Disk } from '../env/disk.ts'
import type { Finding } from '../log/finding.ts'
import { NOWHERE, type Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { PAGES_LOG } from '../log/pages.ts'
import { verifyLog } from '../log/verify.ts'
import { auditLog } from '../shard/audit.ts'
import { generationIn, logDirectory } from '../shard/generations.ts'
import { EVENTS_LOG } from '../shard/opening.ts'
import { type Accounts, accountsOf } from './accounting.ts'
import { keyTrouble } from './key-trouble.ts'
import type { Layout } from './layout.ts'
import { statedGeneration } from './manifest.ts'
import { verifyPages } from './page-checks.ts'
import { closeLogs, type PastCrawl, readCrawl } from './reading.ts'
import type { Status } from './status.ts'
import { type Trouble, troubleOfError } from './trouble.ts'

export interface CrawlVerification {
  readonly troubles: readonly Trouble[]
  readonly records: number
  readonly pageRecords: number
  /** Pages that events refer to and whose bodies were hashed. */
  readonly pagesChecked: number
  /** Undefined where damage kept the log from being replayed. */
  readonly status: Status | undefined
}

/**
 * Errors: DIR_NO_CRAWL, LOG_NEWER, DISK_DENIED, DISK_FAILED; what is damaged is told, not thrown.
 * Cost: reads everything about three times; memory as a replay, and as much again for the audit.
 */
export function verifyCrawl(disk: Disk, layout: Layout, decode: DecodeContent): CrawlVerification {
  const troubles: Trouble[] = []
  const directory = layout.shard(0)
  const eventsDirectory = logDirectory(directory, generationIn(disk, directory, statedGeneration(disk, layout)))
  const events = verifyLog(disk, eventsDirectory, EVENTS_LOG)
  if (events.opened.isEmpty && events.findings.length === 0) {
    events.opened.close()
    throw new CrawlError('DIR_NO_CRAWL', `There is no crawl in ${layout.root}.`, { path: layout.root })
  }
  const pages = verifyLog(disk, `${directory}/pages`, { ...PAGES_LOG, promised: pagesPromised(events.opened) })
  troubles.push(
    ...events.findings.map((finding) =>
      troubleOf('log', finding, keyTrouble(disk, events.opened, finding, eventsDirectory)),
    ),
  )
  troubles.push(
    ...pages.findings.map((finding) =>
      troubleOf('pages', finding, keyTrouble(disk, pages.opened, finding, `${directory}/pages`)),
    ),
  )
  const counts = { records: events.records, pageRecords: pages.records }
  try {
    if (events.findings.some(({ what }) => what === 'corrupt')) {
      return { troubles, ...counts, pagesChecked: 0, status: undefined }
    }
    const past = readOrTell(disk, layout, troubles)
    // Where damaged pages keep the crawl from being read, those that are damaged are named all the same.
    const end = past?.cut.position ?? events.opened.end
    const pagesChecked = verifyPages({ events: events.opened, pages: pages.opened }, end, decode, troubles)
    if (past !== undefined) verifyState(past, troubles)
    return { troubles, ...counts, pagesChecked, status: past?.status }
  } finally {
    events.opened.close()
    pages.opened.close()
  }
}

/** Accounting and digest. Closes the logs. */
function verifyState(past: PastCrawl, troubles: Trouble[]): void {
  try {
    compareAccounts(past.state, accountsOf(past), troubles)
    compareAudit(past, troubles)
  } finally {
    closeLogs(past.logs)
  }
}

/** Up to where the pages had been synced, as far as the events still tell. */
function pagesPromised(events: OpenedLog): Position {
  try {
    return events.lastMark()?.mark.pagesSynced ?? NOWHERE
  } catch (error) {
    // Damage on the way to the mark has been found already.
    if (troubleOfError(error, 'log') === undefined) throw error
    return NOWHERE
  }
}

/** Torn ends are cut at the next opening, and a KEY that lags behind is made anew: that is how a crash looks. */
function troubleOf(where: 'log' | 'pages', finding: Finding, isKeyDamage: boolean): Trouble {
  const { what, segment, offset, bytes, message } = finding
  const isDamage = what === 'corrupt' || what === 'syncedLost' || (what === 'key' && isKeyDamage)
  return { where, isDamage, message, segment, offset, bytes }
}

function readOrTell(disk: Disk, layout: Layout, troubles: Trouble[]): PastCrawl | undefined {
  try {
    return readCrawl(disk, layout, { kind: 'end' }, undefined, true)
  } catch (error) {
    const trouble = troubleOfError(error, 'digest')
    if (trouble === undefined) throw error
    // What was found on the way need not be told twice.
    if (troubles.every(({ isDamage }) => !isDamage)) troubles.push(trouble)
    return undefined
  }
}

function compareAccounts(state: State, accounts: Accounts, troubles: Trouble[]): void {
  const sum = state.counts.reduce((total, number) => total + number, 0)
  const compare = (what: string, counted: number, known: number): void => {
    if (counted !== known) troubles.push(difference('accounting', `${what}: ${counted} counted, ${known} known.`))
  }
  compare('URLs, by the keys of `enqueue` and by the sum of their states', accounts.enqueued, sum)
  compare(
    'URLs pending, by opening every queue and by their state',
    accounts.queued + state.waiting.count,
    state.counts[URL_STATE.pending],
  )
  compare(
    'URLs in flight, by claims without outcome and by their state',
    accounts.claimed,
    state.counts[URL_STATE.processing],
  )
  if (accounts.queuedTwice > 0)
    troubles.push(difference('accounting', `${accounts.queuedTwice} URLs stand in two queues.`))
}

function compareAudit({ logs, cut, state, status }: PastCrawl, troubles: Trouble[]): void {
  const audit = auditLog(logs.events, cut.position)
  if (audit.digest !== status.digest) {
    troubles.push(
      difference('digest', `The digest is ${status.digest} by replay and ${audit.digest} by recomputation.`),
    )
  }
  for (const name of ['pending', 'processing', 'done', 'failed', 'refused'] as const) {
    const known = state.counts[URL_STATE[name]]
    if (audit[name] !== known)
      troubles.push(difference('digest', `URLs ${name}: ${known} by replay, ${audit[name]} by recomputation.`))
  }
}

function difference(where: Trouble['where'], message: string): Trouble {
  return { where, isDamage: true, message, segment: null, offset: null, bytes: null }
}
