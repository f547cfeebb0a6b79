/** `replay [DIR] --what-if` and rules: how the coverage would differ, without a request. */
import { decodeContent } from '../adapters/content.ts'
import { SETTING_OPTIONS } from '../core/setting-options.ts'
import { changeSettings, type Settings } from '../core/settings.ts'
import type { Layout } from '../crawl/layout.ts'
import { closeLogs, type PastCrawl, type Until } from '../crawl/reading.ts'
import { readSeeds, seedSourcePath, seedSources } from '../crawl/seeds.ts'
import { type Coverage, type Difference, type WhatIf, whatIf } from '../crawl/what-if.ts'
import { chosenSettings, refuseFixed } from './choosing.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { replayProgress } from './progress.ts'
import { openPast } from './reading.ts'
import { bytes, count, escapeLine, jsonLine, plural, table } from './text.ts'

/** What says which URLs there are. Of the others a log cannot tell what they would have changed. */
const RULES: ReadonlyArray<keyof Settings> = [
  'scope',
  'depthMax',
  'include',
  'exclude',
  'skipExtensions',
  'urlBytesMax',
  'linksMax',
  'pagesMax',
  'bytesMax',
  'robots',
  'hosts',
]

export async function runWhatIf(args: Arguments, layout: Layout, until: Until | undefined): Promise<number> {
  const changes = chosenSettings(args)
  const keys = Object.keys(changes) as Array<keyof Settings>
  if (keys.length === 0) throw usageError('--what-if needs rules.', `Give some: ${rulesShown()}.`)
  const other = keys.find((key) => !RULES.includes(key))
  if (other !== undefined) {
    const name = SETTING_OPTIONS[other].option
    throw usageError(`What --${name} would have changed no log can tell.`, `Leave it out. Rules are ${rulesShown()}.`)
  }
  const past = openPast(layout, until)
  try {
    refuseFixed(past.state.settings, changes)
    const progress = replayProgress('reading pages')
    const after = changeSettings(past.state.settings, changes)
    const result = await whatIf(past, seedsOf(layout, past, after), after, decodeContent, progress.onReplay)
    progress.end()
    process.stdout.write(args.isJson ? `${jsonLine(result)}\n` : `${linesOf(result).join('\n')}\n`)
    return EXIT.done
  } finally {
    closeLogs(past.logs)
  }
}

function rulesShown(): string {
  return RULES.map((key) => `--${SETTING_OPTIONS[key].option}`).join(', ')
}

/** The seeds that the log had heard of, batch by batch. */
async function* seedsOf(layout: Layout, { state }: PastCrawl, settings: Settings): AsyncGenerator<readonly string[]> {
  for (const source of seedSources(layout.seeds)) {
    if (state.seeds[source] === undefined) continue
    for await (const { urls } of readSeeds(seedSourcePath(layout.seeds, source), 0, settings)) yield urls
  }
}

function linesOf({ before, after, lost, gained, pending }: WhatIf): string[] {
  const row = (name: string, { crawled, pages, bytes: received }: Coverage): string[] => {
    return [name, `${count(crawled)} crawled`, plural(pages, 'page'), bytes(received)]
  }
  const lines = table([row('as it was', before), row('under these rules', after)], [1, 2, 3])
  lines.push('', `${plural(lost.urls, 'URL')} would not have been crawled${colon(lost)}`, ...reasonsOf(lost))
  lines.push('', `${plural(gained.urls, 'URL')} more would have been let in${colon(gained)}`, ...reasonsOf(gained))
  if (gained.urls > 0) lines.push('  What they would have led to is not known.')
  if (pending > 0) lines.push('', `${plural(pending, 'URL')} pending, as before.`)
  return lines
}

function colon({ urls }: Difference): string {
  return urls > 0 ? ':' : '.'
}

function reasonsOf({ byReason, first, urls }: Difference): string[] {
  const counted = Object.entries(byReason).sort((a, b) => b[1] - a[1])
  const lines = table(
    counted.map(([reason, times]) => [`  ${reason}`, count(times)]),
    [1],
  )
  for (const { url, reason } of first) lines.push(`    ${escapeLine(url)}  (${reason})`)
  if (urls > first.length) lines.push(`    and ${count(urls - first.length)} more`)
  return lines
}
