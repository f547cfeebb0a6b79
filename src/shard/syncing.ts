/**
 * Syncs beside the turns, and the marks that tell of them.
 *
 * Invariant: one sync of both logs at a time; when it has returned the next record is a mark; the next sync begins after
 * that. A mark alone is no reason to sync again, so an idle crawl writes nothing.
 */
import type { Now } from '../core/frontier.ts'
import { NOWHERE } from '../log/format.ts'
import type { Arrival } from './arrival.ts'
import { noteMark } from './checkpointing.ts'
import { type Shard, type Syncing, wake } from './shard-parts.ts'
import { encodeTotals } from './totals.ts'

export function createSyncing(): Syncing {
  return { hasNews: false, isRunning: false, isTimed: false, returned: undefined, waiting: [], covered: [] }
}

/** After a turn's write: a sync must start at the latest `durabilityMs` from now. */
export function scheduleSync(shard: Shard, arrivals: readonly Arrival[]): void {
  const { syncing, state, env } = shard
  for (const arrival of arrivals) if (arrival.kind === 'owner') syncing.waiting.push(arrival.done)
  if (!syncing.hasNews || syncing.isRunning || syncing.returned !== undefined) return
  if (shard.events.wantsSync || shard.pages.wantsSync) return startSync(shard)
  if (syncing.isTimed) return
  syncing.isTimed = true
  env.clock.after(state.settings.durabilityMs, () => {
    syncing.isTimed = false
    startSync(shard)
  })
}

/** Calls back when all that is written now is synced; starts the sync at once where none runs. */
export function whenSynced(shard: Shard, done: () => void): void {
  if (!shard.syncing.hasNews && !shard.syncing.isRunning) return done()
  shard.syncing.waiting.push(done)
  startSync(shard)
}

function startSync(shard: Shard): void {
  const { syncing, events, pages } = shard
  if (shard.hasEnded || syncing.isRunning || syncing.returned !== undefined) return
  // Only what is written can be synced: a batch in memory waits for its turn's write.
  syncing.isRunning = true
  syncing.hasNews = false
  syncing.covered = syncing.waiting
  syncing.waiting = []
  // Where a log rolls meanwhile, it is synced further than the other: the mark tells of what both have.
  const target = { events: events.written, pages: pages.written }
  let left = 2
  let failure: Error | undefined
  const returned = (error: Error | undefined): void => {
    failure ??= error
    if (--left === 0) endSync(shard, target, failure)
  }
  pages.sync(returned)
  events.sync(returned)
}

function endSync(shard: Shard, target: Syncing['returned'], failure: Error | undefined): void {
  const { syncing } = shard
  syncing.isRunning = false
  if (shard.hasEnded) return
  if (failure !== undefined) {
    shard.hasEnded = true
    shard.onFailure(failure)
    return
  }
  syncing.returned = target
  const covered = syncing.covered
  syncing.covered = []
  for (const done of covered) done()
  wake(shard)
}

/** Writes the mark of a sync that has returned, before anything else of the turn. */
export function appendMark(shard: Shard, now: Now): void {
  const { syncing, events, state, totals } = shard
  if (syncing.returned === undefined) return
  const { events: synced, pages } = syncing.returned
  syncing.returned = undefined
  if (synced === NOWHERE) return
  const timeMs = shard.clock.stamp(now.shardMs)
  const { sequence } = events.mark(timeMs, synced, pages, state.digest.bytes(), encodeTotals(totals))
  noteMark(shard, sequence, timeMs)
}
