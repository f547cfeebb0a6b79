/** `export FORMAT [DIR]`: the crawl in a form that other programs read. A format takes the rows of crawl/export.ts. */
import { decodeContent } from '../adapters/content.ts'
import { nearestName } from '../core/nearest-name.ts'
import { type BodyForm, type ExportRow, forEachRow } from '../crawl/export.ts'
import type { Until } from '../crawl/reading.ts'
import { textOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { closeExportFile, openExportFile } from './export-file.ts'
import { Output } from './output.ts'
import { scanProgress } from './progress.ts'
import { crawlNamed, withPast } from './reading.ts'
import { escapeLine, jsonLine, plural } from './text.ts'
import { parseUntil } from './until.ts'
import { filterOf } from './url-filter.ts'

/** How a format writes a row. */
const FORMATS: Readonly<Record<string, (row: ExportRow) => string>> = { jsonl: jsonLine }
const BODY_FORMS: readonly BodyForm[] = ['auto', 'text', 'base64', 'none']

export async function run(args: Arguments): Promise<number> {
  const write = FORMATS[wordOf('format', args.positionals.FORMAT[0], Object.keys(FORMATS))]
  const filter = filterOf(args)
  const body = wordOf('--body', textOf(args, 'body') ?? 'auto', BODY_FORMS)
  const { layout, crawl } = crawlNamed(args)
  const since = sinceOf(args, crawl.settings.shards)
  const path = textOf(args, 'out')
  const file = path === undefined ? undefined : openExportFile(path)
  const output = new Output(file?.fd)
  const progress = scanProgress('exporting')
  const common = { settings: crawl.settings, decode: decodeContent, onProgress: progress.on }
  let rows = 0
  withPast(layout, (past) =>
    forEachRow(past, { ...common, filter, body, since, behind: file?.last }, (row) => {
      output.line(write(row))
      rows++
    }),
  )
  output.flush()
  progress.end()
  if (file !== undefined) closeExportFile(file.fd)
  if (path !== undefined) process.stderr.write(`crawler: ${plural(rows, 'URL')} ${addedTo(path, file?.last)}\n`)
  return EXIT.done
}

function addedTo(path: string, last: unknown): string {
  return last === undefined ? `exported to ${escapeLine(path)}` : `added to ${escapeLine(path)}`
}

/** One of some words. Errors: USAGE with the near one. */
function wordOf<Word extends string>(what: string, word: string, known: readonly Word[]): Word {
  const found = known.find((candidate) => candidate === word)
  if (found !== undefined) return found
  const near = nearestName(word, known)
  const hint = near === undefined ? `It must be one of ${known.join(', ')}.` : `Did you mean ${near}?`
  throw usageError(`${JSON.stringify(word)} is no ${what} of \`crawler export\`.`, hint)
}

function sinceOf(args: Arguments, shardCount: number): Until | undefined {
  const text = textOf(args, 'since')
  return text === undefined ? undefined : parseUntil(text, shardCount, '--since')
}
