/** Puts an answer into the pages log, its body once per shard, and makes the observation that refers to it. */
import type { Key } from '../base/md5.ts'
import type { PageRef, Stored } from '../core/event.ts'
import type { Now } from '../core/frontier.ts'
import { KIND } from '../core/kind.ts'
import type { PageObservation } from '../core/observation.ts'
import type { PageArrival } from './arrival.ts'
import { readEvent } from './link-source.ts'
import { appendPage, PAGE_FLAG, readPage } from './pages.ts'
import { type ReadAnswer, sha256 } from './reading.ts'
import type { Shard } from './shard-parts.ts'

export function storeAnswer(shard: Shard, arrival: PageArrival, now: Now): PageObservation {
  const { claim, address, timing, result } = arrival
  const common = { kind: 'page', link: claim.link, attempts: claim.attempts, address, timing } as const
  if (result.kind === 'trouble') return { ...common, result }
  const stored = storePage(shard, claim.link.key, result, now)
  const { status, location, retryAfterMs, links, turnedAway } = result
  return { ...common, result: { kind: 'answer', status, location, retryAfterMs, stored, links, turnedAway } }
}

function storePage(shard: Shard, key: Key, answer: ReadAnswer, now: Now): Stored {
  const { body, status, headers, isTruncated } = answer
  const digest = sha256(body)
  const content = digest.slice(0, 16) as Key
  const elsewhere = body.length === 0 ? undefined : sameBody(shard, content, digest)
  const flags = isTruncated ? PAGE_FLAG.truncated : 0
  const page = appendPage(shard.pages, { key, flags, status, sha256: digest, headers, body, elsewhere }, now.shardMs)
  return {
    page,
    bodyBytes: body.length,
    decodedBytes: answer.decodedBytes,
    content,
    contentType: answer.contentType,
    isTruncated,
  }
}

/** The page that holds this body already. The full digest is compared on disk: 16 bytes of it are only a hint. */
function sameBody(shard: Shard, content: Key, digest: string): PageRef | undefined {
  const { contents } = shard.state
  const handle = contents.findKey(content)
  if (handle < 0) return undefined
  const event = readEvent(shard.events, contents.word(handle, 1), contents.word(handle, 0))
  if (event.kind !== KIND.fetched || event.stored === undefined) return undefined
  const page = readPage(shard.pages, event.stored.page, shard.env.decodeContent)
  if (page === undefined || page.sha256 !== digest) return undefined
  return page.elsewhere ?? event.stored.page
}
