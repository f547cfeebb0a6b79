/** `status [DIR]`: figures from the process that crawls there, or by replay; for people with rates, waits and costs. */
import { openCrawlDb } from '../adapters/crawl-db.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { readOwner } from '../adapters/lock.ts'
import { reasonOf } from '../core/reasons.ts'
import type { Layout } from '../crawl/layout.ts'
import { type Rates, ratesOf } from '../crawl/rates.ts'
import { closeLogs, type PastCrawl, readCrawl } from '../crawl/reading.ts'
import { type ReplayCost, replayCostOf } from '../crawl/replay-cost.ts'
import type { LiveReport, Status } from '../crawl/status.ts'
import { type WaitingHosts, waitingHosts } from '../crawl/waiting-hosts.ts'
import { hostNameOf } from '../shard/link-source.ts'
import { totalsAt } from '../shard/replay.ts'
import { replayMsOf } from '../shard/replay-work.ts'
import type { Totals } from '../shard/totals.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { EXIT } from './errors.ts'
import { crawlNamed, withLogs, withPast } from './reading.ts'
import { bytes, count, duration, escapeLine, jsonLine, labelled, rate } from './text.ts'

export async function run(args: Arguments): Promise<number> {
  const { root, layout } = crawlNamed(args)
  if (args.isJson) {
    const live = (await ask(root, { do: 'status' })) as Status | undefined
    process.stdout.write(`${jsonLine(live ?? withPast(layout, ({ status }) => status))}\n`)
    return EXIT.done
  }
  const live = (await ask(root, { do: 'report' })) as LiveReport | undefined
  const view = live === undefined ? withPast(layout, (past) => viewOfPast(layout, past)) : viewOfLive(layout, live)
  process.stdout.write(`${linesOf(root, view).join('\n')}\n`)
  return EXIT.done
}

interface View {
  /** `running`, `finished`, `stopped`, `died`. */
  readonly how: string
  readonly status: Status
  readonly pages: number
  readonly waiting: WaitingHosts
  readonly totals: Totals
  readonly rates: Rates
  readonly cost: ReplayCost
}

function viewOfLive(layout: Layout, { status, pages, waiting, cost }: LiveReport): View {
  const owner = readOwner(layout.root)
  const how = owner === undefined ? 'running' : `running since ${owner.started}, process ${owner.pid}`
  return withLogs(layout, ({ events, end }) => {
    const totals = totalsAt(events, end)
    return { how, status, pages, waiting, totals, rates: ratesOf(events, totals), cost }
  })
}

function viewOfPast(layout: Layout, { state, status, totals, logs }: PastCrawl): View {
  const waiting = waitingHosts(state, (host) => hostNameOf(logs.events, state, host), Date.now())
  const how = howOf(state.isOpen, status)
  const cost = costOf(layout, logs.events)
  return { how, status, pages: state.pages, waiting, totals, rates: ratesOf(logs.events, totals), cost }
}

/** How a crawl stands in which nobody answers. Shared with `list`. */
export function howOf(isOpen: boolean, status: Status): string {
  if (isOpen) return 'died; resume goes on'
  return status.finished ? 'finished' : 'stopped; resume goes on'
}

function costOf(layout: Layout, log: PastCrawl['logs']['events']): ReplayCost {
  const store = openCrawlDb(layout.database, 'read').store
  try {
    return replayCostOf(log, store)
  } finally {
    store.close()
  }
}

type Row = readonly [name: string, value: string]

function linesOf(root: string, view: View): string[] {
  const { status, waiting, rates, cost } = view
  const parts = (['done', 'failed', 'refused', 'pending'] as const).map((name) => `${count(status[name])} ${name}`)
  const lately = view.how.startsWith('running') ? `, lately ${rate(rates.recent)}` : ''
  const rows: Row[] = [
    ['crawl', root],
    ['state', view.how],
    ['as of', `${status.time}, record ${status.seq}`],
    ['URLs', `${count(status.seen)} seen: ${parts.join(', ')}, ${count(status.processing)} in flight`],
    ['pages', `${count(view.pages)}, ${bytes(status.bytes)} received`],
    [
      'rate',
      rates.runMs === 0 ? 'none yet' : `${rate(rates.overall)} pages/s in ${duration(rates.runMs)} of running${lately}`,
    ],
    [
      'hosts',
      `${count(status.hosts)}, ${count(status.resolved)} resolved, ${count(status.badHosts)} bad; ${count(waiting.withPending)} with URLs pending`,
    ],
    ...waitingRows(waiting),
    ...reasonRows(view.totals),
    ['checkpoint', checkpointText(cost)],
    [
      'replay',
      `${count(cost.items)} items from the start, about ${duration(replayMsOf({ items: cost.items, records: 0 }))}`,
    ],
    ['digest', status.digest],
  ]
  return labelled(rows)
}

function waitingRows({ waiting, first, lastUntil }: WaitingHosts): Row[] {
  if (waiting === 0) return []
  const rows: Row[] = [['waiting', `${count(waiting)} of them, the last until ${lastUntil}`]]
  for (const { host, until, why, pending } of first)
    rows.push(['', `${escapeLine(host)} until ${until} (${why}), ${count(pending)} pending`])
  return rows
}

/** Reasons named on one line. */
const REASONS_SHOWN = 5

function reasonRows({ byReason }: Totals): Row[] {
  const counted = Object.entries(byReason).sort((a, b) => b[1] - a[1])
  if (counted.length === 0) return []
  const shown = counted
    .slice(0, REASONS_SHOWN)
    .map(([number, times]) => `${reasonOf(Number(number)) ?? number} ${count(times)}`)
  const rest = counted.length - shown.length
  return [['reasons', `${shown.join(', ')}${rest > 0 ? `, ${rest} more` : ''}`]]
}

function checkpointText({ checkpoint, itemsAfterCheckpoint }: ReplayCost): string {
  if (checkpoint === undefined || itemsAfterCheckpoint === undefined) return 'none yet'
  const agoMs = Math.max(0, Date.now() - checkpoint.createdMs)
  const place = `at record ${count(checkpoint.sequence)}, ${bytes(checkpoint.bytes)}, ${duration(agoMs)} ago`
  return `${place}; ${count(itemsAfterCheckpoint)} items behind it`
}

/** Status of a crawl that nobody runs, and how it stands. Shared with `list`. Errors: as `readCrawl`. */
export function statusOfFiles(layout: Layout): { readonly status: Status; readonly how: string } {
  const past = readCrawl(nodeDisk, layout)
  closeLogs(past.logs)
  return { status: past.status, how: howOf(past.state.isOpen, past.status) }
}
