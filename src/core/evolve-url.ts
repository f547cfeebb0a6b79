/**
 * The part of `evolve` that concerns URLs: the life of each from enqueue to its end, and the counts by state.
 *
 *   enqueue ─► pending ─claim─► processing ─fetched─► done
 *                ▲  ▲               │ ├─────failed──► failed ─┐
 *                │  └──retry, void──┘ └─────refused─► refused ┤
 *                └────────────────reopened────────────────────┘
 */
import { CrawlError } from '../base/errors.ts'
import { keyFromWords } from '../base/md5.ts'
import { mixProcessing, mixUrl, mixWaiting } from './digest-entries.ts'
import { type EventAt, standingOf } from './event.ts'
import { HOST, HOST_FLAG } from './hosts.ts'
import { KIND } from './kind.ts'
import { isAnswerReason, REASONS } from './reasons.ts'
import {
  depthOf,
  packUrl,
  type State,
  segmentOf,
  stateOf,
  URL_RELINK,
  URL_STATE,
  URL_WAITING,
  URL_WORD,
} from './state.ts'

/** The part of word 1 that is in the digest. */
const DIGESTED = 0xffff & ~URL_WAITING

/** Host field that counts URLs of a state; index = URL_STATE. */
const COUNT_FIELD = [0, HOST.pending, HOST.processing, HOST.done, HOST.failed, HOST.refused] as const

export function applyUrlItem(
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
  const { urls } = state
  if (kind === KIND.enqueue) return enqueue(state, k0, k1, k2, k3, arg, segment, position)
  const handle = urls.find(k0, k1, k2, k3)
  if (handle < 0) throw contradiction(segment, position, kind, 'unknown')
  const rest = urls.word(handle, URL_WORD.rest)
  const now = stateOf(rest)
  switch (kind) {
    case KIND.claim:
      if (now !== URL_STATE.pending) break
      return claim(state, k0, k1, k2, k3, handle, rest)
    case KIND.void:
    case KIND.retry:
      if (now !== URL_STATE.processing) break
      return giveBack(state, k0, k1, k2, k3, handle, kind, arg, segment, position, eventAt)
    case KIND.fetched:
      if (now !== URL_STATE.processing) break
      return finish(state, k0, k1, k2, k3, handle, URL_STATE.done, segment, position, arg)
    case KIND.failed:
      if (arg === REASONS['host.bad'] && now === URL_STATE.pending)
        return failWithHost(state, k0, k1, k2, k3, handle, rest)
      if (now !== URL_STATE.processing) break
      if (isAnswerReason(arg)) state.hosts.setFlag(state.host, HOST_FLAG.answered, true)
      return finish(state, k0, k1, k2, k3, handle, URL_STATE.failed, segment, position, 0)
    case KIND.refused:
      if (now === URL_STATE.pending) return refusePending(state, k0, k1, k2, k3, handle, rest, segment, position)
      if (now !== URL_STATE.processing) break
      return finish(state, k0, k1, k2, k3, handle, URL_STATE.refused, segment, position, 0)
    case KIND.reopened:
      if (now < URL_STATE.done) break
      return move(state, k0, k1, k2, k3, handle, packUrl(segment, arg, 0, URL_STATE.pending), position)
    case KIND.shorter:
      return move(state, k0, k1, k2, k3, handle, (rest & ~0xff00) | (Math.min(arg, depthOf(rest)) << 8), -1)
    case KIND.relink:
      if ((rest & URL_RELINK) === 0) state.relinks.push(k0, k1, k2, k3)
      return move(
        state,
        k0,
        k1,
        k2,
        k3,
        handle,
        (rest & ~0xff00) | (Math.min(arg, depthOf(rest)) << 8) | URL_RELINK,
        -1,
      )
    case KIND.waits:
      if (now !== URL_STATE.pending || rest & URL_WAITING) break
      return wait(state, k0, k1, k2, k3, handle, arg, segment, position, eventAt)
    case KIND.relinked:
      return relinked(state, k0, k1, k2, k3, handle, rest)
  }
  throw contradiction(segment, position, kind, String(now))
}

