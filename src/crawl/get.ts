/** The stored page of a URL: found by KEY, read from the pages log; no replay. */
import { keyOf } from '../base/md5.ts'
import type { Stored } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import type { Settings } from '../core/settings.ts'
import { URL_STATE_NAMES } from '../core/state.ts'
import type { DecodeContent } from '../env/content.ts'
import { comparePositions } from '../log/format.ts'
import { horizonOf } from '../shard/horizon.ts'
import { eventOf } from '../shard/link-source.ts'
import type { OpenedShard } from '../shard/opening.ts'
import { bodyOf, readPage } from '../shard/pages.ts'
import { decodeBody } from '../shard/reading.ts'
import { historiesOf, stateAfter } from './url-history.ts'

export interface StoredAnswer {
  readonly url: string
  readonly state: string
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** As it came over the wire. */
  readonly raw: Uint8Array
  /** Without content encodings; the charset is the page's own. */
  readonly body: Uint8Array
  /** Media type, lower case, ''. */
  readonly contentType: string
  /** The body was cut at a limit. */
  readonly isTruncated: boolean
  /** 64 hexadecimal digits, of `raw`. */
  readonly sha256: string
  /** When it was stored, ISO 8601 UTC. */
  readonly time: string
}

export type Found = StoredAnswer | NoPage

export interface NoPage {
  readonly url: string
  readonly state: string
  readonly raw?: undefined
  /** Pages that counted no more at this instant (ISO 8601 UTC) were compacted away; left out where none were. */
  readonly compacted?: string
}

/**
 * The last stored answer of a URL; only its state where no page of it is stored; undefined for an unknown one.
 * Errors: LOG_CORRUPT; MalformedValue. Cost: a scan of KEY and three or four reads.
 */
export function storedPage(
  logs: OpenedShard,
  url: string,
  settings: Settings,
  decode: DecodeContent,
): Found | undefined {
  const [history] = historiesOf(logs.events, logs.end, [keyOf(url)])
  if (history.length === 0) return undefined
  const state = URL_STATE_NAMES[stateAfter(history)]
  for (const { kind, segment, position } of history.toReversed()) {
    if (kind !== KIND.fetched && kind !== KIND.failed) continue
    const record = logs.events.read(segment, position)
    const event = eventOf(record, segment)
    if (!('stored' in event) || event.stored === undefined) continue
    return answerOf(logs, url, state, event.stored, record.timeMs, settings, decode) ?? { url, state }
  }
  const horizon = horizonOf(logs.events)
  const isCompacted = horizon?.isRepair === false && comparePositions(history[0], horizon.position) < 0
  return isCompacted ? { url, state, compacted: new Date(horizon.timeMs).toISOString() } : { url, state }
}

function answerOf(
  logs: OpenedShard,
  url: string,
  state: string,
  { page: ref, contentType, isTruncated }: Stored,
  timeMs: number,
  settings: Settings,
  decode: DecodeContent,
): StoredAnswer | undefined {
  const page = readPage(logs.pages, ref, decode)
  if (page === undefined) return undefined
  const { status, headers } = page
  const raw = bodyOf(logs.pages, page, decode)
  const { bytes: body } = decodeBody(headers, raw, settings, decode)
  const sha256 = Buffer.from(page.sha256, 'latin1').toString('hex')
  return {
    url,
    state,
    status,
    headers,
    raw,
    body,
    contentType,
    isTruncated,
    sha256,
    time: new Date(timeMs).toISOString(),
  }
}
