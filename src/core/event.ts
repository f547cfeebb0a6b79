/**
 * The events of a crawl as plain data: what `decide` returns, what `encodeEvent` writes as one VAL record and
 * `decodeEvent` reads back. One event is one atomic fact.
 *
 * Nothing in an event is a position in the log: events refer by key, by sequence number, or to a page by its segment
 * and ordinal in `pages/`. Times are shard time, milliseconds since 1970.
 */
import type { Key } from '../base/md5.ts'
import type { KIND } from './kind.ts'
import type { RepairedEvent } from './repaired.ts'

/** A URL to be fetched, with all that must be known of it before its page is. */
export interface Link {
  /** md5 of `url`. */
  readonly key: Key
  /** Canonical, hence ASCII. */
  readonly url: string
  /** Fewest links from a seed known so far, 0 … 255. */
  readonly depth: number
  /** Key of the page it was found on; undefined for a seed. */
  readonly from: Key | undefined
  /** A seed, or what a seed redirected to: scope follows it. */
  readonly seed: boolean
  /** Keys of the URLs that redirected here, first one first; [] for an ordinary link. */
  readonly chain: readonly Key[]
}

/** Links of one host. Written as bulks of at most `BULK_LINKS_MAX`. */
export interface LinkGroup {
  /** `URL.host`: name and non-default port. */
  readonly host: string
  readonly hostKey: Key
  /** The links go to the host's preferred queue. */
  readonly isPreferred: boolean
  readonly links: readonly Link[]
}

/** Links per bulk, at most: two reads a bulk are 16 per 1,000 URLs claimed; one page's links to its own host mostly fit. */
export const BULK_LINKS_MAX = 128

/** What a compaction wrote: its items tell a URL's whole life (`COMPACTED` in kind.ts). */
export interface Compacted {
  readonly isCompacted?: true
}

/** What a page said of other URLs, beside the links it admitted. */
export interface Findings {
  /** New links, admitted, in order of discovery within each host. */
  readonly groups: readonly LinkGroup[]
  /** First 8 bytes of the keys of the links to URLs already known (the link graph); [] with `--no-graph`. */
  readonly known: readonly Key[]
  /** Known URLs to which this page is a shorter way. */
  readonly shorter: readonly ShorterWay[]
  /** Links turned away on discovery, counted by reason number. */
  readonly turnedAway: ReadonlyArray<readonly [reason: number, count: number]>
  /** The same as text, with `--keep-refused`. */
  readonly turnedAwayUrls: ReadonlyArray<readonly [reason: number, url: string]>
  /** Scope keys that this record opens (seeds, and what seeds redirect to). */
  readonly scopeKeys: readonly Key[]
}

export interface ShorterWay {
  readonly key: Key
  readonly depth: number
  /** The page is stored and its links are to be admitted again, or the URL was refused and is to be judged again. */
  readonly relink: boolean
}

/** Where a page's bytes are: segment and ordinal in `pages/`. */
export interface PageRef {
  readonly segment: number
  readonly ordinal: number
}

/** One request and how it went. */
export interface Attempt {
  readonly link: Link
  /** Requests made for the URL so far, this one included. */
  readonly attempts: number
  /** Address connected to; '' where it did not come so far. */
  readonly address: string
  /** 0 where there was no answer. */
  readonly status: number
  readonly timing: { readonly connectMs: number; readonly firstByteMs: number; readonly totalMs: number }
  /** Message of a failure, for people; '' for an answer. */
  readonly message: string
}

/** The stored answer of an attempt. */
export interface Stored {
  readonly page: PageRef
  /** Body as received, before content decoding. */
  readonly bodyBytes: number
  readonly decodedBytes: number
  /** First 16 bytes of the SHA-256 of the body as received. */
  readonly content: Key
  /** Media type without parameters, lower case; '' where the answer named none. */
  readonly contentType: string
  readonly isTruncated: boolean
}

