/** `list [LOGS]`: the crawls in a folder, each with its counts. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { nodeDisk } from '../adapters/disk.ts'
import { CrawlError } from '../base/errors.ts'
import { layoutOf } from '../crawl/layout.ts'
import { crawlIn } from '../crawl/reading.ts'
import type { Status } from '../crawl/status.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { statusOfFiles } from './status.ts'
import { bytes, count, escapeLine, jsonLine, table } from './text.ts'

interface Listed {
  readonly dir: string
  /** `running`, `finished`, `stopped`, `died`, `damaged`. */
  readonly state: string
  readonly status: Status | undefined
  /** Why the figures could not be had; ''. */
  readonly message: string
}

const LOGS_DEFAULT = 'logs'

export async function run(args: Arguments): Promise<number> {
  const folder = args.positionals.LOGS[0] ?? LOGS_DEFAULT
  const crawls: Listed[] = []
  for (const dir of crawlDirs(folder)) crawls.push(await look(dir))
  if (args.isJson) {
    for (const { dir, state, status, message } of crawls) {
      process.stdout.write(`${jsonLine({ dir, state, ...(message === '' ? {} : { message }), ...status })}\n`)
    }
  } else if (crawls.length === 0) process.stderr.write(`crawler: there is no crawl in ${escapeLine(folder)}\n`)
  else process.stdout.write(`${rowsOf(crawls).join('\n')}\n`)
  return EXIT.done
}

/** Folders below one that hold a crawl, and the folder itself if it does. Errors: USAGE where it cannot be read. */
function crawlDirs(folder: string): string[] {
  let names: string[]
  try {
    names = readdirSync(folder).sort()
  } catch (error) {
    throw usageError(`${folder} cannot be read: ${(error as Error).message}`, 'Name the folder of the crawls.')
  }
  return [folder, ...names.map((name) => join(folder, name))].filter((dir) => existsSync(layoutOf(dir).shard(0)))
}

async function look(dir: string): Promise<Listed> {
  try {
    const live = (await ask(dir, { do: 'status' })) as Status | undefined
    if (live !== undefined) return { dir, state: 'running', status: live, message: '' }
    const layout = layoutOf(dir)
    if (crawlIn(nodeDisk, layout) === undefined) return { dir, state: 'empty', status: undefined, message: '' }
    const { status, how } = statusOfFiles(layout)
    return { dir, state: how.split(';')[0], status, message: '' }
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return {
      dir,
      state: error.code === 'LOG_CORRUPT' ? 'damaged' : 'unreadable',
      status: undefined,
      message: error.message,
    }
  }
}

function rowsOf(crawls: readonly Listed[]): string[] {
  const head = ['crawl', 'state', 'done', 'failed', 'pending', 'received', 'last record']
  const rows = crawls.map(({ dir, state, status, message }) => {
    if (status === undefined) return [escapeLine(dir), state, '', '', '', '', escapeLine(message)]
    const { done, failed, pending, processing, time } = status
    return [
      escapeLine(dir),
      state,
      count(done),
      count(failed),
      count(pending + processing),
      bytes(status.bytes),
      time.slice(0, 19),
    ]
  })
  return table([head, ...rows], [2, 3, 4, 5])
}
