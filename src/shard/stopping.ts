/**
 * How a shard ends: in order (what is in flight is given back, `close` is the last event, all is synced), or after a
 * failed write or sync (cut back to the last whole record, `close` from the reserve).
 */

import { word } from '../base/md5.ts'
import { encodeEvent } from '../core/encode.ts'
import type { CloseEvent } from '../core/event.ts'
import { itemsOf } from '../core/items.ts'
import { KIND } from '../core/kind.ts'
import type { LogWriter } from '../log/writer.ts'
import { apply } from './applying.ts'
import { askingHosts, recordVoid } from './opening.ts'
import type { Shard } from './shard-parts.ts'
import { encodeTotals } from './totals.ts'

/**
 * Ends the shard: no turn is taken after it. Observations that have arrived should be settled before (`turn`).
 *
 * @param reason  why, for people: `finished`, `stopped`, `limit: …`
 * Errors: DISK_FULL, DISK_FAILED; then call `abandonShard`. Cost: two syncs.
 */
export function closeShard(shard: Shard, reason: string): void {
  const { events, pages, state, totals, env } = shard
  shard.hasEnded = true
  shard.cancelTimer?.()
  env.web.stop()
  const now = shard.clock.now()
  const links = [...shard.inFlight.values()].map((claim) => claim.link)
  const asking = askingHosts(state)
  shard.inFlight.clear()
  recordVoid(shard, links, asking, false, now)
  apply(shard, { kind: KIND.close, reason }, now)
  pages.write()
  events.write()
  const pagesSynced = pages.syncNow()
  const synced = events.syncNow()
  const timeMs = shard.clock.stamp(shard.clock.now().shardMs)
  events.mark(timeMs, synced, pagesSynced, state.digest.bytes(), encodeTotals(totals))
  pages.close()
  events.close()
}

/**
 * Ends the shard after a failure: what was not written is gone, and claims in flight are given back at the next
 * opening. Writes `close` where there is room, so that the end is no death.
 *
 * @returns whether `close` is durable
 */
export function abandonShard(shard: Shard, reason: string): boolean {
  shard.hasEnded = true
  shard.cancelTimer?.()
  shard.env.web.stop()
  const arePagesSafe = shard.pages.closeAfterFailure(() => {})
  if (!arePagesSafe) {
    shard.events.closeAfterFailure(() => {})
    return false
  }
  const timeMs = shard.clock.stamp(shard.clock.now().shardMs)
  return shard.events.closeAfterFailure((writer) => appendClose(writer, timeMs, { kind: KIND.close, reason }))
}

function appendClose(writer: LogWriter, timeMs: number, event: CloseEvent): void {
  const out = writer.begin(KIND.close, 0, timeMs)
  encodeEvent(out, 0, event)
  itemsOf(event, (key, kind, arg) => writer.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
  writer.end()
}