export interface OpenEvent {
  readonly kind: typeof KIND.open
  readonly crawlId: string
  readonly pid: number
  readonly version: string
  readonly shard: number
  readonly shardCount: number
  /** Effective settings, JSON. */
  readonly settings: string
}
export interface CloseEvent {
  readonly kind: typeof KIND.close
  readonly reason: string
}
export interface SeededEvent extends Findings {
  readonly kind: typeof KIND.seeded
  /** Number of the seed source: `seeds/N.txt`. */
  readonly source: number
  /** Lines of the source settled by this record and those before it. */
  readonly lines: number
  /** No line of the source is left. */
  readonly isLast: boolean
}
export interface BulkEvent extends Compacted {
  readonly kind: typeof KIND.bulk
  /** Bulks at the tail of the host's queue that this one replaces, 1 … 127; 0 in a compacted log. */
  readonly replaced: number
  /** At least one link; in a compacted log perhaps none, since queues keep their bulks. */
  readonly group: LinkGroup
}
export interface ClaimEvent {
  readonly kind: typeof KIND.claim
  readonly groups: readonly ClaimGroup[]
}
export interface ClaimGroup {
  readonly hostKey: Key
  /** Bulks emptied, as arguments of `drained` items; applied in this order. */
  readonly drained: readonly number[]
  readonly keys: readonly Key[]
  /** robots.txt is asked for: over http, over https. */
  readonly asksHttp: boolean
  readonly asksHttps: boolean
}
export interface VoidEvent {
  readonly kind: typeof KIND.void
  readonly isDeath: boolean
  readonly groups: readonly LinkGroup[]
  /** Keys of the hosts whose robots.txt was being fetched. */
  readonly asking: readonly Key[]
}
export interface FetchedEvent extends Findings, Compacted {
  readonly kind: typeof KIND.fetched
  readonly attempt: Attempt
  readonly stored: Stored | undefined
  /** Target of a redirect, as canonical URL; ''. */
  readonly location: string
}
export interface FailedEvent extends Compacted {
  readonly kind: typeof KIND.failed
  readonly attempt: Attempt
  readonly reason: number
  readonly stored: Stored | undefined
}
export interface RetryEvent {
  readonly kind: typeof KIND.retry
  readonly attempt: Attempt
  readonly reason: number
  readonly dueMs: number
}
export interface RefusedEvent extends Compacted {
  readonly kind: typeof KIND.refused
  readonly reason: number
  readonly groups: readonly LinkGroup[]
}
export interface ReopenedEvent {
  readonly kind: typeof KIND.reopened
  readonly groups: readonly LinkGroup[]
}
export interface ResolvedEvent {
  readonly kind: typeof KIND.resolved
  readonly host: string
  readonly addresses: readonly string[]
  readonly expiresMs: number
}
export interface BadHostEvent {
  readonly kind: typeof KIND.badhost
  readonly host: string
  readonly reason: number
  readonly untilMs: number
  /** Its queued and waiting URLs: failed(host.bad) by this record. Their links stay where they were. */
  readonly keys: readonly Key[]
  /** No URL of the host is pending after this record: its queue is given up. */
  readonly isLast: boolean
}
/** What robots.txt came to. On disk since v1. Never renumber. */
export const ROBOTS = {
  unknown: 0,
  /** Everything is allowed: an answer 4xx, or robots.txt is not obeyed. */
  allowed: 1,
  /** The rules in the record's body hold. */
  rules: 2,
  /** 429, 5xx or no answer: the host is held until the expiry, then asked again. */
  held: 3,
  /** The same too often: its URLs are refused (robots.unreachable) until the expiry. */
  unreachable: 4,
} as const

