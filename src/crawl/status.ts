/** What a crawl says of itself: the figures of `status`, `replay` and the end of `start`. Frozen in the README. */
import { type State, URL_STATE } from '../core/state.ts'
import type { Totals } from '../shard/totals.ts'
import type { ReplayCost } from './replay-cost.ts'
import type { WaitingHosts } from './waiting-hosts.ts'

export interface Status {
  /** Distinct URLs: the sum of the five states. */
  readonly seen: number
  readonly pending: number
  readonly processing: number
  readonly done: number
  readonly failed: number
  readonly refused: number
  readonly hosts: number
  readonly badHosts: number
  /** Hosts whose addresses were looked up: Host2IP. */
  readonly resolved: number
  /** Bodies as received. */
  readonly bytes: number
  /** VAL records. */
  readonly events: number
  /** Sequence number of the last record; one per shard, comma between. */
  readonly seq: string
  /** State digest, 32 hexadecimal digits. */
  readonly digest: string
  /** Time of the last record, ISO 8601 UTC. */
  readonly time: string
  readonly finished: boolean
}

/** What a running crawl tells people beside the figures. */
export interface LiveReport {
  readonly status: Status
  /** Answers with a stored 2xx body. */
  readonly pages: number
  readonly waiting: WaitingHosts
  readonly cost: ReplayCost
}

export function statusOf(state: State, totals: Totals, sequence: number, lastMs: number): Status {
  const counts = state.counts
  const pending = counts[URL_STATE.pending]
  const processing = counts[URL_STATE.processing]
  return {
    seen: state.urls.count,
    pending,
    processing,
    done: counts[URL_STATE.done],
    failed: counts[URL_STATE.failed],
    refused: counts[URL_STATE.refused],
    hosts: state.hosts.count,
    badHosts: state.badHosts,
    resolved: state.resolvedHosts,
    bytes: totals.bytes,
    events: sequence,
    seq: String(sequence),
    digest: state.digest.toHex(),
    time: new Date(lastMs).toISOString(),
    finished: isComplete(state),
  }
}

/** Nothing is left to do: no URL pending or in flight, no page to read again, no seed unread. */
export function isComplete(state: State): boolean {
  const left = state.counts[URL_STATE.pending] + state.processing.count + state.asking + state.relinks.count
  return left === 0 && state.seeds.length > 0 && state.seeds.every((cursor) => cursor?.isLast)
}
