/** `retry [DIR]`: failed URLs back to pending, in a running crawl or a stopped one. */
import { REASONS, type Reason } from '../core/reasons.ts'
import { retryIn } from '../crawl/retrying.ts'
import { resumeCrawl } from '../crawl/starting.ts'
import { isClass } from '../crawl/urls.ts'
import { textOf } from './arguments.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog } from './crawl-log.ts'
import { listenerOf } from './crawling.ts'
import { EXIT, usageError } from './errors.ts'
import { crawlNamed, expressionOf } from './reading.ts'
import { jsonLine, plural, shellWord } from './text.ts'
import { classOf } from './url-filter.ts'

export async function run(args: Arguments): Promise<number> {
  const wanted = classOf(textOf(args, 'class'))
  if (wanted !== undefined) refuseRefusals(wanted)
  const match = textOf(args, 'match')
  expressionOf('match', match)
  const { root, layout } = crawlNamed(args)
  const log = createCrawlLog(layout.log)
  const live = (await ask(root, { do: 'retry', class: wanted, match })) as { reopened: number } | undefined
  const reopened = live?.reopened ?? (await retryStopped(root, { class: wanted, match }, log))
  log.write('info', 'retry', { class: wanted ?? null, match: match ?? null, reopened })
  if (args.isJson) process.stdout.write(`${jsonLine({ reopened, running: live !== undefined })}\n`)
  else {
    const next = live !== undefined || reopened === 0 ? '' : `; \`crawler resume ${shellWord(root)}\` goes on`
    process.stdout.write(`${plural(reopened, 'URL is', 'URLs are')} pending again${next}\n`)
  }
  return EXIT.done
}

async function retryStopped(
  root: string,
  filter: { readonly class: string | undefined; readonly match: string | undefined },
  log: ReturnType<typeof createCrawlLog>,
): Promise<number> {
  const open = await resumeCrawl(root, {}, listenerOf(log), 'retry')
  try {
    return (await retryIn(open.crawl, filter)).reopened
  } finally {
    await open.close()
  }
}

/** A refused URL was turned away by a rule: trying again changes nothing, changing the rule does. */
function refuseRefusals(wanted: string): void {
  const words = (Object.keys(REASONS) as Reason[]).filter((reason) => isClass(reason, wanted))
  if (words.some((word) => REASONS[word] < REASONS['robots.denied'])) return
  throw usageError(
    `${wanted} is no failure but a refusal, which is not tried again.`,
    'Change the rule with `crawler resume`, then name the URLs to `crawler add`.',
  )
}
