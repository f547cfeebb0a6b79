/** `verify [DIR]`: reads everything and says what is damaged; exit 4 where something is. With `--repair`: see repair.ts. */
import { decodeContent } from '../adapters/content.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { layoutOf } from '../crawl/layout.ts'
import type { Trouble } from '../crawl/trouble.ts'
import { type CrawlVerification, verifyCrawl } from '../crawl/verifying.ts'
import { dirOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { EXIT } from './errors.ts'
import { runRepair } from './repair.ts'
import { count, escapeLine, jsonLine, plural } from './text.ts'

export async function run(args: Arguments): Promise<number> {
  const repaired = args.values['repair'] === true ? runRepair(args) : undefined
  // What a repair leaves is verified like anything else.
  const verification = verifyCrawl(nodeDisk, layoutOf(dirOf(args)), decodeContent)
  const isDamaged = verification.troubles.some(({ isDamage }) => isDamage)
  if (args.isJson) {
    const { status, ...facts } = verification
    process.stdout.write(
      `${jsonLine({ ok: !isDamaged, ...facts, digest: status?.digest ?? null, seq: status?.seq ?? null, ...repaired })}\n`,
    )
  } else process.stdout.write(textOf(verification, isDamaged))
  return isDamaged ? EXIT.corrupt : EXIT.done
}

function textOf(
  { troubles, records, pageRecords, pagesChecked, status }: CrawlVerification,
  isDamaged: boolean,
): string {
  const lines = troubles.map(troubleLine)
  lines.push(
    `${plural(records, 'record')} of events, ${plural(pageRecords, 'record')} of pages, ${plural(pagesChecked, 'page')} hashed`,
  )
  if (status !== undefined && !isDamaged) {
    lines.push(`${count(status.seen)} URLs accounted for, digest ${status.digest}`, 'all is well')
  } else lines.push(HINT)
  return `${lines.join('\n')}\n`
}

const HINT = 'There is damage. Keep a copy of the directory, then run `crawler verify DIR --repair`.'

function troubleLine({ where, isDamage, message, segment, offset }: Trouble): string {
  const place = segment === null || message.includes('ffset') ? '' : ` (segment ${segment}, offset ${offset})`
  return `${isDamage ? 'damaged' : 'note'}: ${where}: ${escapeLine(message)}${place}`
}
