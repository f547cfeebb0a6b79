/**
 * Applies KEY items to the state: the one function that changes it, called by the live turn, by replay and by the
 * building of checkpoints alike.
 *
 * An item's effect depends only on earlier items of the same key and on the host item it stands under. Kinds that
 * carry more than their item (an address, a due time) have their record read through `eventAt`; all others need only
 * their 24 bytes.
 */
import { CrawlError } from '../base/errors.ts'
import { mixContent, mixScope, mixSeeds, mixSettings } from './digest-entries.ts'
import type { EventAt } from './event.ts'
import { addBulk, applyHostItem, dropBulk, enterHost, leaveHost } from './evolve-host.ts'
import { applyUrlItem } from './evolve-url.ts'
import { HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

/** Words of one KEY item: key (4), offset (2). */
export const ITEM_WORDS = 6

/**
 * @param items  KEY items as words, whole records only
 * @param from   first item
 * @param to     behind the last item
 * Cost: about one table search per item. Errors: LOG_CORRUPT where an item contradicts the state.
 */
export function evolve(
  state: State,
  items: Uint32Array,
  from: number,
  to: number,
  segment: number,
  eventAt: EventAt,
): void {
  for (let i = from; i < to; i++) {
    const at = i * ITEM_WORDS
    const high = items[at + 5]!
    applyItem(
      state,
      items[at]!,
      items[at + 1]!,
      items[at + 2]!,
      items[at + 3]!,
      (high >>> 16) & 0xff,
      high >>> 24,
      segment,
      items[at + 4]!,
      eventAt,
    )
  }
  leaveHost(state)
}

function applyItem(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  kind: number,
  arg: number,
  segment: number,
  position: number,
  eventAt: EventAt,
): void {
  switch (kind) {
    case KIND.enqueue:
    case KIND.claim:
    case KIND.void:
    case KIND.fetched:
    case KIND.retry:
    case KIND.failed:
    case KIND.refused:
    case KIND.reopened:
    case KIND.relinked:
    case KIND.shorter:
    case KIND.relink:
    case KIND.waits:
      return applyUrlItem(state, k0, k1, k2, k3, kind, arg, segment, position, eventAt)
    case KIND.host:
      return enterHost(state, k0, k1, k2, k3, segment, position)
    case KIND.hosts:
      enterHost(state, k0, k1, k2, k3, segment, position)
      if (arg === 1) state.hosts.setFlag(state.host, HOST_FLAG.answered, true)
      return
    case KIND.bulk:
      enterHost(state, k0, k1, k2, k3, segment, position)
      return addBulk(state, arg, segment, position)
    case KIND.drained:
      enterHost(state, k0, k1, k2, k3, segment, position)
      return dropBulk(state, arg)
    case KIND.asked:
    case KIND.resolved:
    case KIND.badhost:
    case KIND.robots:
    case KIND.delay:
      enterHost(state, k0, k1, k2, k3, segment, position)
      return applyHostItem(state, kind, arg, segment, position, eventAt)
    case KIND.content:
      return addContent(state, k0, k1, k2, k3, segment, position)
    case KIND.scoped:
      return addScopeKey(state, k0, k1, k2, k3)
    default:
      leaveHost(state)
      return applyProcessItem(state, kind, segment, position, eventAt)
  }
}

function addContent(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  segment: number,
  position: number,
): void {
  const handle = state.contents.insert(k0, k1, k2, k3)
  if (!state.contents.wasNew) return
  state.contents.setWord(handle, 0, position)
  state.contents.setWord(handle, 1, segment)
  mixContent(state.digest, k0, k1, k2, k3)
  state.digest.add()
}

function addScopeKey(state: State, k0: number, k1: number, k2: number, k3: number): void {
  state.scopeKeys.insert(k0, k1, k2, k3)
  if (!state.scopeKeys.wasNew) return
  mixScope(state.digest, k0, k1, k2, k3)
  state.digest.add()
}

function applyProcessItem(state: State, kind: number, segment: number, position: number, eventAt: EventAt): void {
  if (kind === KIND.mark || kind === KIND.synced || kind === KIND.forked || kind === KIND.repaired) return
  const event = eventAt(segment, position)
  switch (event.kind) {
    case KIND.open:
      state.isOpen = true
      state.crawlId = event.crawlId
      return changeSettings(state, event.settings)
    case KIND.close:
      state.isOpen = false
      return
    case KIND.control:
      return changeSettings(state, event.settings)
    case KIND.seeded:
      return moveCursor(state, event.source, event.lines, event.isLast)
    default:
      throw new CrawlError('LOG_CORRUPT', `a KEY item of kind ${kind} points to a record of kind ${event.kind}`, {
        segment,
        offset: position,
      })
  }
}

function changeSettings(state: State, json: string): void {
  if (json === state.settingsJson) return
  if (state.settingsJson !== '') {
    mixSettings(state.digest, state.settingsJson)
    state.digest.subtract()
  }
  state.settingsJson = json
  state.settings = JSON.parse(json) as Settings
  mixSettings(state.digest, json)
  state.digest.add()
}

function moveCursor(state: State, source: number, lines: number, isLast: boolean): void {
  const before = state.seeds[source]
  if (before !== undefined) {
    mixSeeds(state.digest, source, before)
    state.digest.subtract()
  }
  const after = { lines, isLast }
  state.seeds[source] = after
  mixSeeds(state.digest, source, after)
  state.digest.add()
}
