/**
 * Seeds: copied into DIR before anything is crawled, then read line by line from there, so that a death half way
 * through them loses none. One URL a line; blank lines and lines that begin with `#` are passed over.
 */

import { once } from 'node:events'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  unlinkSync,
  type WriteStream,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CrawlError } from '../base/errors.ts'
import { SEEDS_PER_OBSERVATION_MAX } from '../core/observation.ts'
import type { Settings } from '../core/settings.ts'
import { normalizeUrl } from '../core/url.ts'

/** Where seeds come from: given one by one, a file, or a stream such as stdin. */
export interface SeedInput {
  readonly urls: readonly string[]
  readonly files: readonly string[]
  readonly stream: NodeJS.ReadableStream | undefined
}

const SOURCE_NAME = /^(\d+)\.txt$/

export function seedSourcePath(directory: string, source: number): string {
  return join(directory, `${source}.txt`)
}

/** Numbers of the sources in DIR/seeds, ascending. */
export function seedSources(directory: string): number[] {
  if (!existsSync(directory)) return []
  const numbers = readdirSync(directory).map((name) => SOURCE_NAME.exec(name)?.[1])
  return numbers
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b)
}

/**
 * Copies all seeds into DIR/seeds as one new source, durably: aside, synced, renamed, directory synced.
 * @returns the source's number. Errors: USAGE where a seed file cannot be read; DISK_FULL and other errors of the disk.
 */
export async function copySeeds(directory: string, input: SeedInput): Promise<number> {
  mkdirSync(directory, { recursive: true })
  const aside = join(directory, `${process.pid}.tmp`)
  const out = createWriteStream(aside)
  // An error between two writes is told by the next one.
  out.on('error', () => {})
  for (const url of input.urls) await write(out, `${url}\n`)
  for (const file of input.files) await pour(createReadStream(file), out, file)
  if (input.stream !== undefined) await pour(input.stream, out, 'stdin')
  out.end()
  if (!out.closed) await once(out, 'close')
  if (out.errored) throw out.errored
  syncPath(aside)
  const source = publish(directory, aside)
  unlinkSync(aside)
  syncPath(directory)
  return source
}

/** Gives the copy the next free number. A link fails where another process has just taken it, unlike a rename. */
function publish(directory: string, aside: string): number {
  for (let source = (seedSources(directory).at(-1) ?? -1) + 1; ; source++) {
    try {
      linkSync(aside, seedSourcePath(directory, source))
      return source
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

async function pour(from: NodeJS.ReadableStream, out: WriteStream, name: string): Promise<void> {
  let last = '\n'
  try {
    for await (const chunk of from) {
      const text = chunk.toString('latin1')
      if (text.length > 0) last = text[text.length - 1]
      await write(out, chunk)
    }
  } catch (error) {
    // A full disk is no fault of the file that was read.
    if ((error as NodeJS.ErrnoException).syscall === 'write') throw error
    throw new CrawlError(
      'USAGE',
      `The seeds in ${name} cannot be read: ${(error as Error).message}`,
      { path: name },
      'Check the path after --seeds.',
    )
  }
  if (last !== '\n') await write(out, '\n')
}

async function write(out: WriteStream, chunk: string | Uint8Array): Promise<void> {
  if (out.errored) throw out.errored
  if (!out.write(chunk)) await once(out, 'drain')
}

function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** What one batch of lines came to. */
export interface SeedBatch {
  readonly urls: readonly string[]
  /** Lines of the source read so far. */
  readonly lines: number
  readonly isLast: boolean
  readonly bad: ReadonlyArray<{ readonly line: number; readonly text: string; readonly why: string }>
}

/** Reads a source from behind `linesDone`, in batches of at most SEEDS_PER_OBSERVATION_MAX URLs. The last may be empty. */
export async function* readSeeds(path: string, linesDone: number, settings: Settings): AsyncGenerator<SeedBatch> {
  let line = 0
  let urls: string[] = []
  let bad: Array<{ line: number; text: string; why: string }> = []
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    line++
    if (line <= linesDone) continue
    const seed = seedOf(text, settings)
    if (seed === undefined) continue
    if ('url' in seed) urls.push(seed.url)
    else bad.push({ line, text: text.slice(0, 200), why: seed.refused })
    if (urls.length < SEEDS_PER_OBSERVATION_MAX) continue
    yield { urls, lines: line, isLast: false, bad }
    urls = []
    bad = []
  }
  yield { urls, lines: line, isLast: true, bad }
}

/** The URL of a line, why it is none, or undefined for a line that says nothing. Without a scheme it is http. */
export function seedOf(
  line: string,
  settings: Settings,
): { readonly url: string } | { readonly refused: string } | undefined {
  const text = line.trim().replace(/^\ufeff/, '')
  if (text === '' || text.startsWith('#')) return undefined
  const { urlRules: rules, urlBytesMax } = settings
  const href = /^[a-z][a-z\d+.-]*:(?!\d+(?:[/?#]|$))/i.test(text) ? text : `http://${text}`
  const canonical = normalizeUrl(href, { rules, urlBytesMax })
  if ('url' in canonical) return canonical
  const why = {
    syntax: 'not a URL',
    scheme: 'only http and https are crawled',
    'too-long': `longer than ${urlBytesMax} bytes`,
  }
  return { refused: why[canonical.refused] }
}
