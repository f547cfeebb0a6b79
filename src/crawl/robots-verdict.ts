/** What the last robots.txt of a URL's origin says of it, read from the log. */
import { ROBOTS, type RobotsEvent } from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { isAllowed, parseRobots } from '../core/robots.ts'
import { type Settings, settingsOfHost } from '../core/settings.ts'
import { hostOf, pathOf } from '../core/url.ts'
import type { Position } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'
import { eventOf } from '../shard/link-source.ts'

export interface RobotsVerdict {
  /** `ignored` (--no-robots), `unknown` (never answered), `allowed`, `denied`, `held`, `unreachable`. */
  readonly verdict: string
  /** Of the answer; null where there was none. */
  readonly status: number | null
  /** When it was answered, ISO 8601 UTC; null where it was not. */
  readonly time: string | null
  /** Until when it holds; where it is held, when it is asked for again. */
  readonly until: string | null
  /** Crawl-delay that it asks for, milliseconds; 0 = none. */
  readonly delayMs: number
}

/**
 * @param places  of the last robots.txt records of the host, oldest first
 * @param settings  of the crawl
 * Errors: LOG_CORRUPT. Cost: a few reads.
 */
export function robotsVerdictOf(
  log: OpenedLog,
  places: readonly Position[],
  url: string,
  settings: Settings,
): RobotsVerdict {
  const none = { status: null, time: null, until: null, delayMs: 0 }
  const { robots, robotsAgent } = settingsOfHost(settings, hostOf(url))
  if (!robots) return { verdict: 'ignored', ...none }
  for (const { segment, position } of places.toReversed()) {
    const record = log.read(segment, position)
    const event = eventOf(record, segment)
    if (event.kind !== KIND.robots || event.isHttps !== url.startsWith('https:')) continue
    return {
      verdict: wordOf(event, robotsAgent, url),
      status: event.status === 0 ? null : event.status,
      time: new Date(record.timeMs).toISOString(),
      until: new Date(event.expiresMs).toISOString(),
      delayMs: event.delayMs,
    }
  }
  return { verdict: 'unknown', ...none }
}

function wordOf({ verdict, body }: RobotsEvent, agent: string, url: string): string {
  if (verdict === ROBOTS.held) return 'held'
  if (verdict === ROBOTS.unreachable) return 'unreachable'
  return verdict === ROBOTS.allowed || isAllowed(parseRobots(body), agent, pathOf(url)) ? 'allowed' : 'denied'
}