export interface RobotsEvent {
  readonly kind: typeof KIND.robots
  readonly host: string
  readonly isHttps: boolean
  /** One of `ROBOTS`. */
  readonly verdict: number
  readonly status: number
  readonly expiresMs: number
  /** Crawl-delay for our agent, milliseconds; 0 = none. */
  readonly delayMs: number
  /** Requests made for it since it was last known. */
  readonly attempts: number
  /** The file as received, at most 500 KiB; empty where the verdict needs none. */
  readonly body: Uint8Array
}
export interface DelayEvent {
  readonly kind: typeof KIND.delay
  readonly host: string
  readonly reason: number
  readonly untilMs: number
  /** Backoff level after it, 0 … 255. */
  readonly level: number
}
export interface ControlEvent {
  readonly kind: typeof KIND.control
  /** Who did it: `resume`, `add`, `retry`, `fork`. */
  readonly act: string
  /** Settings changed, JSON. */
  readonly settings: string
}
/** The first record of a log that goes on from a part of another one: all before it is the parent's. */
export interface ForkedEvent {
  readonly kind: typeof KIND.forked
  /** Of the parent, hexadecimal. */
  readonly crawlId: string
  /** Number and time of the parent's last record that belongs to the fork. */
  readonly sequence: number
  readonly timeMs: number
}
export interface RelinkedEvent extends Findings {
  readonly kind: typeof KIND.relinked
  readonly link: Link
}

/** A host as a compaction names it. */
export interface KnownHost {
  readonly host: string
  /** Some address of it accepted a connection once. */
  readonly hasAnswered: boolean
}
export interface HostsEvent {
  readonly kind: typeof KIND.hosts
  readonly hosts: readonly KnownHost[]
}

/** What becomes of a link in a `linked` record. On disk. Never renumber. */
export const STANDING = {
  /** Nothing more: a claim follows. */
  plain: 0,
  /** It waits, or waited when it was claimed. */
  waits: 1,
  /** It failed with its host (host.bad). */
  failed: 2,
} as const

/** Where the URL of a link stands that is in no queue. */
export interface Standing {
  /** One of `STANDING`. */
  readonly what: number
  /** Requests made for it so far. */
  readonly attempts: number
  /** Deaths at which it was in flight. */
  readonly deaths: number
  /** Not before; 0 = at once. */
  readonly dueMs: number
  /** Of its last attempt: status (0 = no answer) and reason number (0 = none). */
  readonly status: number
  readonly reason: number
}
export interface LinkedEvent {
  readonly kind: typeof KIND.linked
  readonly groups: readonly LinkGroup[]
  /** One for each link of the groups, in their order. */
  readonly standings: readonly Standing[]
}

/** Where a URL stands by a `linked` record; undefined where it is not in it. Cost: a look at each of its links. */
export function standingOf({ groups, standings }: LinkedEvent, key: Key): Standing | undefined {
  let next = 0
  for (const { links } of groups) {
    for (const link of links) {
      if (link.key === key) return standings[next]
      next++
    }
  }
  return undefined
}

/** Links of a `linked` record, at most: one of them is found by reading them all. */
export const LINKED_LINKS_MAX = 128
/** Hosts of a `hosts` record, at most: one of them is found by reading them all. */
export const KNOWN_HOSTS_MAX = 64

export type CrawlEvent =
  | OpenEvent
  | CloseEvent
  | SeededEvent
  | BulkEvent
  | ClaimEvent
  | VoidEvent
  | FetchedEvent
  | FailedEvent
  | RetryEvent
  | RefusedEvent
  | ReopenedEvent
  | ResolvedEvent
  | BadHostEvent
  | RobotsEvent
  | DelayEvent
  | ControlEvent
  | ForkedEvent
  | RelinkedEvent
  | RepairedEvent
  | HostsEvent
  | LinkedEvent

export const NO_FINDINGS: Findings = {
  groups: [],
  known: [],
  shorter: [],
  turnedAway: [],
  turnedAwayUrls: [],
  scopeKeys: [],
}

/** Reads the record at an address of the log; live, it is the one just written. */
export type EventAt = (segment: number, position: number) => CrawlEvent
