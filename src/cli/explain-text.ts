/** What `explain` says to people: the story of a URL, then what is known of it now. */
import type { Explanation } from '../crawl/explain.ts'
import type { ExplainedEvent } from '../crawl/explained-event.ts'
import type { InLinks } from '../crawl/in-links.ts'
import type { RobotsVerdict } from '../crawl/robots-verdict.ts'
import type { Standing } from '../crawl/waits.ts'
import { bytes, count, duration, escapeLine, plural } from './text.ts'

/** @param isRunning  whether a process crawls in the directory */
export function explanationLines(explained: Explanation, isRunning: boolean): string[] {
  const { url, state, events, linkedFrom, robots, sameContent, compacted } = explained
  const lines = [`${escapeLine(url)} is ${state}`, '']
  if (compacted !== undefined) {
    const { until, seq } = compacted
    lines.push(`What happened up to ${until} (#${seq}) was compacted: only what counted then is told.`, '')
  }
  lines.push(...storyLines(events), '')
  if (linkedFrom !== null) lines.push(...inLinkLines(linkedFrom), '')
  lines.push(robotsLine(robots))
  if (sameContent !== null && sameContent.count > 0) {
    lines.push(`the same body as ${plural(sameContent.count, 'other URL')}`)
    lines.push(...namedLines(sameContent.urls, sameContent.count))
  }
  lines.push(...nowLines(explained, isRunning))
  return lines
}

function storyLines(events: readonly ExplainedEvent[]): string[] {
  const lines: string[] = []
  let beforeMs = 0
  for (const event of events) {
    const atMs = Date.parse(event.time)
    const pause = beforeMs === 0 || atMs - beforeMs < 1 ? '' : ` (after ${duration(atMs - beforeMs)})`
    const [first, ...more] = sentencesOf(event)
    lines.push(`${event.time}  #${event.seq}  ${escapeLine(first)}${pause}`)
    for (const line of more) lines.push(`    ${escapeLine(line)}`)
    beforeMs = atMs
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
      if (event.again === true) return ['to be looked at again: the rules became wider']
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
      if (event.class === 'host.bad' && event.until === null)
        return [`failed: host.bad (${event.because ?? 'its host was bad'})`]
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
  if (typeof event.bodyBytes === 'number') lines.push(...bodySentences(event))
  return lines
}

function bodySentences(event: ExplainedEvent): string[] {
  const type = event.contentType === '' ? '' : ` of ${event.contentType}`
  const decoded = event.decodedBytes === event.bodyBytes ? '' : `, ${bytes(event.decodedBytes as number)} decoded`
  const size = bytes(event.bodyBytes as number)
  const lines = [`stored ${size}${type}${decoded}${event.truncated === true ? ', cut' : ''}`]
  const page = placeText(event.page)
  const body = event.bodyAt === null ? 'lost' : placeText(event.bodyAt)
  lines.push(`in ${page}${body === page ? '' : `, its body in ${body}`}; SHA-256 begins with ${event.digest}`)
  return lines
}

function placeText(place: unknown): string {
  const { segment, ordinal } = place as { readonly segment: number; readonly ordinal: number }
  return `pages/${String(segment).padStart(6, '0')}, value ${ordinal}`
}

function linkSentences(event: ExplainedEvent): string[] {
  const turnedAway = Object.entries(event.turnedAway as Record<string, number>)
  if (event.links === 0 && event.known === 0 && turnedAway.length === 0) return []
  const away = turnedAway.map(([reason, number]) => `${reason} ${count(number)}`).join(', ')
  return [
    `links: ${count(event.links as number)} new, ${count(event.known as number)} known${away === '' ? '' : `, turned away: ${away}`}`,
  ]
}

function inLinkLines({ count: total, pages, isComplete }: InLinks): string[] {
  const lines = [total === 0 ? 'no page links to it' : `linked from ${plural(total, 'page')}`]
  if (!isComplete) lines[0] = `${lines[0]} at least: the crawl keeps no link graph (--no-graph)`
  const named = pages.map(
    ({ url, depth, how }) => `${url} (depth ${depth}${how === 'redirect' ? ', redirects to it' : ''})`,
  )
  return [...lines, ...namedLines(named, total)]
}

function namedLines(named: readonly string[], total: number): string[] {
  const lines = named.map((line) => `    ${escapeLine(line)}`)
  if (total > named.length) lines.push(`    and ${count(total - named.length)} more`)
  return lines
}

const VERDICT_TEXT: Readonly<Record<string, string>> = {
  ignored: 'is not obeyed (--no-robots)',
  unknown: 'has not been answered yet',
  allowed: 'allows it',
  denied: 'forbids it',
  held: 'could not be had, and is asked for again',
  unreachable: 'could not be had: the URL is not to be fetched',
}

function robotsLine({ verdict, status, time, until, delayMs }: RobotsVerdict): string {
  const answered = time === null ? '' : ` (${status === null ? 'no answer' : status} at ${time}, until ${until})`
  const delay = delayMs === 0 ? '' : `; it asks for ${duration(delayMs)} between requests`
  return `robots.txt ${VERDICT_TEXT[verdict] ?? verdict}${answered}${delay}`
}

function nowLines({ state, waits, standing }: Explanation, isRunning: boolean): string[] {
  if (state === 'processing') return [isRunning ? 'in flight' : 'in flight when the process died; `resume` fetches it']
  if (state !== 'pending') return []
  const lines = waits.map(
    ({ what, until }) => `waits for ${escapeLine(what)}${until === null ? '' : ` until ${until}`}`,
  )
  if (standing !== undefined) lines.push(`waits ${standingText(standing)}`)
  if (!isRunning) lines.push('nobody crawls here now; `resume` goes on')
  return lines
}

function standingText({ class: name, bulksAhead }: Standing): string {
  if (name === 'returned') return 'before the queue of its host, for it was tried before'
  if (name === 'suspect') return 'for all others: the process died again and again while it was in flight'
  const queue = name === 'preferred' ? 'preferred queue' : 'queue'
  const ahead = bulksAhead === 0 ? 'among the first' : `behind ${plural(bulksAhead, 'bulk')} of up to 128 URLs`
  return `for its turn in the ${queue} of its host, ${ahead}`
}
