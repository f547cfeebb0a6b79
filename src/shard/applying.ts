/**
 * Recording: an event becomes one VAL record with its KEY items, and these items change the state. No other way leads
 * from an event to the state.
 */
import { word } from '../base/md5.ts'
import { decide } from '../core/decide.ts'
import { encodeEvent } from '../core/encode.ts'
import type { CrawlEvent, LinkGroup } from '../core/event.ts'
import { evolve, ITEM_WORDS } from '../core/evolve.ts'
import { gatherBefore, type Now, rememberBulks, schedule } from '../core/frontier.ts'
import { itemsOf } from '../core/items.ts'
import { KIND } from '../core/kind.ts'
import type { Observation } from '../core/observation.ts'
import { AT } from '../log/format.ts'
import type { RecordAddress } from '../log/writer.ts'
import type { Shard } from './shard-parts.ts'
import { addToTotals } from './totals.ts'

/** Decides an observation and records what comes of it, before the next is looked at. */
export function observe(shard: Shard, observation: Observation, now: Now): void {
  for (const event of decide(shard.state, observation, now.shardMs)) apply(shard, event, now)
}

/** Records an event and applies it: the only way in which anything becomes true. */
export function apply(shard: Shard, event: CrawlEvent, now: Now): void {
  const groups = queuedGroups(event)
  if (groups.length > 0)
    for (const gathered of gatherBefore(shard.state, shard.frontier, groups)) apply(shard, gathered, now)
  const { segment, position } = record(shard, event, now)
  if (groups.length > 0) {
    for (const gathered of rememberBulks(shard.state, shard.frontier, groups, segment, position)) {
      record(shard, gathered, now)
    }
  }
  for (const host of shard.state.touched.splice(0)) schedule(shard.state, shard.frontier, host, now)
}

const NO_GROUPS: readonly LinkGroup[] = []

/** Groups of an event that join their hosts' queues. */
function queuedGroups(event: CrawlEvent): readonly LinkGroup[] {
  switch (event.kind) {
    case KIND.bulk:
      return [event.group]
    case KIND.seeded:
    case KIND.fetched:
    case KIND.relinked:
    case KIND.reopened:
      return event.groups
    default:
      return NO_GROUPS
  }
}

function record(shard: Shard, event: CrawlEvent, now: Now): RecordAddress {
  const { events, state, work } = shard
  const out = events.begin(event.kind, 0, shard.clock.stamp(now.shardMs))
  encodeEvent(out, out.at - AT.body, event)
  itemsOf(event, (key, kind, arg) => events.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
  const address = events.end()
  const items = events.lastItems()
  const itemCount = items.length / ITEM_WORDS
  work.items += itemCount
  evolve(state, items, 0, itemCount, address.segment, () => {
    work.records++
    return event
  })
  addToTotals(shard.totals, event)
  shard.syncing.hasNews = true
  return address
}
