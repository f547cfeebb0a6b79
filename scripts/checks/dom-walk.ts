/**
 * A plain walk over a web, page by page, with a DOM (parse5) for the links: what a crawl of the same web is measured by.
 * Shares nothing with the crawl but the standard's URL parser.
 */
import { hash } from 'node:crypto'
import { linksOfTree } from '../../test/html/links-of-tree.ts'

export interface WalkedPage {
  readonly status: number
  /** Media type, lower case. */
  readonly type: string
  /** First 16 bytes of the body's SHA-256, hexadecimal; as in the crawl's log. */
  readonly content: string
  readonly bodyBytes: number
}

/** Requests at a time. */
const PARALLEL = 8

/** Every URL on the seeds' hosts that can be reached from them, with its answer. Redirects are answers with one link. */
export async function walkWithDom(
  seeds: readonly string[],
  tell: (pages: number) => void,
): Promise<Map<string, WalkedPage>> {
  const hosts = new Set(seeds.map((url) => new URL(url).host))
  const pages = new Map<string, WalkedPage>()
  const met = new Set(seeds)
  const queue = [...seeds]
  const work = async (): Promise<void> => {
    for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
      const { page, links } = await visit(url)
      pages.set(url, page)
      if (pages.size % 1000 === 0) tell(pages.size)
      for (const link of links) {
        if (met.has(link) || !hosts.has(new URL(link).host)) continue
        met.add(link)
        queue.push(link)
      }
    }
  }
  // A worker that finds the queue empty while others are at work would end too soon: rounds until nothing is left.
  while (queue.length > 0) await Promise.all(Array.from({ length: PARALLEL }, work))
  return pages
}

async function visit(url: string): Promise<{ readonly page: WalkedPage; readonly links: readonly string[] }> {
  const response = await fetch(url, { redirect: 'manual' })
  const body = Buffer.from(await response.arrayBuffer())
  const type = (response.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
  const content = hash('sha256', body, 'hex').slice(0, 32)
  const page = { status: response.status, type, content, bodyBytes: body.length }
  const location = response.headers.get('location')
  if (location !== null) return { page, links: [withoutFragment(new URL(location, url).href)] }
  if (response.status !== 200 || type !== 'text/html') return { page, links: [] }
  const { links } = linksOfTree(textOf(body, response.headers.get('content-type') ?? ''), url)
  return { page, links: links.map(withoutFragment).filter((link) => /^https?:/.test(link)) }
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/, '')
}

/** By the header, else by the first meta, else as browsers guess in the West. */
function textOf(body: Buffer, contentType: string): string {
  const head = body.subarray(0, 2048).toString('latin1')
  const label = /charset=["']?([\w-]+)/i.exec(contentType)?.[1] ?? /charset=["']?([\w-]+)/i.exec(head)?.[1]
  return new TextDecoder(label ?? 'windows-1252').decode(body)
}
