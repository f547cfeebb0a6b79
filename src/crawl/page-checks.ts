/** Whether the pages that events refer to are there, are theirs, and have the bodies that were noted. */
import { hash } from 'node:crypto'
import type { Key } from '../base/md5.ts'
import type { Stored } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import type { DecodeContent } from '../env/content.ts'
import { comparePositions, type Position } from '../log/format.ts'
import type { PageSource } from '../log/pages.ts'
import { eventOf } from '../shard/link-source.ts'
import type { OpenedShard } from '../shard/opening.ts'
import { bodyOf, readPage } from '../shard/pages.ts'
import { type Trouble, troubleOfError } from './trouble.ts'

type Logs = Pick<OpenedShard, 'events' | 'pages'>

/** Pages told of one by one; beyond, they are only counted. */
const TROUBLES_MAX = 100

/**
 * Reads every page that an event before `end` refers to.
 *
 * @param troubles  what is wrong is appended
 * @returns pages read. Cost: a read or two per page, nearly in the order in which they stand, and one SHA-256 each.
 */
export function verifyPages(logs: Logs, end: Position, decode: DecodeContent, troubles: Trouble[]): number {
  let checked = 0
  let untold = 0
  for (const { number } of logs.events.segments) {
    if (number > end.segment) break
    logs.events.scan(number, (record) => {
      if (record.kind !== KIND.fetched && record.kind !== KIND.failed) return
      if (comparePositions({ segment: number, position: record.position }, end) >= 0) return
      const event = eventOf(record, number)
      if (!('stored' in event) || event.stored === undefined) return
      checked++
      const { key, url } = event.attempt.link
      const wrong = troubleOfPage(logs.pages, event.stored, key, decode)
      if (wrong === undefined) return
      if (troubles.length >= TROUBLES_MAX) untold++
      else
        troubles.push({
          ...wrong,
          message: `The page of ${url}: ${wrong.message}`,
          segment: number,
          offset: record.position,
        })
    })
  }
  if (untold > 0) troubles.push(problem(`${untold} more pages are damaged.`))
  return checked
}

/** What is wrong with the page of an outcome; undefined where nothing is. Cost: a read or two, one SHA-256. */
export function troubleOfPage(pages: PageSource, stored: Stored, key: Key, decode: DecodeContent): Trouble | undefined {
  try {
    const page = readPage(pages, stored.page, decode)
    if (page === undefined) return problem('it is missing, or stands behind damage.')
    if (page.key !== key) return problem('another page stands in its place.')
    const body = bodyOf(pages, page, decode)
    if (body.length !== page.bodyBytes || body.length !== stored.bodyBytes)
      return problem(`its body has ${body.length} bytes, not ${stored.bodyBytes}.`)
    const sha256 = hash('sha256', body, 'binary')
    if (sha256 !== page.sha256 || sha256.slice(0, 16) !== stored.content)
      return problem('its body has another SHA-256 than was noted.')
    return undefined
  } catch (error) {
    const trouble = troubleOfError(error, 'references')
    if (trouble === undefined) throw error
    return trouble
  }
}

function problem(message: string): Trouble {
  return { where: 'references', isDamage: true, message, segment: null, offset: null, bytes: null }
}
