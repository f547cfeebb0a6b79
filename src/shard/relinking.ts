/** Pages to which a shorter way was found: their links are read again from the stored body, without a request. */

import { keyFromWords } from '../base/md5.ts'
import type { FetchedEvent } from '../core/event.ts'
import type { Now } from '../core/frontier.ts'
import { KIND } from '../core/kind.ts'
import { segmentOf, URL_WORD } from '../core/state.ts'
import { observe } from './applying.ts'
import { linkOf, readEvent } from './link-source.ts'
import { bodyOf, readPage } from './pages.ts'
import { decodeBody, linksOf } from './reading.ts'
import type { Shard } from './shard-parts.ts'

/** Pages read again in one turn. */
const RELINKS_PER_TURN_MAX = 8

export function relinkNext(shard: Shard, now: Now): void {
  const { relinks } = shard.state
  for (let left = RELINKS_PER_TURN_MAX; left > 0 && relinks.count > 0; left--) {
    const key = keyFromWords(relinks.firstWord(0), relinks.firstWord(1), relinks.firstWord(2), relinks.firstWord(3))
    const handle = shard.state.urls.findKey(key)
    const segment = segmentOf(shard.state.urls.word(handle, URL_WORD.rest))
    const position = shard.state.urls.word(handle, URL_WORD.position)
    const event = readEvent(shard.events, segment, position)
    // A page that a repair sent back to be fetched again has nothing to be read again.
    const page = event.kind === KIND.fetched ? event : undefined
    const link = linkOf(event, key, segment, position)
    const links = page === undefined ? [] : linksAgain(shard, page)
    observe(shard, { kind: 'relink', link, links, location: page?.location ?? '' }, now)
  }
}

function linksAgain(shard: Shard, { attempt, stored, location }: FetchedEvent): ReturnType<typeof linksOf>['links'] {
  if (stored === undefined || location !== '' || attempt.status >= 300) return []
  const page = readPage(shard.pages, stored.page, shard.env.decodeContent)
  if (page === undefined) return []
  const { settings } = shard.state
  const body = bodyOf(shard.pages, page, shard.env.decodeContent)
  return linksOf(
    decodeBody(page.headers, body, settings, shard.env.decodeContent).bytes,
    page.headers,
    attempt.link.url,
    settings,
  ).links
}
