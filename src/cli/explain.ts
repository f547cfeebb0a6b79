/** `explain URL [DIR]`: all that happened to one URL. */
import { type ExplainedEvent, type Explanation, explainUrl } from '../crawl/explain.ts'
import { forEachTurnedAway, type TurnedAwayLink } from '../crawl/urls.ts'
import type { OpenedShard } from '../shard/opening.ts'
import type { Arguments } from './command.ts'
import { EXIT } from './errors.ts'
import { crawlNamed, urlNamed, withLogs } from './reading.ts'
import { bytes, count, duration, escapeLine, jsonLine, plural } from './text.ts'
import { reportUnknown } from './unknown.ts'

export async function run(args: Arguments): Promise<number> {
  const { root, layout, crawl } = crawlNamed(args)
  const url = urlNamed(args, crawl)
  const explanation = withLogs(layout, (logs) => explainUrl(logs, url, crawl.settings, Date.now()))
  if (explanation === undefined) {
    const away = crawl.settings.keepRefused ? withLogs(layout, (logs) => turnedAway(logs, url)) : undefined
    return reportUnknown(url, root, args.isJson, away)
  }
  const { waits, ...facts } = explanation
  const json = explanation.state === 'pending' ? explanation : facts
  process.stdout.write(args.isJson ? `${jsonLine(json)}\n` : `${textOf(explanation).join('\n')}\n`)
  return EXIT.done
}

/** Where a URL was turned away first; undefined where it was not met, or not kept. */
function turnedAway({ events, end }: OpenedShard, url: string): TurnedAwayLink | undefined {
  let found: TurnedAwayLink | undefined
  forEachTurnedAway(events, end, (link) => {
    if (link.url === url) found ??= link
  })
  return found
}

function textOf({ url, state, events, waits, compacted }: Explanation): string[] {
  const lines = [`${escapeLine(url)} is ${state}`, '']
  if (compacted !== undefined) {
    lines.push(
      `What happened up to ${compacted.until} (#${compacted.seq}) was compacted: only what counted then is told.`,
    )
    lines.push('')
  }
  let beforeMs = 0
  for (const event of events) {
    const atMs = Date.parse(event.time)
    const pause = beforeMs === 0 || atMs - beforeMs < 1 ? '' : ` (after ${duration(atMs - beforeMs)})`
    const [first, ...more] = sentencesOf(event)
    lines.push(`${event.time}  #${event.seq}  ${escapeLine(first)}${pause}`)
    for (const line of more) lines.push(`    ${escapeLine(line)}`)
    beforeMs = atMs
  }
  if (state === 'pending') {
    lines.push('')
    for (const { what, until } of waits)
      lines.push(`waits for ${escapeLine(what)}${until === null ? '' : ` until ${until}`}`)
    if (waits.length === 0) lines.push('waits for its turn in the queue of its host')
  }
  return lines
}

/** What an event says, the main thing first. */
function sentencesOf(event: ExplainedEvent): string[] {
  switch (event.kind) {
    case 'enqueue':
      return event.moved === true ? ['gathered with others of its host'] : foundSentences(event, 'found')
    case 'reopened':
      return foundSentences(event, 'pending again, reopened')
    case 'claim':
      return ['claimed: the request is started']
    case 'void':
      return [event.death === true ? 'given back: the process died' : 'given back: the crawl was stopped']
    case 'shorter':
    case 'relink':
      return [
        `a shorter way was found, depth ${event.depth}`,
        ...(event.from === undefined ? [] : [`on ${event.from}`]),
      ]
    case 'relinked':
      return [`its links were admitted again: ${plural(event.links as number, 'new link')}`]
    case 'refused':
      return [`refused: ${event.class}`]
    case 'fetched':
      return [`answered ${event.status}`, ...attemptSentences(event), ...linkSentences(event)]
    case 'retry':
      return [
        `attempt ${event.attempt} failed: ${classAndStatus(event)}`,
        ...attemptSentences(event),
        `next attempt ${event.due ?? 'at once'}`,
      ]
    case 'waits':
      return [
        `waited after ${plural(event.attempt as number, 'attempt')}${event.class === null ? '' : `: ${classAndStatus(event)}`}`,
        `next attempt ${event.due ?? 'at once'}`,
      ]
    case 'failed':
      if (event.class === 'host.bad' && event.until === null) return ['failed: host.bad']
      if (event.class === 'host.bad')
        return [`failed: host.bad (${event.because ?? 'its host is bad'}), until ${event.until}`]
      return [`failed: ${classAndStatus(event)}`, ...attemptSentences(event)]
    default:
      return [event.kind]
  }
}

function foundSentences(event: ExplainedEvent, verb: string): string[] {
  const depth = `depth ${event.depth}, by rule: ${event.rule}`
  const lines = [
    event.from === null || event.from === undefined
      ? `${verb} as a seed${event.source === undefined ? '' : ` in ${event.source}`}`
      : `${verb} on ${event.from}`,
    depth,
  ]
  if (Array.isArray(event.redirects))
    lines.push(`redirected by ${event.redirects.map((hop) => hop ?? '?').join(', then ')}`)
  return lines
}

function classAndStatus(event: ExplainedEvent): string {
  return event.status === null || event.status === undefined ? String(event.class) : `${event.class} (${event.status})`
}

function attemptSentences(event: ExplainedEvent): string[] {
  const lines: string[] = []
  if (typeof event.location === 'string') lines.push(`redirects to ${event.location}`)
  if (typeof event.address === 'string') {
    const { connectMs, firstByteMs, totalMs } = event
    lines.push(
      `attempt ${event.attempt} at ${event.address}: ${totalMs} ms (connection ${connectMs} ms, first byte ${firstByteMs} ms)`,
    )
  }
  if (typeof event.message === 'string') lines.push(event.message)
  if (typeof event.bodyBytes === 'number') {
    const type = event.contentType === '' ? '' : ` of ${event.contentType}`
    const decoded = event.decodedBytes === event.bodyBytes ? '' : `, ${bytes(event.decodedBytes as number)} decoded`
    lines.push(`stored ${bytes(event.bodyBytes)}${type}${decoded}${event.truncated === true ? ', cut' : ''}`)
  }
  return lines
}

function linkSentences(event: ExplainedEvent): string[] {
  const turnedAway = Object.entries(event.turnedAway as Record<string, number>)
  if (event.links === 0 && event.known === 0 && turnedAway.length === 0) return []
  const away = turnedAway.map(([reason, number]) => `${reason} ${count(number)}`).join(', ')
  return [
    `links: ${count(event.links as number)} new, ${count(event.known as number)} known${away === '' ? '' : `, turned away: ${away}`}`,
  ]
}
