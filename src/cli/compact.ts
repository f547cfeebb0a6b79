/** `compact [DIR]`: the history up to an instant gives way to the state it led to. */
import { parseDurationMs } from '../core/units.ts'
import { type CompactionReport, compactCrawl } from '../crawl/compacting.ts'
import { layoutOf } from '../crawl/layout.ts'
import type { CompactionStep } from '../shard/compaction.ts'
import { dirOf, textOf } from './arguments.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { createCrawlLog } from './crawl-log.ts'
import { EXIT, usageError } from './errors.ts'
import { crawlNamed } from './reading.ts'
import { stepProgress } from './step-progress.ts'
import { bytes, escapeLine, jsonLine, plural } from './text.ts'
import { parseInstant } from './until.ts'

export async function run(args: Arguments): Promise<number> {
  const root = dirOf(args)
  const keepMs = keepOf(textOf(args, 'keep'), Date.now())
  crawlNamed(args)
  const log = createCrawlLog(layoutOf(root).log)
  const live = (await ask(root, { do: 'compact', keepMs })) as CompactionReport | undefined
  const report = live ?? compactStopped(root, keepMs, log)
  log.write('info', 'compact', { ...report })
  process.stdout.write(args.isJson ? `${jsonLine(report)}\n` : `${sentencesOf(report).join('\n')}\n`)
  return EXIT.done
}

function compactStopped(
  root: string,
  keepMs: number | undefined,
  log: ReturnType<typeof createCrawlLog>,
): CompactionReport {
  const progress = stepProgress(STEP_WORDS)
  const report = compactCrawl(root, keepMs, {
    onMessage: (message) => {
      log.write('warn', message)
      process.stderr.write(`crawler: ${escapeLine(message)}\n`)
    },
    onProgress: progress.onProgress,
  })
  progress.end()
  return report
}

/** A duration back from now, or an instant. Errors: USAGE. */
function keepOf(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  // A long bare number is an instant in milliseconds, not a duration of centuries.
  const durationMs = /^\d{11,}$/.test(text.trim()) ? undefined : parseDurationMs(text)
  if (durationMs !== undefined) return nowMs - durationMs
  const timeMs = parseInstant(text)
  if (timeMs !== undefined) return timeMs
  throw usageError(
    `--keep is ${JSON.stringify(text)}, which is neither a duration nor an instant.`,
    'It must be a duration such as 12h, or a time such as 2026-05-01T12:00:00Z or epoch milliseconds.',
  )
}

function sentencesOf({
  compacted,
  why,
  bytesBefore,
  bytesAfter,
  pagesEmptied,
  earliest,
  earliestSeq,
  running,
}: CompactionReport): string[] {
  const reach = earliest === null ? 'all of the past' : `${earliest} (@${earliestSeq})`
  if (!compacted) return [`nothing was compacted: ${why}`, `--until reaches back to ${reach}`]
  const emptied = pagesEmptied === 0 ? '' : `, ${plural(pagesEmptied, 'page')} that nothing referred to emptied`
  const until = running ? ['the running crawl still reads the old files; they go when it ends'] : []
  return [
    `${bytes(bytesBefore)} before, ${bytes(bytesAfter)} after${emptied}`,
    ...until,
    `--until reaches back to ${reach}`,
  ]
}

const STEP_WORDS: Readonly<Record<CompactionStep, string>> = {
  replay: 'replaying',
  write: 'compacting',
  check: 'checking',
}
