/** A crawl that runs, and what others may do beside it: ask, add, retry, stop, kill. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crawler, linesOf, linking, newDir, QUICK, type Running, type Site, serve, startCrawler } from './crawler.ts'

/** A crawl whose second page is not answered before `release`: it runs for as long as the test wants. */
async function heldCrawl(
  t: TestContext,
  ...more: string[]
): Promise<{ site: Site; dir: string; running: Running; release: () => void }> {
  let release = (): void => {}
  const after = new Promise<void>((resolve) => {
    release = resolve
  })
  const site = await serve(t, {
    '/': linking('/held', '/gone'),
    '/held': { body: linking('/late'), after },
    '/late': 'late',
    '/new': 'new',
  })
  const dir = newDir(t)
  const running = startCrawler([
    'start',
    `${site.origin}/`,
    ...QUICK,
    '--per-host',
    '1',
    '--dir',
    dir,
    '--json',
    ...more,
  ])
  t.after(() => running.process.kill('SIGKILL'))
  while (!site.asked.includes('/held')) await new Promise((resolve) => setTimeout(resolve, 20))
  return { site, dir, running, release }
}

test('beside a running crawl status has the live figures, and others are refused with exit 5', async (t) => {
  const { dir, running, release } = await heldCrawl(t)
  const [status] = linesOf(await crawler(['status', dir, '--json']))
  assert.deepEqual([status.processing, status.done, status.finished], [1, 1, false])
  const text = await crawler(['status', dir])
  assert.match(text.stdout, new RegExp(`^state +running since .*, process ${running.process.pid}$`, 'm'))
  assert.equal(linesOf(await crawler(['list', join(dir, '..'), '--json']))[0].state, 'running')
  for (const args of [
    ['resume', dir],
    ['start', 'http://127.0.0.1:1/', '--dir', dir],
  ]) {
    const refused = await crawler(args)
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, new RegExp(`Process ${running.process.pid}`))
  }
  release()
  assert.equal((await running.ended).code, 0)
})

test('a checkpoint made while it crawls is told by status and crawler.log, and a resume goes on from it', async (t) => {
  const { dir, running, release } = await heldCrawl(t, '--checkpoint-after', '0', '--durability', '0')
  let shown = ''
  while (!/^checkpoint +at record \d+, .* items behind it$/m.test(shown))
    shown = (await crawler(['status', dir])).stdout
  running.process.kill('SIGKILL')
  await running.ended
  const lines = readFileSync(join(dir, 'crawler.log'), 'utf8').split('\n')
  const told = lines.filter((line) => line.includes('"msg":"checkpoint"')).map((line) => JSON.parse(line))
  for (const { sequence, bytes, ms, items } of told) assert.ok(sequence > 0 && bytes > 0 && ms >= 0 && items > 0)
  const after = (await crawler(['status', dir])).stdout
  assert.match(after, new RegExp(`^checkpoint +at record ${told.at(-1).sequence}, `, 'm'))
  release()
  const resumed = await crawler(['resume', dir, '--json'])
  assert.deepEqual([resumed.code, linesOf(resumed)[0].done], [0, 3], resumed.stderr)
  const log = readFileSync(join(dir, 'crawler.log'), 'utf8')
  assert.match(log, new RegExp(`"checkpoint":${told.at(-1).sequence},.*"msg":"replayed"`))
})

test('a digest that status has shown is the digest of a replay up to its record', async (t) => {
  const { dir, running, release } = await heldCrawl(t)
  const [status] = linesOf(await crawler(['status', dir, '--json']))
  release()
  await running.ended
  assert.deepEqual(linesOf(await crawler(['replay', dir, '--until', `@${status.seq}`, '--json'])), [status])
  assert.deepEqual(linesOf(await crawler(['replay', dir, '--until', String(status.time), '--json'])), [status])
})

test('add gives a running crawl more seeds, check and retry reach it too', async (t) => {
  const { site, dir, running, release } = await heldCrawl(t)
  assert.deepEqual(Object.keys(linesOf(await crawler(['add', `${site.origin}/new`, '--dir', dir, '--json']))[0]), [
    'added',
    'pending',
    'running',
  ])
  assert.equal(linesOf(await crawler(['check', `${site.origin}/new`, dir, '--json']))[0].state, 'pending')
  release()
  const [end] = linesOf(await running.ended)
  assert.deepEqual([end.done, end.failed], [4, 1])
  assert.ok(site.asked.includes('/new'))
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} stops in order with exit 3, gives back what is in flight, and resume ends the crawl`, async (t) => {
    const { dir, running, release } = await heldCrawl(t)
    running.process.kill(signal)
    const stopped = await running.ended
    assert.equal(stopped.code, 3)
    const [status] = linesOf(stopped)
    assert.deepEqual([status.processing, status.pending, status.finished], [0, 2, false])
    assert.match(stopped.stderr, new RegExp(`stopped: ${signal}`))
    assert.match((await crawler(['status', dir])).stdout, /^state +stopped; resume goes on$/m)
    assert.equal(existsSync(join(dir, 'sock')), false)
    release()
    const resumed = await crawler(['resume', dir, '--json'])
    assert.equal(resumed.code, 0, resumed.stderr)
    assert.equal(linesOf(resumed)[0].done, 3)
  })
}

test('a process that is killed has died, loses nothing, and resume ends the crawl', async (t) => {
  const { dir, running, release } = await heldCrawl(t)
  running.process.kill('SIGKILL')
  await running.ended
  assert.match((await crawler(['status', dir])).stdout, /^state +died; resume goes on$/m)
  assert.equal((await crawler(['verify', dir])).code, 0)
  const explained = linesOf(
    await crawler([
      'explain',
      linesOf(await crawler(['urls', dir, '--state', 'processing', '--json']))[0].url as string,
      dir,
      '--json',
    ]),
  )
  assert.equal(explained[0].state, 'processing')
  release()
  const resumed = await crawler(['resume', dir, '--json'])
  assert.deepEqual([resumed.code, linesOf(resumed)[0].done, linesOf(resumed)[0].failed], [0, 3, 1])
})

test('add and retry open a crawl that nobody runs, and leave it for resume', async (t) => {
  const site = await serve(t, { '/': linking('/gone'), '/new': 'new' })
  const dir = newDir(t)
  await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', dir])
  const known = await crawler(['add', `${site.origin}/`, '--dir', dir, '--json'])
  assert.deepEqual(linesOf(known), [{ added: 0, pending: 0, running: false }], known.stderr)
  const added = await crawler(['add', `${site.origin}/new`, '--dir', dir, '--json'])
  assert.deepEqual(linesOf(added), [{ added: 1, pending: 1, running: false }])
  assert.deepEqual(linesOf(await crawler(['retry', dir, '--class', 'dns', '--json'])), [
    { reopened: 0, running: false },
  ])
  assert.deepEqual(linesOf(await crawler(['retry', dir, '--match', 'gone$', '--json'])), [
    { reopened: 1, running: false },
  ])
  assert.equal((await crawler(['retry', dir, '--class', 'robots.denied'])).code, 2)
  const [end] = linesOf(await crawler(['resume', dir, '--json']))
  assert.deepEqual([end.done, end.failed, end.finished], [2, 1, true])
  assert.equal(site.asked.filter((path) => path === '/gone').length, 2)
})
