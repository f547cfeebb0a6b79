/**
 * Whether a snapshot gives the state it was made of: what was written is read back from its files, replayed, and compared
 * field by field with the state it stands for, with the order of all that has one.
 *
 * The digest has the rest, but not positions and queues: these are compared here, by what stands at them.
 */
import type { CrawlEvent, Link } from '../core/event.ts'
import { HOST, HOST_FLAGS_DIGESTED } from '../core/hosts.ts'
import { KIND } from '../core/kind.ts'
import { type State, stateOf, URL_STATE, URL_STATE_NAMES } from '../core/state.ts'
import type { OpenedLog } from '../log/opened.ts'
import { StateDigest } from '../tables/digest.ts'
import { createLinkSource, eventOf, hostNameOf } from './link-source.ts'
import { createPlaces, isFirstStorer, noteContent, notePlace, type Places, standsAt } from './snapshot-past.ts'
import { queuedLinks } from './snapshot-state.ts'

/** A state, and the log that its addresses are of. */
export interface Standpoint {
  readonly state: State
  readonly log: OpenedLog
}

const HOST_FIELDS = [
  'pending',
  'processing',
  'done',
  'failed',
  'refused',
  'pages',
  'backoffLevel',
  'robotsVerdicts',
  'robotsDelayMs',
] as const
const HOST_TIMES = [
  'blockedUntilMs',
  'badUntilMs',
  'resolvedUntilMs',
  'robotsHttpUntilMs',
  'robotsHttpsUntilMs',
] as const

/**
 * The first difference between a state and its snapshot, in words; undefined where there is none.
 *
 * @param before  the state, of the old log, and the sums that `writeSnapshot` made of it
 * @param until   number of the snapshot's last segment
 * Errors: LOG_CORRUPT. Cost: a sequential read of the snapshot, two reads per queued bulk.
 */
export function differenceOf(
  before: Standpoint & { readonly places: Places },
  after: Standpoint,
  until: number,
): string | undefined {
  return (
    differenceOfWholes(before.state, after.state) ??
    differenceOfHosts(before, after) ??
    differenceOfLists(before.state, after.state) ??
    differenceOfPlaces(before.places, after, until)
  )
}

function differenceOfWholes(a: State, b: State): string | undefined {
  const facts = (state: State): ReadonlyArray<readonly [string, unknown]> => [
    ['settings', state.settingsJson],
    ['crawl', state.crawlId],
    ['seeds', JSON.stringify(state.seeds)],
    ...URL_STATE_NAMES.map((name, i) => [`URLs ${name}`, state.counts[i]] as const),
    ['hosts', state.hosts.count],
    ['URLs in flight', state.processing.count],
    ['URLs waiting', state.waiting.count],
    ['suspects', state.waiting.suspectCount],
    ['bodies', state.contents.count],
    ['scope keys', state.scopeKeys.count],
    ['pages', state.pages],
    ['bad hosts', state.badHosts],
    ['resolved hosts', state.resolvedHosts],
    ['robots.txt asked for', state.asking],
    ['process', state.isOpen ? 'open' : 'closed'],
    ['digest', state.digest.toHex()],
  ]
  const others = facts(b)
  for (const [i, [name, value]] of facts(a).entries()) {
    if (value !== others[i][1]) return `${name}: ${String(value)} before, ${String(others[i][1])} after`
  }
  return undefined
}

function differenceOfHosts(before: Standpoint, after: Standpoint): string | undefined {
  const { hosts } = before.state
  const others = after.state.hosts
  const [readBefore, readAfter] = [before, after].map(queueReader)
  for (let id = 1; id <= hosts.count; id++) {
    if (hosts.keyOf(id) !== others.keyOf(id)) return `host ${id} is another one`
    const name = hostNameOf(before.log, before.state, id)
    for (const field of HOST_FIELDS)
      if (hosts.get(id, HOST[field]) !== others.get(id, HOST[field])) return `${field} of ${name}`
    for (const field of HOST_TIMES)
      if (hosts.getMs(id, HOST[field]) !== others.getMs(id, HOST[field])) return `${field} of ${name}`
    if ((hosts.get(id, HOST.flags) ^ others.get(id, HOST.flags)) & HOST_FLAGS_DIGESTED) return `flags of ${name}`
    if (hosts.addresses(id).join() !== others.addresses(id).join()) return `addresses of ${name}`
    for (const field of [HOST.queuePreferred, HOST.queue]) {
      if (!isSameQueue(readBefore(id, field), readAfter(id, field))) return `the queue of ${name}`
    }
  }
  return undefined
}

