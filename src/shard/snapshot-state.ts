/**
 * The part of a snapshot that is made of the state alone: hosts in the order of their ids; URLs in flight and waiting,
 * in the order of their lists; claims; every bulk of every queue, the empty ones too; cursors of the seeds.
 */
import { type Key, keyFromWords } from '../base/md5.ts'
import {
  type ClaimGroup,
  type CloseEvent,
  KNOWN_HOSTS_MAX,
  type KnownHost,
  type Link,
  NO_FINDINGS,
  type SeededEvent,
  type ShorterWay,
  STANDING,
} from '../core/event.ts'
import { HOST, HOST_FLAG } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { depthOf, type State, segmentOf, stateOf, URL_STATE, URL_WAITING, URL_WORD } from '../core/state.ts'
import { ITEM_AT, ITEM_WORDS, itemKind } from '../log/format.ts'
import type { OrderedTable } from '../tables/ordered.ts'
import { createLinkSource, linkOf, readEvent } from './link-source.ts'
import { LinkedBuffer, standingIn } from './linked-buffer.ts'
import { standsAt } from './snapshot-past.ts'
import type { SnapshotSource, WriteEvent } from './snapshot-source.ts'

/** Keys named by one record: 320 KB. */
const KEYS_PER_RECORD_MAX = 20_000
/** Claims of one record. */
const CLAIMS_PER_RECORD_MAX = 1000

export function writeHosts({ log, state }: SnapshotSource, write: WriteEvent, timeMs: number): void {
  const source = createLinkSource(log, state, () => 0)
  let hosts: KnownHost[] = []
  for (let id = 1; id <= state.hosts.count; id++) {
    hosts.push({ host: source.hostName(id), hasAnswered: state.hosts.hasFlag(id, HOST_FLAG.answered) })
    if (hosts.length < KNOWN_HOSTS_MAX && id < state.hosts.count) continue
    write({ kind: KIND.hosts, hosts }, timeMs)
    hosts = []
  }
}

/** The last `close` before the place, where there is one. */
export function closeOf({ log, until }: SnapshotSource): CloseEvent | undefined {
  for (const { number } of log.segments.toReversed()) {
    if (number > until.segment) continue
    const words = log.key(number)
    for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
      if (itemKind(words[at + ITEM_AT.kindAndArg]) !== KIND.close) continue
      const event = readEvent(log, number, words[at + ITEM_AT.position])
      if (event.kind === KIND.close) return event
    }
  }
  return undefined
}

export function writeRest(source: SnapshotSource, write: WriteEvent): void {
  const { timeMs } = source
  const writeNow: (event: Parameters<WriteEvent>[0]) => void = (event) => write(event, timeMs)
  writeInFlight(source, writeNow)
  writeWaiting(source, writeNow)
  writeQueues(source, writeNow)
  writeSeeds(source.state, writeNow)
}

type WriteNow = (event: Parameters<WriteEvent>[0]) => void

/** URLs in flight: their links, then their claims, and those of robots.txt. */
function writeInFlight(source: SnapshotSource, write: WriteNow): void {
  const { state } = source
  const linked = new LinkedBuffer(write)
  state.processing.forEach((entry) => {
    const word = state.processing.word(entry, 0)
    const [attempts, deaths] = [word & 0xff, word >>> 8]
    const what = word === 0 ? STANDING.plain : STANDING.waits
    addLinked(source, linked, keyIn(state.processing, entry), { what, attempts, deaths, dueMs: 0 })
  })
  linked.flush()
  let groups: ClaimGroup[] = []
  const add = (group: ClaimGroup): void => {
    groups.push(group)
    if (groups.length === CLAIMS_PER_RECORD_MAX) flush()
  }
  const flush = (): void => {
    if (groups.length > 0) write({ kind: KIND.claim, groups })
    groups = []
  }
  state.processing.forEach((entry) => {
    const hostKey = state.hosts.keyOf(state.processing.word(entry, 1))
    add({ hostKey, drained: [], keys: [keyIn(state.processing, entry)], asksHttp: false, asksHttps: false })
  })
  for (let id = 1; state.asking > 0 && id <= state.hosts.count; id++) {
    const asksHttp = state.hosts.hasFlag(id, HOST_FLAG.askingHttp)
    const asksHttps = state.hosts.hasFlag(id, HOST_FLAG.askingHttps)
    if (asksHttp || asksHttps) add({ hostKey: state.hosts.keyOf(id), drained: [], keys: [], asksHttp, asksHttps })
  }
  flush()
}

