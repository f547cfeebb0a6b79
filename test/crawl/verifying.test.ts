/** `verify` finds what is damaged and names it, and takes for no damage what a crash leaves. */
import assert from 'node:assert/strict'
import {
  closeSync,
  cpSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { decodeContent } from '../../src/adapters/content.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { accountsOf } from '../../src/crawl/accounting.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, readCrawl } from '../../src/crawl/reading.ts'
import { verifyCrawl } from '../../src/crawl/verifying.ts'
import { crawler, linesOf, linking, newDir, QUICK, serve } from '../cli/crawler.ts'

const MARKER = 'a body that is easily found in a file of pages'

let whole: string
const ending: Array<() => void> = []
const context = { after: (done: () => void) => ending.push(done) } as unknown as TestContext

/** A crawl with pages done, failed, and pending: stopped by a limit. */
before(async () => {
  const site = await serve(context, {
    '/': linking('/a', '/gone', '/b', '/c', '/d'),
    '/a': MARKER,
    '/b': 'b',
    '/c': 'c',
    '/d': 'd',
  })
  whole = newDir(context)
  const args = ['start', `${site.origin}/`, ...QUICK, '--per-host', '1', '--max-pages', '3', '--dir', whole]
  assert.equal((await crawler(args)).code, 3)
})
test.after(() => {
  for (const done of ending) done()
})

function copyOf(t: TestContext): { dir: string; val: string; key: string; pages: string } {
  const dir = newDir(t)
  cpSync(whole, dir, { recursive: true })
  const shard = join(dir, 'shards', '0')
  return {
    dir,
    val: join(shard, 'log/000001.val'),
    key: join(shard, 'log/000001.key'),
    pages: join(shard, 'pages/000001.val'),
  }
}

const verify = (dir: string) => verifyCrawl(nodeDisk, layoutOf(dir), decodeContent)

function overwrite(path: string, position: number, bytes: Uint8Array): void {
  const fd = openSync(path, 'r+')
  writeSync(fd, bytes, 0, bytes.length, position)
  closeSync(fd)
}

function flip(path: string, position: number): void {
  const byte = readFileSync(path)[position]
  overwrite(path, position, Uint8Array.of(byte ^ 0xff))
}

function truncate(path: string, bytes: number): void {
  const fd = openSync(path, 'r+')
  ftruncateSync(fd, statSync(path).size - bytes)
  closeSync(fd)
}

test('a whole crawl has no trouble, and its three accounts agree with its states', () => {
  const { troubles, status, pagesChecked } = verify(whole)
  assert.deepEqual(troubles, [])
  assert.equal(pagesChecked, 4)
  const past = readCrawl(nodeDisk, layoutOf(whole))
  assert.deepEqual(accountsOf(past), { enqueued: status?.seen, claimed: 0, queued: status?.pending, queuedTwice: 0 })
  assert.ok((status?.pending ?? 0) > 0)
  closeLogs(past.logs)
})

test('a byte changed in the log of events is damage, named by segment and offset, exit 4', async (t) => {
  const { dir, val } = copyOf(t)
  flip(val, 400)
  const ended = await crawler(['verify', dir, '--json'])
  assert.equal(ended.code, 4)
  const [{ ok, troubles }] = linesOf(ended) as Array<{ ok: boolean; troubles: Array<Record<string, unknown>> }>
  assert.equal(ok, false)
  const [{ where, isDamage, segment, offset, bytes }] = troubles
  assert.deepEqual([where, isDamage, segment], ['log', true, 1])
  assert.ok((offset as number) <= 400 && (offset as number) + (bytes as number) > 400)
  const text = await crawler(['verify', dir])
  assert.match(text.stdout, /^damaged: log: Segment 1: damaged record at offset \d+/)
  assert.equal((await crawler(['resume', dir])).code, 4)
})

test('a byte changed in a page is damage, told with the URL of the page', (t) => {
  const { dir, pages } = copyOf(t)
  flip(pages, readFileSync(pages).indexOf(MARKER) + 3)
  const { troubles } = verify(dir)
  assert.ok(troubles.some(({ where, isDamage }) => where === 'pages' && isDamage))
})

test('a KEY that is missing, short, or ends in zeros is no damage where a crash can have left it so', (t) => {
  const missing = copyOf(t)
  rmSync(missing.key)
  const short = copyOf(t)
  truncate(short.key, 100)
  const zeros = copyOf(t)
  overwrite(zeros.key, statSync(zeros.key).size - 48, new Uint8Array(48))
  for (const [name, { dir }] of Object.entries({ missing, short, zeros })) {
    const { troubles, status } = verify(dir)
    assert.deepEqual(
      troubles.map(({ isDamage }) => isDamage),
      [false],
      `${name}: ${JSON.stringify(troubles)}`,
    )
    assert.ok(status !== undefined)
  }
})

test('a KEY with other bytes is damage, and the log is read without it', (t) => {
  const { dir, key } = copyOf(t)
  flip(key, 50)
  const { troubles, status } = verify(dir)
  assert.deepEqual(
    troubles.map(({ where, isDamage, offset }) => [where, isDamage, offset]),
    [['log', true, 48]],
  )
  assert.ok(status !== undefined)
})

test('a torn end is no damage; an end cut before what was synced is', (t) => {
  const torn = copyOf(t)
  truncate(torn.val, 5)
  assert.ok(verify(torn.dir).troubles.every(({ isDamage }) => !isDamage))
  const lost = copyOf(t)
  writeFileSync(lost.val, readFileSync(lost.val).subarray(0, 1500))
  assert.ok(verify(lost.dir).troubles.some(({ isDamage }) => isDamage))
})

test('pages that cannot be read any more are told with their URLs', (t) => {
  const { dir, pages } = copyOf(t)
  flip(pages, readFileSync(pages).indexOf(MARKER) + 3)
  const { troubles } = verify(dir)
  const told = troubles.filter(({ where }) => where === 'references')
  assert.match(told[0].message, /^The page of http:\/\/127\.0\.0\.1:\d+\/a: /)
})

test('a directory without a crawl is an error of its own', (t) => {
  assert.throws(() => verify(newDir(t)), { code: 'DIR_NO_CRAWL' })
})
