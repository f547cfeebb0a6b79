/** `compact`: what the reading commands say is the same before and after; only the past is gone. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { acquireLock } from '../../src/adapters/lock.ts'
import {
  type Answer,
  crawler,
  type Ended,
  linesOf,
  linking,
  newDir,
  QUICK,
  type Site,
  serve,
  startCrawler,
} from './crawler.ts'

let site: Site
let crawled: string
const env = { CRAWLER_SEGMENT_BYTES: '9000' }
/** One crawl for the file, each test has a copy: the hooks of node:test have no context that would end with it. */
const ending: Array<() => void> = []
const context = { after: (done: () => void) => ending.push(done) } as unknown as TestContext

before(async () => {
  const pages: Record<string, string> = {}
  for (let i = 0; i < 60; i++) pages[`/p${i}`] = linking(`/p${(i * 7 + 1) % 60}`, `/p${(i + 1) % 60}`, `/gone${i}`)
  site = await serve(context, pages)
  crawled = newDir(context)
  const ended = await crawler(['start', `${site.origin}/p0`, ...QUICK, '--dir', crawled], { env })
  assert.equal(ended.code, 0, ended.stderr)
})
test.after(() => {
  for (const done of ending) done()
})

function copyOf(t: TestContext) {
  const dir = newDir(t)
  cpSync(crawled, dir, { recursive: true })
  const run = (...args: string[]): Promise<Ended> => crawler([...args, '--dir', dir], { env })
  return { dir, run }
}

const sorted = (ended: Ended): string[] => ended.stdout.trim().split('\n').sort()

test('after a compaction the crawl says the same, is sound, and goes on to the same end', async (t) => {
  const { dir, run } = copyOf(t)
  const retried = await run('retry')
  assert.equal(retried.code, 0, retried.stderr)
  const urlsBefore = await run('urls', '--json')
  const [{ digest }] = linesOf(await run('status', '--json'))
  const page = await run('get', `${site.origin}/p1`)

  const [report] = linesOf(await run('compact', '--json'))
  assert.equal(report.compacted, true)
  assert.ok((report.bytesAfter as number) < (report.bytesBefore as number))
  assert.deepEqual(readdirSync(join(dir, 'shards/0')).sort(), ['images', 'log.1', 'pages'])

  assert.deepEqual(sorted(await run('urls', '--json')), sorted(urlsBefore))
  assert.equal(linesOf(await run('status', '--json'))[0].digest, digest)
  assert.deepEqual(await run('get', `${site.origin}/p1`), page)

  const again = await run('compact')
  assert.equal(again.code, 0)
  assert.match(again.stdout, /^nothing was compacted: nothing has happened since the last compaction\n/)

  const asked = site.asked.length
  const resumed = await run('resume')
  assert.equal(resumed.code, 0, resumed.stderr)
  const states = linesOf(await run('urls', '--json')).map(({ state }) => state)
  assert.equal(states.length, 120)
  assert.ok(states.every((state) => state === 'done' || state === 'failed'))
  assert.ok(site.asked.slice(asked).every((path) => /gone|robots/.test(path)))
  assert.equal((await run('compact')).code, 0)
  assert.ok(existsSync(join(dir, 'shards/0/log.2')))
  assert.equal((await run('verify')).code, 0)
})

test('the past before a compaction cannot be asked for: exit 2, and the earliest instant is named', async (t) => {
  const { run } = copyOf(t)
  const [report] = linesOf(await run('compact', '--json'))
  const tooEarly = await run('replay', '--until', '@10')
  assert.equal(tooEarly.code, 2)
  assert.match(tooEarly.stderr, new RegExp(`from ${report.earliest} \\(record ${report.earliestSeq}\\)`))
  const tooEarlyTime = new Date(Date.parse(report.earliest as string) - 1).toISOString()
  assert.equal((await run('replay', '--until', tooEarlyTime)).code, 2)
  for (const instant of [report.earliest as string, `@${report.earliestSeq}`]) {
    const [past] = linesOf(await run('replay', '--until', instant, '--json'))
    assert.equal(past.seq, report.earliestSeq)
  }
  const explained = await run('explain', `${site.origin}/p1`)
  assert.match(explained.stdout, /was compacted: only what counted then is told/)
  assert.match(explained.stdout, /answered 200/)
  const [json] = linesOf(await run('explain', `${site.origin}/p1`, '--json'))
  assert.deepEqual(json.compacted, { until: report.earliest, seq: Number(report.earliestSeq) })
})

test('--keep leaves what is younger: nothing is compacted where all of it is', async (t) => {
  const { dir, run } = copyOf(t)
  const kept = await run('compact', '--keep', '1h')
  assert.equal(kept.code, 0)
  assert.match(kept.stdout, /^nothing was compacted/)
  assert.ok(existsSync(join(dir, 'shards/0/log')))
  const segments = readdirSync(join(dir, 'shards/0/log')).filter((name) => name.endsWith('.val')).length
  assert.ok(segments > 3)
  const [report] = linesOf(await run('compact', '--keep', '0', '--json'))
  assert.equal(report.compacted, true)
  assert.equal((await run('verify')).code, 0)
  const wrong = await run('compact', '--keep', 'yesterday')
  assert.equal(wrong.code, 2)
})

test('a crawl that somebody has open is left alone: exit 5', async (t) => {
  const { dir, run } = copyOf(t)
  const lock = acquireLock(dir, '')
  const ended = await run('compact')
  lock.release()
  assert.equal(ended.code, 5)
})

test('a running crawl is compacted by itself, goes on, and leaves one generation when it ends', async (t) => {
  let release = (): void => {}
  const held = new Promise<void>((done) => {
    release = done
  })
  const pages: Record<string, Answer | string> = { '/slow': { body: linking('/late'), after: held }, '/late': 'late' }
  for (let i = 0; i < 40; i++) pages[`/p${i}`] = linking(`/p${i + 1}`, `/gone${i}`, '/slow')
  const slow = await serve(t, pages)
  const dir = newDir(t)
  const crawling = startCrawler(['start', `${slow.origin}/p0`, ...QUICK, '--json', '--dir', dir], { env })
  while (!slow.asked.includes('/p39')) await new Promise((done) => setTimeout(done, 20))
  const [report] = linesOf(await crawler(['compact', dir, '--json'], { env }))
  assert.equal(report.compacted, true)
  assert.equal(report.running, true)
  const [again] = linesOf(await crawler(['compact', dir, '--keep', '0', '--json'], { env }))
  assert.equal(again.running, true)
  assert.deepEqual(
    readdirSync(join(dir, 'shards/0')).filter((name) => name.startsWith('log')),
    ['log', 'log.1'],
  )
  release()
  const ended = await crawling.ended
  assert.equal(ended.code, 0, ended.stderr)
  assert.deepEqual(
    readdirSync(join(dir, 'shards/0')).filter((name) => name.startsWith('log')),
    ['log.1'],
  )
  const [status] = linesOf(await crawler(['status', dir, '--json']))
  assert.equal(status.digest, linesOf(ended)[0].digest)
  const verified = await crawler(['verify', dir])
  assert.equal(verified.code, 0, verified.stdout)
  assert.equal((await crawler(['get', `${slow.origin}/late`, dir])).stdout, 'late')
})
