/** The last lines of a crawl: what happened, what failed and why, what was not taken, and what to do next. */
import { REASONS, type Reason } from '../core/reasons.ts'
import type { FirstTrouble } from '../crawl/first-trouble.ts'
import type { CrawlEnd } from '../crawl/running.ts'
import { bytes, count, duration, escapeLine, plural, rate, shellWord, table, WIDTH, wrap } from './text.ts'

export interface CrawlFigures {
  readonly end: CrawlEnd
  readonly root: string
  readonly act: 'start' | 'resume' | 'resume-finished'
  /** This run's. */
  readonly runMs: number
  /** Pages had over the life of the crawl, and by this run. */
  readonly pages: number
  readonly newPages: number
  /** Failures and refusals by word, over the life of the crawl, most frequent first. */
  readonly reasons: ReadonlyArray<readonly [string, number]>
  /** Where not one page was had. */
  readonly firstTrouble: FirstTrouble | undefined
}

/** Fewer pages than this make one wonder: then the options that would change it are named. */
const FEW_PAGES = 10
/** Reasons named on one line. */
const REASONS_SHOWN = 8

/** Several lines, without a line feed at the end. */
export function summaryOf(figures: CrawlFigures): string {
  const { act, root, pages, end, reasons } = figures
  const dir = root === 'logs/default' ? '' : ` ${shellWord(root)}`
  if (act === 'resume-finished' && end.kind === 'finished') {
    return `crawler: the crawl in ${shellWord(root)} is finished: ${plural(pages, 'page')}, nothing was left to do`
  }
  const lines = [headline(figures)]
  const failures = reasons.filter(([word]) => isFailure(word))
  const refusals = reasons.filter(([word]) => !isFailure(word))
  if (failures.length > 0) lines.push(reasonLine('failures', failures))
  if (refusals.length > 0) lines.push(reasonLine('not taken', refusals))
  if (pages === 0 && end.kind === 'finished') lines.push(`  not one page was had: ${firstReason(figures)}`)
  if (pages < FEW_PAGES && end.status.finished) lines.push(...remedies(withFirst(figures)))
  lines.push(`  next: ${nextCommand(figures, dir)}`)
  return lines.join('\n')
}

function firstReason({ firstTrouble }: CrawlFigures): string {
  if (firstTrouble === undefined) return 'there was no seed'
  const { reason, where, message } = firstTrouble
  return escapeLine(`${reason ?? 'refused'} at ${where}${message === '' ? '' : ` (${message})`}`)
}

/** The reason why a host is bad stands in no count, but is what can be changed. */
function withFirst({ reasons, firstTrouble }: CrawlFigures): ReadonlyArray<readonly [string, number]> {
  const reason = firstTrouble?.reason
  return reason === undefined || reasons.some(([word]) => word === reason) ? reasons : [[reason, 1], ...reasons]
}

function headline({ end, runMs, newPages, pages, act }: CrawlFigures): string {
  const { status } = end
  const before = act === 'start' ? '' : ` of ${count(pages)} in all`
  const how = end.kind === 'finished' ? 'finished' : `stopped: ${end.reason}`
  const speed = rate((newPages * 1000) / Math.max(1, runMs))
  const parts = [
    `${plural(newPages, 'page')}${before} in ${duration(runMs)} (${speed}/s)`,
    `${count(status.done)} done`,
    `${count(status.failed)} failed`,
    `${count(status.refused)} refused`,
    `${count(status.pending)} pending`,
    bytes(status.bytes),
  ]
  return `crawler: ${how}\n${indented(parts.join(', '))}`
}

function reasonLine(title: string, reasons: ReadonlyArray<readonly [string, number]>): string {
  const shown = reasons.slice(0, REASONS_SHOWN).map(([word, number]) => `${word} ${count(number)}`)
  const rest = reasons.length - shown.length
  return indented(`${title}: ${shown.join(', ')}${rest > 0 ? `, ${rest} more` : ''}`)
}

/** Lines that fit the screen, set in; what goes on is set in further. */
function indented(text: string): string {
  return `  ${wrap(text, WIDTH - 4).join('\n    ')}`
}

/** Numbers below this are failures, those from it on refusals: see core/reasons.ts. */
const FIRST_REFUSAL = REASONS['robots.denied']

function isFailure(word: string): boolean {
  return word in REASONS && REASONS[word as Reason] < FIRST_REFUSAL
}

/** What would change each outcome, where an option can. */
const REMEDIES: Readonly<Partial<Record<Reason, string>>> = {
  'dns.notfound': 'check the name, or ask another server: --dns-server',
  'dns.temporary': 'crawler retry --class dns, or --dns-server',
  'connect.refused': 'check host and port; crawler retry --class connect',
  'connect.reset': 'crawler retry --class connect; --retries',
  'connect.unreachable': 'check the network; crawler retry --class connect',
  'tls.invalid': '--insecure accepts bad certificates',
  timeout: '--timeout, --connect-timeout; crawler retry --class timeout',
  'http.too-large': '--body-max',
  'http.headers-too-large': '--header-max',
  'redirect.limit': '--redirects',
  'host.bad': 'crawler retry --class host.bad',
  'robots.denied': "the site's robots.txt forbids it; where you may: --no-robots",
  'robots.unreachable': 'robots.txt could not be had; where you may: --no-robots',
  'robots.nofollow': 'the page asks not to follow; where you may: --no-robots',
  'robots.noindex': 'the page asks not to be kept; where you may: --no-robots',
  'link.nofollow': 'rel=nofollow; where you may: --no-robots',
  'address.forbidden': '--allow-private ADDRESS, CIDR or HOST:PORT',
  'url.length': '--url-max',
  'scope.host': '--scope domain, or --scope any',
  'scope.domain': '--scope any',
  'scope.prefix': '--scope host',
  include: '--include',
  exclude: '--exclude',
  depth: '--depth',
  extension: '--skip-extensions',
  'budget.pages': '--max-pages',
  'budget.bytes': '--max-bytes',
  'budget.time': '--max-time',
  'budget.host': '--max-pages under hosts, in a --config file',
  'budget.links': '--links-max',
}

function remedies(reasons: ReadonlyArray<readonly [string, number]>): string[] {
  const rows = reasons
    .filter(([word]) => REMEDIES[word as Reason] !== undefined)
    .map(([word, number]) => [`    ${word}`, count(number), REMEDIES[word as Reason] as string])
  return rows.length === 0 ? [] : ['  what would change it:', ...table(rows, [1])]
}

function nextCommand({ end }: CrawlFigures, dir: string): string {
  if (end.kind === 'disk-full') return `free some space, then crawler resume${dir}`
  if (end.kind === 'limit' && !end.status.finished)
    return `crawler resume${dir} ${end.reason.split(' ')[0]} N, with a higher N`
  if (!end.status.finished) return `crawler resume${dir}`
  return end.status.failed > 0 ? `crawler urls${dir} --state failed --json` : `crawler urls${dir}`
}
