/** The first thing that went wrong in a crawl: what is said where not one page was had. */
import { STANDING } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { type Reason, reasonOf } from '../core/reasons.ts'
import { hostOf } from '../core/url.ts'
import { eventOf } from '../shard/link-source.ts'
import type { OpenedShard } from '../shard/opening.ts'

export interface FirstTrouble {
  readonly reason: Reason | undefined
  /** URL or host. */
  readonly where: string
  /** Of the system or the library, for people; ''. */
  readonly message: string
}

/** @returns undefined where nothing failed or was refused. Errors: LOG_CORRUPT. Cost: VAL up to the segment that has it. */
export function firstTroubleIn({ events }: OpenedShard): FirstTrouble | undefined {
  let found: FirstTrouble | undefined
  for (const { number } of events.segments) {
    events.scan(number, (record) => {
      if (found !== undefined || !canTell(record.kind)) return
      const event = eventOf(record, number)
      if (event.kind === KIND.failed) {
        const { link, message } = event.attempt
        found = { reason: reasonOf(event.reason), where: link.url, message }
      } else if (event.kind === KIND.badhost && event.keys.length > 0) {
        found = { reason: reasonOf(event.reason), where: event.host, message: 'its host is bad' }
      } else if (event.kind === KIND.linked) {
        const failed = event.standings.findIndex(({ what }) => what === STANDING.failed)
        const link = event.groups.flatMap(({ links }) => links)[failed]
        if (link !== undefined) found = { reason: 'host.bad', where: hostOf(link.url), message: 'its host is bad' }
      } else if (event.kind === KIND.refused) {
        found = { reason: reasonOf(event.reason), where: event.groups[0]?.links[0]?.url ?? '', message: '' }
      } else if (event.kind === KIND.seeded && event.turnedAway.length > 0) {
        found = { reason: reasonOf(event.turnedAway[0][0]), where: `seeds/${event.source}.txt`, message: '' }
      }
    })
    if (found !== undefined) break
  }
  return found
}

function canTell(kind: number): boolean {
  return (
    kind === KIND.failed ||
    kind === KIND.badhost ||
    kind === KIND.refused ||
    kind === KIND.seeded ||
    kind === KIND.linked
  )
}