type Bulk = readonly Link[]

/** Reads the bulks of a queue, one after the other: only the links that wait there. */
function queueReader({ state, log }: Standpoint): (host: number, field: number) => Generator<Bulk> {
  const source = createLinkSource(log, state, () => 0)
  return function* (host, field) {
    const { hosts, queues } = state
    const words = hosts.wordsOf(host)
    const at = hosts.rowOf(host) + field
    for (let i = 0; queues.get(words, at, i); i++) {
      const { word0: position, word1: place } = queues
      yield queuedLinks(state, source.bulk(place >>> 16, position, place & 0xffff), place >>> 16, position)
    }
  }
}

function isSameQueue(a: Generator<Bulk>, b: Generator<Bulk>): boolean {
  for (;;) {
    const [one, other] = [a.next(), b.next()]
    if (one.done || other.done) return one.done === other.done
    if (one.value.length !== other.value.length) return false
    if (!one.value.every((link, i) => isSameLink(link, other.value[i]))) return false
  }
}

function isSameLink(a: Link, b: Link): boolean {
  const isSame = a.url === b.url && a.depth === b.depth && a.from === b.from && a.seed === b.seed
  return isSame && a.chain.join() === b.chain.join()
}

function differenceOfLists(a: State, b: State): string | undefined {
  for (let id = 0; id <= a.hosts.count; id++) {
    if (waitingList(a, id) !== waitingList(b, id))
      return id === 0 ? 'the suspects' : `the waiting URLs of ${a.hosts.name(id)}`
  }
  return relinksSum(a) === relinksSum(b) ? undefined : 'the pages to be read again'
}

/** The waiting list of a host in its order, as text; 0 = the suspects. */
function waitingList({ waiting, hosts }: State, id: number): string {
  const entries: string[] = []
  for (let slot = id === 0 ? waiting.firstSuspect : waiting.firstOf(hosts, id); slot >= 0; slot = waiting.next(slot)) {
    const key = [0, 1, 2, 3].map((i) => waiting.keyWord(slot, i)).join(' ')
    entries.push(`${key} ${waiting.attempts(slot)} ${waiting.deaths(slot)} ${waiting.dueMs(slot)}`)
  }
  return entries.join()
}

/** One sum over keys and places: the order counts. */
function relinksSum({ relinks }: State): string {
  const sum = new StateDigest()
  let place = 0
  relinks.forEach((k0, k1, k2, k3) => {
    sum.mix(3, k0, k1, k2, k3, place++, 0, 0, 0)
    sum.add()
  })
  return sum.toHex()
}

/** Reads the snapshot once more: every URL must stand where the new table says, and every body with the same page. */
function differenceOfPlaces(before: Places, { state, log }: Standpoint, until: number): string | undefined {
  const places = createPlaces()
  let links = 0
  for (const { number } of log.segments) {
    if (number > until) break
    log.scan(number, (record) => {
      if (record.kind === KIND.segment || record.kind === KIND.mark) return
      const event = eventOf(record, number)
      forEachLink(event, (link) => {
        const rest = standsAt(state, link.key, number, record.position)
        if (rest === undefined) return
        links++
        if (stateOf(rest) >= URL_STATE.done) notePlace(places, link.key, stateOf(rest))
      })
      if (event.kind !== KIND.fetched || event.stored === undefined) return
      const { content } = event.stored
      if (isFirstStorer(state, content, number, record.position)) noteContent(places, content, event.attempt.link.key)
    })
  }
  if (links !== state.urls.count) return `${state.urls.count} URLs are known, and the records of ${links} name them`
  if (places.outcomes.toHex() !== before.outcomes.toHex() || places.outcomeCount !== before.outcomeCount)
    return `the outcomes: ${before.outcomeCount} before, ${places.outcomeCount} after`
  if (places.contents.toHex() !== before.contents.toHex() || places.contentCount !== before.contentCount)
    return `the pages of the bodies: ${before.contentCount} before, ${places.contentCount} after`
  return places.contentCount === state.contents.count ? undefined : 'bodies without a page'
}

function forEachLink(event: CrawlEvent, visit: (link: Link) => void): void {
  if ('attempt' in event) visit(event.attempt.link)
  if (event.kind === KIND.claim) return
  const groups = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const { links } of groups) for (const link of links) visit(link)
}
