/**
 * `replay [DIR] --until TS|@SEQ`: counts and digest as of an instant; with `--fork NEWDIR` a crawl of its own that goes on
 * from there, under other rules if some are given; with `--what-if` what would be different under other rules.
 */
import type { Settings } from '../core/settings.ts'
import { checkForkTarget, forkCrawl } from '../crawl/forking.ts'
import type { Layout } from '../crawl/layout.ts'
import { closeLogs, type Until } from '../crawl/reading.ts'
import type { Status } from '../crawl/status.ts'
import { textOf } from './arguments.ts'
import { chosenSettings, refuseFixed } from './choosing.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog } from './crawl-log.ts'
import { listenerOf } from './crawling.ts'
import { EXIT, usageError } from './errors.ts'
import { crawlNamed, openPast, withPast } from './reading.ts'
import { settingOptions } from './setting-flags.ts'
import { count, duration, escapeLine, jsonLine, shellWord, table } from './text.ts'
import { parseUntil } from './until.ts'
import { runWhatIf } from './what-if.ts'

export async function run(args: Arguments): Promise<number> {
  const { layout, crawl } = crawlNamed(args)
  const text = textOf(args, 'until')
  const until = text === undefined ? undefined : parseUntil(text, crawl.settings.shards)
  const fork = textOf(args, 'fork')
  if (args.values['what-if'] === true) {
    if (fork !== undefined) throw usageError('--what-if makes no fork.', 'Leave one of the two out.')
    return runWhatIf(args, layout, until)
  }
  if (fork !== undefined) return forkInto(args, layout, until, fork)
  refuseSettings(args)
  const startedMs = performance.now()
  const { status, items } = withPast(layout, ({ status, items }) => ({ status, items }), until)
  const tookMs = Math.max(1, performance.now() - startedMs)
  printStatus(args, status)
  process.stderr.write(
    `crawler: ${count(items)} items replayed in ${duration(tookMs)}, ${count((items * 1000) / tookMs)} a second\n`,
  )
  return EXIT.done
}

/** Rules are for what would be done under them; a past is what it was. Errors: USAGE. */
function refuseSettings(args: Arguments): void {
  const names = Object.keys({ ...settingOptions(), config: '' })
  const given = names.find((name) => args.values[name] !== undefined)
  if (given !== undefined) {
    throw usageError(
      `--${given} changes nothing of the past.`,
      'Leave it out, or say what for: --fork NEWDIR, or --what-if.',
    )
  }
}

async function forkInto(args: Arguments, layout: Layout, until: Until | undefined, root: string): Promise<number> {
  checkForkTarget(root)
  const changes: Partial<Settings> = chosenSettings(args)
  const past = openPast(layout, until)
  try {
    if (past.state.settingsJson === '') throw usageError('At that instant there was no crawl yet.', 'Name a later one.')
    refuseFixed(past.state.settings, changes)
    const log = createCrawlLog(`${root}/crawler.log`)
    const { sequence, timeMs } = past.cut
    const status = await forkCrawl(layout, past, root, changes, listenerOf(log))
    log.write('info', 'fork', { parent: layout.root, sequence, timeMs })
    printStatus(args, status)
    process.stderr.write(
      `crawler: forked at record ${sequence} into ${escapeLine(root)}; \`crawler resume ${shellWord(root)}\` goes on\n`,
    )
    return EXIT.done
  } finally {
    closeLogs(past.logs)
  }
}

function printStatus(args: Arguments, status: Status): void {
  process.stdout.write(args.isJson ? `${jsonLine(status)}\n` : `${figuresOf(status).join('\n')}\n`)
}

/** All figures of a status as aligned lines. */
function figuresOf(status: Status): string[] {
  const rows = Object.entries(status).map(([name, value]) => [
    name,
    typeof value === 'number' ? count(value) : String(value),
  ])
  return table(rows)
}
