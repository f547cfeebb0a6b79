/** `get URL [DIR]`: the stored page of a URL, or a part of it. */
import { decodeContent } from '../adapters/content.ts'
import type { DomQuery } from '../adapters/dom.ts'
import { type StoredAnswer, storedPage } from '../crawl/get.ts'
import { detectCharset } from '../html/charset.ts'
import { decodeText } from '../html/decode.ts'
import { headerValues } from '../html/headers.ts'
import { textOf } from './arguments.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { writeAll } from './output.ts'
import { crawlNamed, urlNamed, withLogs } from './reading.ts'
import { escapeLine, escapeLines, jsonLine } from './text.ts'
import { reportNoPage, reportUnknown } from './unknown.ts'

export async function run(args: Arguments): Promise<number> {
  const query = queryOf(args)
  const { root, layout, crawl } = crawlNamed(args)
  const url = urlNamed(args, crawl)
  const found = withLogs(layout, (logs) => storedPage(logs, url, crawl.settings, decodeContent))
  if (found === undefined) return reportUnknown(url, root, args.isJson)
  if (found.raw === undefined) return reportNoPage(found, root, args.isJson)
  if (found.isTruncated) process.stderr.write('crawler: the body was cut at a limit of the crawl\n')
  if (query !== undefined) return printParts(found, query, args.isJson)
  if (args.isJson) return printJson(found)
  return args.values.headers === true ? printHeaders(found) : printBody(found, args.values.raw === true)
}

/** What is asked of the page's tree; undefined where the body itself is wanted. Errors: USAGE. */
function queryOf(args: Arguments): DomQuery | undefined {
  const select = textOf(args, 'select')
  const attr = textOf(args, 'attr')
  const isText = args.values.text === true
  const isTitle = args.values.title === true
  const isTree = select !== undefined || isText || isTitle
  if (attr !== undefined && select === undefined)
    throw usageError('--attr needs --select.', 'For example: --select a --attr href.')
  if (attr !== undefined && isText) throw usageError('--attr and --text exclude each other.', 'Leave out one.')
  if (isTitle && (select !== undefined || isText)) throw usageError('--title stands alone.', 'Leave out the others.')
  const others = ['raw', 'headers'].filter((name) => args.values[name] === true)
  if (others.length + (isTree ? 1 : 0) > 1)
    throw usageError(`--${others.join(', --')} and what is asked of the page exclude each other.`, 'Leave out one.')
  if (!isTree) return undefined
  return {
    ...(select === undefined ? {} : { select }),
    ...(attr === undefined ? {} : { attr }),
    text: isText,
    title: isTitle,
  }
}

/** The body as text, by the charset that a browser would find. */
function textOfBody(answer: StoredAnswer): string {
  const contentType = headerValues(answer.headers, 'content-type')[0]
  return decodeText(answer.body, detectCharset(answer.body, contentType).encoding)
}

async function printParts(answer: StoredAnswer, query: DomQuery, isJson: boolean): Promise<number> {
  const { selectFrom } = await import('../adapters/dom.ts')
  const parts = selectFrom(textOfBody(answer), query)
  if (isJson) process.stdout.write(`${jsonLine({ url: answer.url, found: parts })}\n`)
  else writeAll(Buffer.from(parts.map((part) => `${escapeLines(part)}\n`).join(''), 'utf8'))
  return EXIT.done
}

/** Types whose bodies are text. */
const TEXT_TYPES = /^(?:text\/|application\/(?:(?:[\w.-]+\+)?(?:json|xml)|javascript|ecmascript)$|image\/svg\+xml$)/

function printJson(answer: StoredAnswer): number {
  const { raw, body, headers, isTruncated, ...facts } = answer
  const content = TEXT_TYPES.test(answer.contentType)
    ? { text: textOfBody(answer) }
    : { base64: Buffer.from(body.buffer, body.byteOffset, body.length).toString('base64') }
  const sizes = { bodyBytes: raw.length, decodedBytes: body.length, truncated: isTruncated }
  writeAll(Buffer.from(`${jsonLine({ ...facts, headers, ...sizes, ...content })}\n`, 'utf8'))
  return EXIT.done
}

function printHeaders({ status, headers }: StoredAnswer): number {
  const lines = headers.map(([name, value]) => `${escapeLine(name)}: ${escapeLine(value)}\n`)
  process.stdout.write(`HTTP ${status}\n${lines.join('')}`)
  return EXIT.done
}

/** To a file or a program the bytes go as they are; to a terminal as text, with control characters made visible. */
function printBody(answer: StoredAnswer, isRaw: boolean): number {
  const bytes = isRaw ? answer.raw : answer.body
  if (process.stdout.isTTY !== true) writeAll(bytes)
  else if (TEXT_TYPES.test(answer.contentType) && !isRaw) process.stdout.write(escapeLines(textOfBody(answer)))
  else
    throw usageError(
      `The body (${answer.contentType === '' ? 'of no known type' : answer.contentType}) is not shown on a terminal.`,
      'Send it to a file: > page',
    )
  return EXIT.done
}
