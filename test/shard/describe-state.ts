/** A state as plain data: all that is projection, with the order of all that has one. For comparing two states. */
import { HOST, HOST_FLAGS_DIGESTED } from '../../src/core/hosts.ts'
import type { State } from '../../src/core/state.ts'
import type { OrderedTable } from '../../src/tables/ordered.ts'

/** Fields of a row that mean the same in every state of the same contents. */
const PLAIN_FIELDS = [
  'pending',
  'processing',
  'done',
  'failed',
  'refused',
  'pages',
  'backoffLevel',
  'badReason',
  'robotsVerdicts',
  'robotsDelayMs',
  'robotsHttpSegment',
  'robotsHttpPosition',
  'robotsHttpsSegment',
  'robotsHttpsPosition',
  'seenSegment',
  'seenPosition',
] as const
const MS_FIELDS = [
  'blockedUntilMs',
  'badUntilMs',
  'resolvedUntilMs',
  'robotsHttpUntilMs',
  'robotsHttpsUntilMs',
] as const

/** @param hasNames  names of hosts are a cache: a replay leaves out those that no item brings along */
export function describeState(state: State, hasNames = true): unknown {
  const hosts = []
  for (let id = 1; id <= state.hosts.count; id++) hosts.push(describeHost(state, id, hasNames))
  const relinks: number[] = []
  state.relinks.forEach((...words) => {
    relinks.push(...words)
  })
  return {
    digest: state.digest.toHex(),
    urls: describeTable(state.urls),
    contents: describeTable(state.contents),
    scopeKeys: describeTable(state.scopeKeys),
    processing: describeTable(state.processing),
    hosts,
    suspects: describeWaiting(state, state.waiting.firstSuspect),
    suspectCount: state.waiting.suspectCount,
    waitingCount: state.waiting.count,
    relinks,
    counts: [...state.counts],
    pages: state.pages,
    badHosts: state.badHosts,
    resolvedHosts: state.resolvedHosts,
    asking: state.asking,
    seeds: state.seeds,
    settings: state.settings,
    settingsJson: state.settingsJson,
    crawlId: state.crawlId,
    isOpen: state.isOpen,
    host: state.host,
  }
}

function describeTable(table: OrderedTable): string[] {
  const entries: string[] = []
  table.forEach((handle) => {
    const key = [0, 1, 2, 3].map((i) => table.keyWord(handle, i))
    const values = Array.from({ length: table.valueWords }, (_, i) => table.word(handle, i))
    entries.push(`${key.join(' ')}: ${values.join(' ')}`)
  })
  return entries
}

function describeHost(state: State, id: number, hasNames: boolean): unknown {
  const { hosts } = state
  const key = hosts.keyOf(id)
  return {
    key,
    isFound: hosts.findKey(key) === id,
    flags: hosts.get(id, HOST.flags) & HOST_FLAGS_DIGESTED,
    fields: PLAIN_FIELDS.map((field) => `${field} ${hosts.get(id, HOST[field])}`),
    times: MS_FIELDS.map((field) => `${field} ${hosts.getMs(id, HOST[field])}`),
    name: hasNames ? hosts.name(id) : '',
    addresses: hosts.addresses(id),
    preferred: describeQueue(state, id, HOST.queuePreferred),
    queue: describeQueue(state, id, HOST.queue),
    waiting: describeWaiting(state, state.waiting.firstOf(hosts, id)),
  }
}

function describeQueue({ hosts, queues }: State, id: number, field: number): string[] {
  const entries: string[] = []
  queues.forEach(hosts.wordsOf(id), hosts.rowOf(id) + field, (word0, word1) => entries.push(`${word0} ${word1}`))
  return entries
}

function describeWaiting({ waiting }: State, first: number): string[] {
  const entries: string[] = []
  for (let slot = first; slot >= 0; slot = waiting.next(slot)) {
    const key = [0, 1, 2, 3].map((i) => waiting.keyWord(slot, i)).join(' ')
    const isFound = waiting.find(...(key.split(' ').map(Number) as [number, number, number, number])) === slot
    const facts = [waiting.host(slot), waiting.attempts(slot), waiting.deaths(slot), waiting.dueMs(slot)]
    entries.push(`${key}: ${facts.join(' ')} ${isFound}`)
  }
  return entries
}
