import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { decodeContent } from '../../src/adapters/content.ts'
import { type ExportOptions, type ExportRow, forEachRow } from '../../src/crawl/export.ts'
import { storedPage } from '../../src/crawl/get.ts'
import type { PastCrawl, Until } from '../../src/crawl/reading.ts'
import { forEachUrl, type UrlLine } from '../../src/crawl/urls.ts'
import type { ScriptedPage } from '../shard/small-crawl.ts'
import { pastsOf } from './small-past.ts'

const HTML = 'text/html; charset=iso-8859-1'
const html = (...hrefs: string[]): ScriptedPage => ({ body: hrefs.map((href) => `<a href="${href}">x</a>`).join('') })
const typed = (type: string, body: string | Uint8Array, ...more: Array<[string, string]>): ScriptedPage => ({
  headers: [['content-type', type], ...more],
  body,
})

const PAGES: Readonly<Record<string, ScriptedPage | ((times: number) => ScriptedPage)>> = {
  'http://a.test/': html('/latin', '/gzip', '/bin', '/moved', '/gone', '/moody', '/twin', 'http://dead.test/1', '/out'),
  'http://a.test/latin': typed(HTML, Buffer.from('<p>caf\xe9 <a href="/twin">t</a>', 'latin1')),
  'http://a.test/gzip': typed('text/plain', gzipSync('packed'), ['content-encoding', 'gzip']),
  'http://a.test/bin': typed('application/octet-stream', Buffer.from([0, 255, 1])),
  'http://a.test/moved': { status: 301, headers: [['location', '/latin']] },
  'http://a.test/gone': { status: 410, body: 'gone for ever' },
  'http://a.test/moody': (times) => (times < 3 ? { status: 503 } : html('/late', 'http://dead.test/2')),
  'http://a.test/twin': typed(HTML, Buffer.from('<p>caf\xe9 <a href="/twin">t</a>', 'latin1')),
  'http://a.test/late': html(),
  'http://a.test/out': html('http://a.test/'),
}

let pastUntil: (until: Until) => PastCrawl
let past: PastCrawl
before(() => {
  const addresses = { 'dead.test': [] }
  const settings = { scope: 'any', retriesMax: 3, delayMaxMs: 1000 } as const
  pastUntil = pastsOf({ pages: PAGES, seeds: ['http://a.test/', 'http://dead.test/'], settings, addresses })
  past = pastUntil({ kind: 'end' })
})

function rowsOf(options: Partial<ExportOptions> = {}, crawl = past): ExportRow[] {
  const rows: ExportRow[] = []
  const common = { settings: past.state.settings, decode: decodeContent, filter: {}, body: 'auto' } as const
  forEachRow(crawl, { ...common, ...options }, (row) => rows.push(row))
  return rows
}

function linesOf(): UrlLine[] {
  const lines: UrlLine[] = []
  forEachUrl(past, {}, true, (line) => lines.push(line))
  return lines
}

test('every URL stands in the export once, in the order of urls, with what urls and get say of it', () => {
  const rows = rowsOf()
  const shared = rows.map(({ url, state, class: name, status, depth, from, attempts }) => {
    return { url, state, class: name, status, depth, from, attempts }
  })
  assert.deepEqual(shared, linesOf())
  assert.equal(new Set(rows.map(({ url }) => url)).size, past.state.urls.count)
  for (const row of rows) {
    const page = storedPage(past.logs, row.url, past.state.settings, decodeContent)
    if (page?.raw === undefined) {
      assert.deepEqual([row.headers, row.sha256, row.text, row.base64], [null, null, undefined, undefined], row.url)
      continue
    }
    const facts = [page.headers, page.contentType, page.sha256, page.raw.length, page.body.length, page.isTruncated]
    const { headers, contentType, sha256, bodyBytes, decodedBytes, truncated } = row
    assert.deepEqual([headers, contentType, sha256, bodyBytes, decodedBytes, truncated], facts, row.url)
    assert.equal(row.fetched, page.time)
    if (row.base64 !== undefined) assert.deepEqual(Buffer.from(row.base64, 'base64'), Buffer.from(page.body))
    else
      assert.equal(Buffer.byteLength(row.text ?? ''), new TextDecoder('latin1').decode(page.body).length + accents(row))
  }
})

/** Characters of two bytes in UTF-8. */
const accents = ({ text = '' }: ExportRow): number => text.split('é').length - 1

