/** `explain URL [DIR]`: all that happened to one URL; of one that the crawl has not, the rule that turned or turns it away. */
import { decodeContent } from '../adapters/content.ts'
import { readOwner } from '../adapters/lock.ts'
import type { UrlCheck } from '../crawl/checking.ts'
import { explainUrl } from '../crawl/explain.ts'
import { type TurnedAway, turnedAwayOf } from '../crawl/turned-away.ts'
import { textOf } from './arguments.ts'
import { checkNow } from './check.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { explanationLines } from './explain-text.ts'
import { scanProgress } from './progress.ts'
import { crawlNamed, urlNamed, withLogs } from './reading.ts'
import { jsonLine } from './text.ts'
import { reportUnknown } from './unknown.ts'

export async function run(args: Arguments): Promise<number> {
  const linksNamedMax = linksMaxOf(textOf(args, 'links-max'))
  const { root, layout, crawl } = crawlNamed(args)
  const { settings } = crawl
  const url = urlNamed(args, crawl)
  const isRunning = readOwner(root) !== undefined
  const progress = scanProgress('looking for links')
  const options = { settings, nowMs: Date.now(), decode: decodeContent, linksNamedMax, onProgress: progress.on }
  const wantsLinks = args.values.links !== false
  const explanation = withLogs(layout, (logs) => explainUrl(logs, url, { ...options, wantsLinks }))
  progress.end()
  if (explanation === undefined) {
    let away: TurnedAway | undefined
    if (settings.keepRefused && wantsLinks) {
      away = withLogs(layout, ({ events, end }) => turnedAwayOf(events, end, url, progress.on))
      progress.end()
    }
    const isOnlyCounted = !settings.keepRefused
    return reportUnknown(url, root, args.isJson, { away, isOnlyCounted, check: await ruleNow(args, url) })
  }
  const { waits, standing, ...facts } = explanation
  const json = explanation.state === 'pending' ? { ...facts, waits, standing } : facts
  process.stdout.write(args.isJson ? `${jsonLine(json)}\n` : `${explanationLines(explanation, isRunning).join('\n')}\n`)
  return EXIT.done
}

/** What the rules would do with a URL now; undefined where it could be none. */
async function ruleNow(args: Arguments, url: string): Promise<UrlCheck | undefined> {
  const check = await checkNow(args, url)
  return 'refused' in check ? undefined : check
}

/** Errors: USAGE. */
function linksMaxOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw usageError(`--links-max is ${JSON.stringify(text)}.`, 'It must be a whole number.')
}
