/** `verify [DIR] --repair`: what was damaged is set aside, the crawl goes on from what is left, and what is gone is told. */
import { decodeContent } from '../adapters/content.ts'
import type { LostRange } from '../core/repaired.ts'
import { layoutOf } from '../crawl/layout.ts'
import { repairDir } from '../crawl/repair-dir.ts'
import type { Repair, RepairStep } from '../crawl/repairing.ts'
import { ROLE, valName } from '../log/format.ts'
import { dirOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog } from './crawl-log.ts'
import { stepProgress } from './step-progress.ts'
import { bytes, escapeLine, plural } from './text.ts'

const STEP_WORDS: Readonly<Record<RepairStep, string>> = { pages: 'reading pages', events: 'writing the log anew' }
/** Names shown; the rest stands in the files. */
const SHOWN_MAX = 20

/**
 * Repairs, and says on stdout what was done, unless `--json`.
 * @returns what `--json` adds to the line of `verify`
 */
export function runRepair(args: Arguments): { readonly repair: Repair } {
  const root = dirOf(args)
  const progress = stepProgress(STEP_WORDS)
  const repair = repairDir(root, decodeContent, progress.onProgress)
  progress.end()
  if (repair.isRepaired) createCrawlLog(layoutOf(root).log).write('warn', 'repair', { ...repair })
  if (!args.isJson) process.stdout.write(`${sentencesOf(repair).map(escapeLine).join('\n')}\n`)
  return { repair }
}

function sentencesOf(repair: Repair): string[] {
  const { isRepaired, lost, notes, aside, folder } = repair
  if (!isRepaired) return ['nothing to repair']
  const lines = [...notes, ...lost.map(rangeLine)]
  if (lost.length > 0) lines.push(...lossLines(repair))
  else if (repair.counts.pages === 0) lines.push('nothing is lost')
  if (aside.length > 0) lines.push(`set aside: ${aside.join(', ')}`)
  if (folder !== '' && hasLists(repair)) lines.push(`all that is named here, and the rest, is in ${folder}`)
  if (lost.length > 0 || repair.counts.urls > 0) lines.push('`crawler resume` goes on, and fetches again what is gone')
  return lines
}

function hasLists({ urls, pages, hostFacts }: Repair): boolean {
  return urls.length + pages.length + hostFacts.length > 0
}

function rangeLine(range: LostRange): string {
  const { log, segment, offset, records, fromSequence, toSequence, fromMs, toMs } = range
  const where = `${log === ROLE.events ? 'log' : 'pages'}/${valName(segment)}`
  const size = range.bytes > 0 ? `, ${bytes(range.bytes)}` : ''
  const many = records === undefined ? '' : `, ${plural(records, 'record')}`
  const isKnown = log === ROLE.events && fromSequence > 0 && toSequence > 0
  const last = toSequence > fromSequence ? ` to ${toSequence}` : ''
  const numbers = isKnown ? ` (number ${fromSequence}${last})` : ''
  return `lost: ${where} from offset ${offset}${size}${many}${numbers}${timesOf(fromMs, toMs)}`
}

function timesOf(fromMs: number, toMs: number): string {
  const after = fromMs > 0 ? `, after ${new Date(fromMs).toISOString()}` : ''
  return toMs > 0 ? `${after}, before ${new Date(toMs).toISOString()}` : after
}

function lossLines({ counts, unindexed, urls, pages, hostFacts, settingsFrom }: Repair): string[] {
  const { forgotten, settings, seeds, checkpoints } = counts
  return [
    ...listed(counts.pages, 'page whose body is gone', 'pages whose bodies are gone', pages),
    ...listed(counts.urls, 'URL is pending again', 'URLs are pending again', urls),
    ...listed(counts.hostFacts, 'fact of a host is asked for again', 'facts of hosts are asked for again', hostFacts),
    ...(forgotten > 0
      ? [`${plural(forgotten, 'URL')} known only by links that are gone; found again with their pages`]
      : []),
    ...(settings > 0 ? [settingsLine(settings, settingsFrom)] : []),
    ...(seeds > 0 ? [`${plural(seeds, 'record')} of seeds gone; those lines are read again`] : []),
    ...(checkpoints > 0 ? [`${plural(checkpoints, 'checkpoint')} of the log before given up`] : []),
    ...(unindexed > 0
      ? [`of ${plural(unindexed, 'lost range')} KEY tells nothing: more may be gone than is named`]
      : []),
  ]
}

function settingsLine(records: number, from: Repair['settingsFrom']): string {
  const now = { log: 'those before hold', checkpoint: 'those of a checkpoint hold', defaults: 'the defaults hold' }[
    from
  ]
  return `${plural(records, 'record')} of settings gone: ${now}; give \`crawler resume\` what should differ`
}

function listed(number: number, one: string, many: string, names: readonly string[]): string[] {
  if (number === 0) return []
  const shown = names.slice(0, SHOWN_MAX).map((name) => `  ${name}`)
  const rest = number > shown.length ? [`  … and ${plural(number - shown.length, 'more', 'more')}`] : []
  return [`${plural(number, one, many)}:`, ...shown, ...rest]
}