function contradiction(segment: number, position: number, kind: number, now: string): CrawlError {
  return new CrawlError('LOG_CORRUPT', `an item of kind ${kind} is for a URL in state ${now}`, {
    segment,
    offset: position,
  })
}

/** Writes word 1 (and the position, unless −1), keeps digest and counts. `rest` in state's terms. */
function move(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  rest: number,
  position: number,
): void {
  const { urls, digest } = state
  const before = urls.word(handle, URL_WORD.rest)
  if ((before & DIGESTED) !== (rest & DIGESTED)) {
    mixUrl(digest, k0, k1, k2, k3, before & DIGESTED)
    digest.subtract()
    mixUrl(digest, k0, k1, k2, k3, rest & DIGESTED)
    digest.add()
  }
  urls.setWord(handle, URL_WORD.rest, rest >>> 0)
  if (position >= 0) urls.setWord(handle, URL_WORD.position, position)
  const from = stateOf(before)
  const to = stateOf(rest)
  if (from !== to) count(state, from, to)
}

function count(state: State, from: number, to: number): void {
  if (from !== 0) {
    state.counts[from]!--
    state.hosts.add(state.host, COUNT_FIELD[from]!, -1)
  }
  state.counts[to]!++
  state.hosts.add(state.host, COUNT_FIELD[to]!, 1)
}

function enqueue(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  depth: number,
  segment: number,
  position: number,
): void {
  const { urls } = state
  const handle = urls.insert(k0, k1, k2, k3)
  if (urls.wasNew) {
    const rest = packUrl(segment, depth, 0, URL_STATE.pending)
    urls.setWord(handle, URL_WORD.rest, rest)
    urls.setWord(handle, URL_WORD.position, position)
    mixUrl(state.digest, k0, k1, k2, k3, rest & DIGESTED)
    state.digest.add()
    count(state, 0, URL_STATE.pending)
    return
  }
  // A gathered bulk: the link of a queued URL stands here now.
  const rest = urls.word(handle, URL_WORD.rest)
  if (stateOf(rest) !== URL_STATE.pending || rest & URL_WAITING)
    throw contradiction(segment, position, KIND.enqueue, String(stateOf(rest)))
  move(state, k0, k1, k2, k3, handle, packUrl(segment, Math.min(depth, depthOf(rest)), 0, URL_STATE.pending), position)
}

function claim(state: State, k0: number, k1: number, k2: number, k3: number, handle: number, rest: number): void {
  let attempts = 0
  let deaths = 0
  if (rest & URL_WAITING) {
    const slot = state.waiting.find(k0, k1, k2, k3)
    attempts = state.waiting.attempts(slot)
    deaths = state.waiting.deaths(slot)
    stopWaiting(state, k0, k1, k2, k3)
  }
  const entry = state.processing.insert(k0, k1, k2, k3)
  state.processing.setWord(entry, 0, attempts | (deaths << 8))
  state.processing.setWord(entry, 1, state.host)
  mixProcessing(state.digest, k0, k1, k2, k3, attempts, deaths)
  state.digest.add()
  move(state, k0, k1, k2, k3, handle, packUrl(segmentOf(rest), depthOf(rest), 0, URL_STATE.processing), -1)
}

function stopWaiting(state: State, k0: number, k1: number, k2: number, k3: number): void {
  const { waiting } = state
  const slot = waiting.find(k0, k1, k2, k3)
  mixWaiting(state.digest, k0, k1, k2, k3, waiting.attempts(slot), waiting.deaths(slot), waiting.dueMs(slot))
  state.digest.subtract()
  waiting.remove(state.hosts, slot)
}

/** Takes a URL out of the processing table; returns attempts | deaths << 8. */
function stopProcessing(state: State, k0: number, k1: number, k2: number, k3: number): number {
  const entry = state.processing.find(k0, k1, k2, k3)
  const word = state.processing.word(entry, 0)
  mixProcessing(state.digest, k0, k1, k2, k3, word & 0xff, word >>> 8)
  state.digest.subtract()
  state.processing.remove(entry)
  return word
}