/** The waiting lists of the hosts, then the suspects, each in its order. */
function writeWaiting(source: SnapshotSource, write: WriteNow): void {
  const { state } = source
  const { waiting, hosts } = state
  const linked = new LinkedBuffer(write)
  const addList = (first: number): void => {
    for (let slot = first; slot >= 0; slot = waiting.next(slot)) {
      const [k0, k1, k2, k3] = [0, 1, 2, 3].map((i) => waiting.keyWord(slot, i))
      addLinked(source, linked, keyFromWords(k0, k1, k2, k3), {
        what: STANDING.waits,
        attempts: waiting.attempts(slot),
        deaths: waiting.deaths(slot),
        dueMs: waiting.dueMs(slot),
      })
    }
  }
  for (let id = 1; id <= hosts.count; id++) addList(waiting.firstOf(hosts, id))
  addList(waiting.firstSuspect)
  linked.flush()
}

function addLinked(
  { log, state }: SnapshotSource,
  linked: LinkedBuffer,
  key: Key,
  now: { readonly what: number; readonly attempts: number; readonly deaths: number; readonly dueMs: number },
): void {
  const handle = state.urls.findKey(key)
  const rest = state.urls.word(handle, URL_WORD.rest)
  const position = state.urls.word(handle, URL_WORD.position)
  const event = readEvent(log, segmentOf(rest), position)
  const { status, reason } = standingIn(event, key)
  const link = linkOf(event, key, segmentOf(rest), position)
  linked.add({ ...link, depth: depthOf(rest) }, { ...now, status, reason })
}

/** Queues keep their bulks one by one: later records count them. */
function writeQueues({ log, state }: SnapshotSource, write: WriteNow): void {
  const source = createLinkSource(log, state, () => 0)
  const { hosts, queues } = state
  for (let id = 1; id <= hosts.count; id++) {
    const hostKey = hosts.keyOf(id)
    for (const isPreferred of [true, false]) {
      const at = hosts.rowOf(id) + (isPreferred ? HOST.queuePreferred : HOST.queue)
      queues.forEach(hosts.wordsOf(id), at, (position, place) => {
        const segment = place >>> 16
        const links = queuedLinks(state, source.bulk(segment, position, place & 0xffff), segment, position)
        const group = { host: source.hostName(id), hostKey, isPreferred, links }
        write({ kind: KIND.bulk, isCompacted: true, replaced: 0, group })
      })
    }
  }
}

/** The links of a bulk that still wait there to be claimed, with the depths known now. */
export function queuedLinks(state: State, links: readonly Link[], segment: number, position: number): Link[] {
  return links.flatMap((link) => {
    const rest = standsAt(state, link.key, segment, position)
    if (rest === undefined || stateOf(rest) !== URL_STATE.pending || rest & URL_WAITING) return []
    return [{ ...link, depth: depthOf(rest) }]
  })
}

/** Pages to be read again and scope keys first, then where each source stands. */
function writeSeeds(state: State, write: WriteNow): void {
  const source = state.seeds.findIndex((cursor) => cursor !== undefined)
  if (source < 0) return
  const seededBy = (number: number, more: Partial<SeededEvent>): void =>
    write({ kind: KIND.seeded, source: number, ...state.seeds[number], ...NO_FINDINGS, ...more })
  let shorter: ShorterWay[] = []
  state.relinks.forEach((k0, k1, k2, k3) => {
    const handle = state.urls.find(k0, k1, k2, k3)
    shorter.push({
      key: keyFromWords(k0, k1, k2, k3),
      depth: depthOf(state.urls.word(handle, URL_WORD.rest)),
      relink: true,
    })
    if (shorter.length < KEYS_PER_RECORD_MAX) return
    seededBy(source, { shorter })
    shorter = []
  })
  if (shorter.length > 0) seededBy(source, { shorter })
  let scopeKeys: Key[] = []
  state.scopeKeys.forEach((entry) => {
    scopeKeys.push(keyIn(state.scopeKeys, entry))
    if (scopeKeys.length < KEYS_PER_RECORD_MAX) return
    seededBy(source, { scopeKeys })
    scopeKeys = []
  })
  if (scopeKeys.length > 0) seededBy(source, { scopeKeys })
  for (const [number, cursor] of state.seeds.entries()) if (cursor !== undefined) seededBy(number, {})
}

function keyIn(table: OrderedTable, entry: number): Key {
  return keyFromWords(
    table.keyWord(entry, 0),
    table.keyWord(entry, 1),
    table.keyWord(entry, 2),
    table.keyWord(entry, 3),
  )
}
