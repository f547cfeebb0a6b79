/**
 * Link scanner against htmlparser2's SAX parser: bytes to the list of absolute URLs, on real pages.
 *
 *     node scripts/bench/scan.ts [--pages N] [--pairs N]
 *
 * Both sides give the same list for every page (checked before anything is timed): each URL once, in the order of the
 * page, without the page itself. Runs alternate; prints medians in MB/s of page bytes, and their ratio, as one JSON line.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { cpus } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Parser } from 'htmlparser2'
import { normalizeEscapes } from '../../src/html/canonical.ts'
import { extractLinks } from '../../src/html/extract-links.ts'
import { relationOf, relWords } from '../../src/html/rel.ts'

const FOLDERS = [
  '/usr/share/doc/python3.11/html',
  '/usr/share/doc/postgresql-doc-15/html',
  '/usr/share/doc/git/html',
  '/usr/share/doc/openjdk-17-jre-headless/api',
]

type Sample = { readonly body: Buffer; readonly url: string }

const { values } = parseArgs({
  options: { pages: { type: 'string', default: '600' }, pairs: { type: 'string', default: '7' } },
})

function samplesOf(countMax: number): Sample[] {
  const all = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) => {
    const root = realpathSync(folder)
    const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html'))
      .sort()
    return names.map((name) => ({ file: path.join(root, name), url: `http://site.test/${encodeURI(name)}` }))
  })
  const step = Math.max(1, Math.floor(all.length / countMax))
  const picked = all.filter((_, at) => at % step === 0).slice(0, countMax)
  return picked.map(({ file, url }) => ({ body: readFileSync(file), url }))
}

const HEADERS = { 'content-type': 'text/html; charset=utf-8' }

function byScanner({ body, url }: Sample): string[] {
  return extractLinks(body, HEADERS, url).links.map((link) => link.url)
}

/** What the SAX parser's events say is a link to follow, by the same rules as the scanner's. */
function hrefOf(name: string, attributes: Readonly<Record<string, string>>): string | undefined {
  if (name === 'a' || name === 'area') return attributes['href']
  if (name === 'iframe' || name === 'frame') return attributes['src']
  if (name !== 'link' || attributes['rel'] === undefined) return undefined
  return relationOf(relWords(attributes['rel']), attributes['type'] ?? '') === 'followed'
    ? attributes['href']
    : undefined
}

function bySax({ body, url }: Sample): string[] {
  const links = new Set<string>()
  const parser = new Parser({
    onopentag(name, attributes) {
      const href = hrefOf(name, attributes)
      const parsed = href === undefined ? null : URL.parse(href, url)
      if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) return
      const hashAt = parsed.href.indexOf('#')
      links.add(normalizeEscapes(hashAt < 0 ? parsed.href : parsed.href.slice(0, hashAt)))
    },
  })
  parser.end(body.toString())
  links.delete(url)
  return [...links]
}

/** Milliseconds for all pages. */
function timed(links: (sample: Sample) => string[], samples: readonly Sample[]): number {
  const startMs = performance.now()
  let count = 0
  for (const sample of samples) count += links(sample).length
  assert.ok(count > 0)
  return performance.now() - startMs
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
}

const samples = samplesOf(Number(values.pages))
const bytes = samples.reduce((sum, sample) => sum + sample.body.length, 0)
let linkCount = 0
for (const sample of samples) {
  const ours = byScanner(sample)
  assert.deepEqual(ours, bySax(sample), `the lists of ${sample.url} differ`)
  linkCount += ours.length
}
const scannerMs: number[] = []
const saxMs: number[] = []
for (let pair = 0; pair < Number(values.pairs); pair++) {
  const isScannerFirst = pair % 2 === 0
  if (isScannerFirst) scannerMs.push(timed(byScanner, samples))
  saxMs.push(timed(bySax, samples))
  if (!isScannerFirst) scannerMs.push(timed(byScanner, samples))
}
const rate = (ms: number): number => Math.round(bytes / 1000 / ms)
const ratios = saxMs.map((ms, pair) => ms / scannerMs[pair])
console.log(
  JSON.stringify({
    pages: samples.length,
    bytes,
    links: linkCount,
    pairs: ratios.length,
    scannerMBps: rate(median(scannerMs)),
    saxMBps: rate(median(saxMs)),
    ratio: Number(median(ratios).toFixed(2)),
    ratioMin: Number(Math.min(...ratios).toFixed(2)),
    ratioMax: Number(Math.max(...ratios).toFixed(2)),
    node: process.version,
    cpu: cpus()[0]?.model,
  }),
)