test('a body that two URLs share comes out for both, decoded by its charset; binary ones as base64', () => {
  const [latin, twin] = ['latin', 'twin'].map((path) => rowsOf().find(({ url }) => url === `http://a.test/${path}`))
  assert.equal(latin?.text, '<p>café <a href="/twin">t</a>')
  assert.equal(twin?.text, latin?.text)
  assert.equal(rowsOf().find(({ url }) => url.endsWith('/bin'))?.base64, 'AP8B')
  const forms = (['text', 'base64', 'none'] as const).map((body) => rowsOf({ body }))
  assert.ok(forms[0]?.every(({ base64 }) => base64 === undefined))
  assert.ok(forms[1]?.every(({ text }) => text === undefined))
  assert.ok(forms[2]?.every(({ text, base64 }) => text === undefined && base64 === undefined))
})

test('of a URL that failed with its host the class is what was wrong with the host, and its place where that was found', () => {
  const dead = rowsOf().filter(({ url }) => url.startsWith('http://dead.test/'))
  assert.deepEqual(dead.map(({ url }) => url).sort(), ['http://dead.test/', 'http://dead.test/1', 'http://dead.test/2'])
  for (const row of dead) {
    assert.deepEqual([row.class, row.reason, row.status, row.attempts], ['dns.notfound', 'host.bad', null, 0])
    assert.ok(row.depth === 0 || row.from !== null)
  }
  const named = rowsOf({ filter: { class: 'host.bad' } })
  assert.deepEqual(named, rowsOf({ filter: { class: 'dns' } }))
  assert.deepEqual(named, dead)
})

test('an export that goes on behind any of its rows comes to the same rows', () => {
  const rows = rowsOf()
  for (const [i, behind] of rows.entries()) assert.deepEqual(rowsOf({ behind }), rows.slice(i + 1))
  const done = { states: new Set([3]) }
  const some = rowsOf({ filter: done })
  for (const [i, behind] of some.entries()) assert.deepEqual(rowsOf({ filter: done, behind }), some.slice(i + 1))
})

test('an export of a crawl half way, gone on with at its end, has the last word on every URL as its later line', () => {
  const byUrl = (rows: readonly ExportRow[]) => new Map(rows.map((row) => [row.url, row]))
  const wanted = byUrl(rowsOf())
  for (let sequence = 3; sequence < past.cut.sequence; sequence += 3) {
    const early = rowsOf({}, pastUntil({ kind: 'sequence', sequence }))
    const rows = [...early, ...rowsOf({ behind: early.at(-1) })]
    assert.ok(rows.every(({ seq }, i) => i === 0 || seq >= rows[i - 1].seq))
    assert.deepEqual([...byUrl(rows).keys()].sort(), [...wanted.keys()].sort())
    for (const [url, row] of byUrl(rows)) {
      // A shorter way found later is no word of its own.
      assert.deepEqual({ ...row, depth: 0 }, { ...wanted.get(url), depth: 0 })
    }
  }
})

test('a row that is none of the crawl is refused, and so nothing is left out in silence', () => {
  const [first] = rowsOf()
  assert.throws(() => rowsOf({ behind: { seq: first.seq, url: 'http://other.test/' } }), { code: 'USAGE' })
  assert.throws(() => rowsOf({ behind: { seq: 10 ** 9, url: first.url } }), { code: 'USAGE' })
  assert.throws(() => rowsOf({ behind: { seq: 1, url: first.url } }), { code: 'USAGE' })
})

test('--since gives what replay --until does not: the rows of later records', () => {
  const rows = rowsOf()
  for (let sequence = 0; sequence <= past.cut.sequence + 1; sequence++) {
    const since = { kind: 'sequence', sequence } as const
    assert.deepEqual(
      rowsOf({ since }),
      rows.filter(({ seq }) => seq > sequence),
    )
  }
  const ends = rows.map(({ fetched }) => (fetched === null ? 0 : Date.parse(fetched)))
  for (const timeMs of ends.filter((ms) => ms > 0)) {
    const later = rowsOf({ since: { kind: 'time', timeMs } })
    assert.ok(later.every(({ fetched }) => fetched === null || Date.parse(fetched) > timeMs))
    const left = rows.filter(({ fetched }) => fetched !== null && Date.parse(fetched) > timeMs)
    assert.deepEqual(
      later.filter(({ fetched }) => fetched !== null),
      left,
    )
  }
})

test('the times of a URL: found before it is fetched, and a seed when the crawl began', () => {
  for (const { firstSeen, fetched } of rowsOf()) assert.ok(fetched === null || firstSeen <= fetched)
})
