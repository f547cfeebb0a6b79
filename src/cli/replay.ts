/** `replay [DIR] --until TS|@SEQ`: counts and digest as of an instant. */
import type { Status } from '../crawl/status.ts'
import { textOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { EXIT } from './errors.ts'
import { crawlNamed, withPast } from './reading.ts'
import { count, duration, jsonLine, table } from './text.ts'
import { parseUntil } from './until.ts'

export async function run(args: Arguments): Promise<number> {
  const { layout, crawl } = crawlNamed(args)
  const text = textOf(args, 'until')
  const until = text === undefined ? undefined : parseUntil(text, crawl.settings.shards)
  const startedMs = performance.now()
  const { status, items } = withPast(layout, ({ status, items }) => ({ status, items }), until)
  const tookMs = Math.max(1, performance.now() - startedMs)
  process.stdout.write(args.isJson ? `${jsonLine(status)}\n` : `${figuresOf(status).join('\n')}\n`)
  process.stderr.write(
    `crawler: ${count(items)} items replayed in ${duration(tookMs)}, ${count((items * 1000) / tookMs)} a second\n`,
  )
  return EXIT.done
}

/** All figures of a status as aligned lines. */
function figuresOf(status: Status): string[] {
  const rows = Object.entries(status).map(([name, value]) => [
    name,
    typeof value === 'number' ? count(value) : String(value),
  ])
  return table(rows)
}
