/**
 * What one event says of one URL, as plain fields: what `explain --json` prints, and what its text is made of.
 *
 * The names are in the README. Never rename; a new fact gets a new name.
 */
import type { Key } from '../base/md5.ts'
import { keyToHex } from '../base/md5.ts'
import {
  type Attempt,
  type CrawlEvent,
  type Findings,
  type Link,
  type PageRef,
  type Standing,
  type Stored,
  standingOf,
} from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { reasonOf } from '../core/reasons.ts'
import { type Settings, settingsOfHost } from '../core/settings.ts'
import { hostOf } from '../core/url.ts'
import type { HistoryItem } from './url-history.ts'

/** One thing that happened. Beside these three it has the fields of its kind; times are ISO 8601, UTC. */
export interface ExplainedEvent {
  readonly seq: number
  readonly time: string
  /** Name of the KEY item: enqueue, claim, fetched, retry, failed, refused, void, reopened, shorter, relink, relinked. */
  readonly kind: string
  readonly [field: string]: unknown
}

/** What must be known beside the event. */
export interface EventContext {
  readonly key: Key
  /** URLs of pages by their keys, as far as they were found. */
  readonly names: ReadonlyMap<Key, string>
  /** The settings in force when it happened. */
  readonly settings: Settings
  /** Where the bytes of a stored body are; undefined where they are lost. */
  readonly bodyAt: (stored: Stored) => PageRef | undefined
}

type Fields = Readonly<Record<string, unknown>>

const KIND_NAMES = new Map<number, string>(Object.entries(KIND).map(([name, number]) => [number, name]))

export function nameOfKind(kind: number): string {
  return KIND_NAMES.get(kind) ?? String(kind)
}

/** The link of the URL in an event, where the event holds it. */
export function linkIn(event: CrawlEvent, key: Key): Link | undefined {
  if ('attempt' in event && event.attempt.link.key === key) return event.attempt.link
  if (event.kind === KIND.relinked && event.link.key === key) return event.link
  if (event.kind === KIND.claim) return undefined
  const groups = event.kind === KIND.bulk ? [event.group] : 'groups' in event ? event.groups : []
  for (const { links } of groups) {
    const found = links.find((link) => link.key === key)
    if (found !== undefined) return found
  }
  return undefined
}

export function fieldsOf(item: HistoryItem, event: CrawlEvent, context: EventContext): Fields {
  switch (item.kind) {
    case KIND.enqueue:
    case KIND.reopened:
      return foundFields(event, linkIn(event, context.key), context)
    case KIND.void:
      return { death: item.arg === 1 }
    case KIND.shorter:
    case KIND.relink:
      return event.kind === KIND.seeded ? { again: true } : { depth: item.arg, from: pageOf(event) }
    case KIND.refused:
      return { class: reasonOf(item.arg) ?? null }
    case KIND.waits:
      return event.kind === KIND.linked ? standingFields(standingOf(event, context.key)) : {}
    case KIND.failed:
      if (event.kind === KIND.linked) {
        const reason = standingOf(event, context.key)?.reason ?? 0
        return { class: 'host.bad', because: reasonOf(reason) ?? null, until: null }
      }
      if (event.kind === KIND.badhost) {
        return { class: 'host.bad', because: reasonOf(event.reason) ?? null, until: instant(event.untilMs) }
      }
  }
  return outcomeFields(event, context)
}

/** Of a URL that waits, as a compaction left it. */
function standingFields(standing: Standing | undefined): Fields {
  if (standing === undefined) return {}
  const { attempts, status, reason, dueMs } = standing
  return {
    attempt: attempts,
    class: reasonOf(reason) ?? null,
    status: status === 0 ? null : status,
    due: instant(dueMs),
  }
}

function foundFields(event: CrawlEvent, link: Link | undefined, { names, settings }: EventContext): Fields {
  if (link === undefined) return {}
  const from = link.from === undefined ? null : (names.get(link.from) ?? pageOf(event) ?? null)
  const fields: Record<string, unknown> = { from, depth: link.depth, rule: ruleOf(link, settings) }
  if (link.chain.length > 0) fields.redirects = link.chain.map((hop) => names.get(hop) ?? null)
  if (event.kind === KIND.seeded) fields.source = `seeds/${event.source}.txt`
  if (event.kind === KIND.bulk && !event.isCompacted) fields.moved = true
  return fields
}

/** The rule that let a link in. */
function ruleOf(link: Link, crawlSettings: Settings): string {
  if (link.seed) return link.from === undefined ? 'seed' : 'redirect from a seed'
  const settings = settingsOfHost(crawlSettings, hostOf(link.url))
  const included = settings.include.find((source) => new RegExp(source).test(link.url))
  const depth = settings.depthMax === null ? '' : `, depth ${settings.depthMax}`
  return `scope ${settings.scope}${depth}${included === undefined ? '' : `, include ${included}`}`
}

/** The page that an event is about. */
function pageOf(event: CrawlEvent): string | undefined {
  if (event.kind === KIND.fetched) return event.attempt.link.url
  return event.kind === KIND.relinked ? event.link.url : undefined
}

function outcomeFields(event: CrawlEvent, { bodyAt }: EventContext): Fields {
  switch (event.kind) {
    case KIND.fetched: {
      const location = event.location === '' ? {} : { location: event.location }
      const stored = storedFields(event.stored, bodyAt)
      return { ...attemptFields(event.attempt), ...location, ...stored, ...linkFields(event) }
    }
    case KIND.retry:
      return { class: reasonOf(event.reason) ?? null, ...attemptFields(event.attempt), due: instant(event.dueMs) }
    case KIND.failed: {
      const stored = storedFields(event.stored, bodyAt)
      return { class: reasonOf(event.reason) ?? null, ...attemptFields(event.attempt), ...stored }
    }
    case KIND.relinked:
      return linkFields(event)
  }
  return {}
}

function attemptFields({ attempts, status, address, timing, message }: Attempt): Fields {
  const said = message === '' ? {} : { message }
  return {
    attempt: attempts,
    status: status === 0 ? null : status,
    address: address === '' ? null : address,
    ...timing,
    ...said,
  }
}

function storedFields(stored: Stored | undefined, bodyAt: EventContext['bodyAt']): Fields {
  if (stored === undefined) return {}
  const { bodyBytes, decodedBytes, contentType, isTruncated, content, page } = stored
  const sizes = { bodyBytes, decodedBytes, contentType, truncated: isTruncated }
  return { ...sizes, digest: keyToHex(content), page, bodyAt: bodyAt(stored) ?? null }
}

/** Links of a page: admitted, known already, and turned away by class. */
function linkFields(findings: Findings): Fields {
  const links = findings.groups.reduce((sum, group) => sum + group.links.length, 0)
  const turnedAway = Object.fromEntries(
    findings.turnedAway.map(([reason, number]) => [reasonOf(reason) ?? reason, number]),
  )
  return { links, known: findings.known.length, turnedAway }
}

/** An instant as ISO 8601, UTC; null for none. */
export function instant(ms: number): string | null {
  return ms > 0 ? new Date(ms).toISOString() : null
}