/** `retry` and `void`: back to pending, into the waiting table. */
function giveBack(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  kind: number,
  arg: number,
  segment: number,
  position: number,
  eventAt: EventAt,
): void {
  const before = stopProcessing(state, k0, k1, k2, k3)
  let attempts = before & 0xff
  let deaths = before >>> 8
  let dueMs = 0
  if (kind === KIND.retry) {
    const event = eventAt(segment, position)
    if (event.kind !== KIND.retry) throw contradiction(segment, position, kind, `of a record of kind ${event.kind}`)
    attempts = arg
    dueMs = event.dueMs
    if (isAnswerReason(event.reason)) state.hosts.setFlag(state.host, HOST_FLAG.answered, true)
  } else {
    deaths += arg
  }
  startWaiting(state, k0, k1, k2, k3, handle, attempts, deaths, dueMs, segment, position)
}

/** Puts a URL into the waiting table; its link stands in this record from now on. */
function startWaiting(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  attempts: number,
  deaths: number,
  dueMs: number,
  segment: number,
  position: number,
): void {
  state.waiting.add(state.hosts, state.host, k0, k1, k2, k3, attempts, deaths, dueMs)
  mixWaiting(state.digest, k0, k1, k2, k3, attempts, deaths, dueMs)
  state.digest.add()
  const depth = depthOf(state.urls.word(handle, URL_WORD.rest))
  move(state, k0, k1, k2, k3, handle, packUrl(segment, depth, URL_WAITING, URL_STATE.pending), position)
}

/** A compacted log says that a pending URL waits, and what it waited through. */
function wait(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  attempts: number,
  segment: number,
  position: number,
  eventAt: EventAt,
): void {
  const event = eventAt(segment, position)
  const standing = event.kind === KIND.linked ? standingOf(event, keyFromWords(k0, k1, k2, k3)) : undefined
  if (standing === undefined) throw contradiction(segment, position, KIND.waits, `of a record of kind ${event.kind}`)
  const { deaths, dueMs } = standing
  startWaiting(state, k0, k1, k2, k3, handle, attempts, deaths, dueMs, segment, position)
}

/** An outcome: the URL's address is its record from now on. */
function finish(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  to: number,
  segment: number,
  position: number,
  statusClass: number,
): void {
  stopProcessing(state, k0, k1, k2, k3)
  if (to === URL_STATE.done) state.hosts.setFlag(state.host, HOST_FLAG.answered, true)
  if (statusClass === 2) {
    state.pages++
    state.hosts.add(state.host, HOST.pages, 1)
  }
  const depth = depthOf(state.urls.word(handle, URL_WORD.rest))
  move(state, k0, k1, k2, k3, handle, packUrl(segment, depth, 0, to), position)
}

/** A queued or waiting URL of a host that turned out bad. Its link stays where it was: the address is kept. */
function failWithHost(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  rest: number,
): void {
  if (rest & URL_WAITING) stopWaiting(state, k0, k1, k2, k3)
  move(state, k0, k1, k2, k3, handle, packUrl(segmentOf(rest), depthOf(rest), 0, URL_STATE.failed), -1)
}

function refusePending(
  state: State,
  k0: number,
  k1: number,
  k2: number,
  k3: number,
  handle: number,
  rest: number,
  segment: number,
  position: number,
): void {
  if (rest & URL_WAITING) stopWaiting(state, k0, k1, k2, k3)
  move(state, k0, k1, k2, k3, handle, packUrl(segment, depthOf(rest), 0, URL_STATE.refused), position)
}

function relinked(state: State, k0: number, k1: number, k2: number, k3: number, handle: number, rest: number): void {
  const { relinks } = state
  if (relinks.count > 0 && relinks.firstWord(0) === k0 && relinks.firstWord(1) === k1) relinks.shift()
  move(state, k0, k1, k2, k3, handle, rest & ~URL_RELINK, -1)
}
