/**
 * `itemsOf`: the one function that makes KEY items of an event; live turn, replay's rebuilding of KEY and verify call it.
 *
 * Items come in groups: first a host's item, then those of its URLs. Order and arguments are on disk since v1.
 */
import { type Key, keyOf, ZERO_KEY } from '../base/md5.ts'
import {
  BULK_LINKS_MAX,
  type CrawlEvent,
  type Findings,
  type Link,
  type LinkedEvent,
  type LinkGroup,
  type RefusedEvent,
  STANDING,
} from './event.ts'
import { ARG_PREFERRED, ASKED } from './evolve-host.ts'
import { KIND } from './kind.ts'
import { REASONS } from './reasons.ts'
import { hostOf } from './url.ts'

/** Takes one item: key, kind, argument 0 … 255. */
export type EmitItem = (key: Key, kind: number, arg: number) => void

export function itemsOf(event: CrawlEvent, emit: EmitItem): void {
  switch (event.kind) {
    case KIND.open:
    case KIND.close:
    case KIND.control:
    case KIND.forked:
    case KIND.repaired:
      return emit(ZERO_KEY, event.kind, 0)
    case KIND.seeded:
      emit(ZERO_KEY, KIND.seeded, 0)
      return emitFindings(event, emit)
    case KIND.bulk:
      return emitQueued([event.group], KIND.enqueue, event.replaced, emit)
    case KIND.claim:
      return emitClaims(event, emit)
    case KIND.void:
      for (const key of event.asking) emit(key, KIND.asked, ASKED.givenBack)
      return emitPlain(event.groups, KIND.void, event.isDeath ? 1 : 0, emit)
    case KIND.fetched: {
      const { attempt, stored } = event
      emitEnd(attempt.link, event.isCompacted, emit)
      emit(attempt.link.key, KIND.fetched, stored === undefined ? 0 : Math.floor(attempt.status / 100))
      if (stored !== undefined) emit(stored.content, KIND.content, 0)
      return emitFindings(event, emit)
    }
    case KIND.relinked:
      emit(keyOf(hostOf(event.link.url)), KIND.host, 0)
      emit(event.link.key, KIND.relinked, 0)
      return emitFindings(event, emit)
    case KIND.failed:
      emitEnd(event.attempt.link, event.isCompacted, emit)
      return emit(event.attempt.link.key, KIND.failed, event.reason)
    case KIND.retry:
      emit(keyOf(hostOf(event.attempt.link.url)), KIND.host, 0)
      return emit(event.attempt.link.key, KIND.retry, event.attempt.attempts)
    case KIND.refused:
      if (event.isCompacted) return emitRefused(event, emit)
      return emitPlain(event.groups, KIND.refused, event.reason, emit)
    case KIND.reopened:
      return emitQueued(event.groups, KIND.reopened, 0, emit)
    case KIND.resolved:
    case KIND.robots:
    case KIND.delay:
      return emit(keyOf(event.host), event.kind, 0)
    case KIND.badhost:
      emit(keyOf(event.host), KIND.badhost, event.reason)
      for (const key of event.keys) emit(key, KIND.failed, REASONS['host.bad'])
      return
    case KIND.hosts:
      for (const { host, hasAnswered } of event.hosts) emit(keyOf(host), KIND.hosts, hasAnswered ? 1 : 0)
      return
    case KIND.linked:
      return emitLinked(event, emit)
  }
}

/** What comes before the end of a URL: its host, and in a compacted record its life so far. */
function emitEnd(link: Link, isCompacted: true | undefined, emit: EmitItem): void {
  emit(keyOf(hostOf(link.url)), KIND.host, 0)
  if (!isCompacted) return
  emit(link.key, KIND.enqueue, link.depth)
  emit(link.key, KIND.claim, 0)
}

function emitRefused(event: RefusedEvent, emit: EmitItem): void {
  for (const { hostKey, links } of event.groups) {
    emit(hostKey, KIND.host, 0)
    for (const { key, depth } of links) {
      emit(key, KIND.enqueue, depth)
      emit(key, KIND.refused, event.reason)
    }
  }
}

function emitLinked({ groups, standings }: LinkedEvent, emit: EmitItem): void {
  let next = 0
  for (const { hostKey, links } of groups) {
    emit(hostKey, KIND.host, 0)
    for (const { key, depth } of links) {
      const standing = standings[next++]
      emit(key, KIND.enqueue, depth)
      if (standing?.what === STANDING.waits) emit(key, KIND.waits, standing.attempts)
      if (standing?.what === STANDING.failed) emit(key, KIND.failed, REASONS['host.bad'])
    }
  }
}

function emitFindings(findings: Findings, emit: EmitItem): void {
  for (const way of findings.shorter) emit(way.key, way.relink ? KIND.relink : KIND.shorter, way.depth)
  for (const key of findings.scopeKeys) emit(key, KIND.scoped, 0)
  emitQueued(findings.groups, KIND.enqueue, 0, emit)
}

/** Links that join their host's queue: one host item per bulk, followed by the bulk's links. */
function emitQueued(groups: readonly LinkGroup[], kind: number, replaced: number, emit: EmitItem): void {
  for (const { hostKey, isPreferred, links } of groups) {
    const queue = isPreferred ? ARG_PREFERRED : 0
    if (links.length === 0) emit(hostKey, KIND.bulk, queue | replaced)
    for (let i = 0; i < links.length; i++) {
      if (i % BULK_LINKS_MAX === 0) emit(hostKey, KIND.bulk, queue | (i === 0 ? replaced : 0))
      emit(links[i].key, kind, links[i].depth)
    }
  }
}

function emitPlain(groups: readonly LinkGroup[], kind: number, arg: number, emit: EmitItem): void {
  for (const { hostKey, links } of groups) {
    emit(hostKey, KIND.host, 0)
    for (const link of links) emit(link.key, kind, arg)
  }
}

function emitClaims(event: Extract<CrawlEvent, { kind: typeof KIND.claim }>, emit: EmitItem): void {
  for (const group of event.groups) {
    emit(group.hostKey, KIND.host, 0)
    for (const drained of group.drained) emit(group.hostKey, KIND.drained, drained)
    if (group.asksHttp) emit(group.hostKey, KIND.asked, ASKED.http)
    if (group.asksHttps) emit(group.hostKey, KIND.asked, ASKED.https)
    for (const key of group.keys) emit(key, KIND.claim, 0)
  }
}
