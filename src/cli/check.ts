/** `check URL [DIR]`: what the rules of a crawl say of a URL at this moment. */
import { checkUrl, type UrlCheck } from '../crawl/checking.ts'
import { layoutOf } from '../crawl/layout.ts'
import { createLinkSource } from '../shard/link-source.ts'
import { dirOf } from './arguments.ts'
import { ask } from './asking.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { crawlNamed, urlNamed, withPast } from './reading.ts'
import { duration, escapeLine, jsonLine, labelled } from './text.ts'

type Answer = UrlCheck | { readonly refused: string }

export async function run(args: Arguments): Promise<number> {
  const { crawl } = crawlNamed(args)
  const url = urlNamed(args, crawl)
  const check = await checkNow(args, url)
  if ('refused' in check) throw usageError(`${url} is no URL that could be crawled: ${check.refused}.`)
  process.stdout.write(args.isJson ? `${jsonLine(check)}\n` : `${linesOf(check).join('\n')}\n`)
  return EXIT.done
}

/** Asks the process that crawls, or the files. Cost: a replay where nobody crawls. */
export async function checkNow(args: Arguments, url: string): Promise<Answer> {
  const root = dirOf(args)
  const live = (await ask(root, { do: 'check', url })) as Answer | undefined
  if (live !== undefined) return live
  return withPast(layoutOf(root), ({ state, logs }) =>
    checkUrl(
      state,
      createLinkSource(logs.events, state, () => 0),
      url,
      Date.now(),
    ),
  )
}

function linesOf(check: UrlCheck): string[] {
  const { url, state, scope, robots, addresses, addressesAllowed, badUntil, blockedUntil, delayMs } = check
  return labelled([
    ['url', escapeLine(url)],
    ['state', state === '' ? 'unknown to this crawl' : state],
    ['scope', scope],
    ['robots', ROBOTS_TEXT[robots] ?? robots],
    ['addresses', addressText(addresses, addressesAllowed)],
    ['delay', `${duration(delayMs)} between two requests to its host`],
    ['contact', contactText(badUntil, blockedUntil)],
  ])
}

const ROBOTS_TEXT: Readonly<Record<string, string>> = {
  unknown: 'not known: robots.txt is fetched before the URL is',
  held: 'held: robots.txt could not be had yet',
  unreachable: 'unreachable: robots.txt could not be had, the URL would be refused',
  ignored: 'ignored (--no-robots)',
}

function addressText(addresses: readonly string[], allowed: readonly string[]): string {
  if (addresses.length === 0) return 'not known: the name is looked up before the first contact'
  const forbidden = addresses.filter((address) => !allowed.includes(address))
  if (forbidden.length === 0) return addresses.join(', ')
  const which = allowed.length === 0 ? 'all' : forbidden.join(', ')
  return `${addresses.join(', ')}; forbidden (--allow-private): ${which}`
}

function contactText(badUntil: string, blockedUntil: string): string {
  if (badUntil !== '') return `its host is bad until ${badUntil}`
  return blockedUntil === '' ? 'may be contacted now' : `not before ${blockedUntil}`
}
