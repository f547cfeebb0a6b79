/**
 * Observations: what the world told the shard. `decide` makes events of them; nothing else becomes an event but
 * claims and what an operator does.
 */

import type { Key } from '../base/md5.ts'
import type { FetchTiming, TroubleClass } from '../env/web.ts'
import type { Link, Stored } from './event.ts'

/** A link as the scanner found it, canonical. */
export interface FoundLink {
  readonly url: string
  /** The page asks robots not to follow it. */
  readonly nofollow: boolean
}

/** Everything a page or an answer told, already reduced to facts. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Target of a redirect, canonical; undefined where there is none or it cannot be read. */
  readonly location: string | undefined
  /** From Retry-After, not capped; undefined where there is none. */
  readonly retryAfterMs: number | undefined
  readonly stored: Stored | undefined
  readonly links: readonly FoundLink[]
  /** Links the scanner cut or could not read, by reason number. */
  readonly turnedAway: ReadonlyArray<readonly [reason: number, count: number]>
}

export interface Trouble {
  readonly kind: 'trouble'
  readonly class: TroubleClass | 'http.decode' | 'address.forbidden'
  readonly message: string
  /** A connection was accepted before the trouble. */
  readonly isConnected: boolean
}

/** One per claim, always. */
export interface PageObservation {
  readonly kind: 'page'
  readonly link: Link
  readonly attempts: number
  readonly address: string
  readonly timing: FetchTiming
  readonly result: Answer | Trouble
}

export interface RobotsObservation {
  readonly kind: 'robots'
  readonly host: string
  readonly hostKey: Key
  readonly isHttps: boolean
  readonly attempts: number
  readonly result:
    | {
        readonly kind: 'answer'
        readonly status: number
        readonly body: Uint8Array
        readonly retryAfterMs: number | undefined
      }
    | Trouble
}

export interface LookupObservation {
  readonly kind: 'lookup'
  readonly host: string
  readonly hostKey: Key
  readonly result:
    | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlMs: number }
    | {
        readonly kind: 'trouble'
        readonly class: 'dns.notfound' | 'dns.temporary' | 'address.forbidden'
        readonly message: string
      }
}

/** Lines of a seed source, read and found to be URLs. */
export interface SeedsObservation {
  readonly kind: 'seeds'
  readonly source: number
  /** Lines of the source settled once this is recorded. */
  readonly lines: number
  readonly isLast: boolean
  /** Canonical. At most SEEDS_PER_OBSERVATION_MAX. */
  readonly urls: readonly string[]
}

/** A stored page's links, read again because a shorter way to it was found. */
export interface RelinkObservation {
  readonly kind: 'relink'
  readonly link: Link
  readonly links: readonly FoundLink[]
  /** Target of a redirect; '' where it is a page. */
  readonly location: string
}

export interface ControlObservation {
  readonly kind: 'control'
  readonly act: string
  /** Effective settings after it, JSON. */
  readonly settings: string
}

export type Observation =
  | PageObservation
  | RobotsObservation
  | LookupObservation
  | SeedsObservation
  | RelinkObservation
  | ControlObservation

/** Seeds of one observation; a source of more comes as several. */
export const SEEDS_PER_OBSERVATION_MAX = 1000
