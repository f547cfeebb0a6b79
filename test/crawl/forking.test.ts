/** Forks as a user makes them, and what they must not do to their parent. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crawler, type Ended, linesOf, linking, newDir, QUICK, type Site, serve } from '../cli/crawler.ts'

/** Small segments, so that a fork shares some with its parent. */
const ENV = { CRAWLER_SEGMENT_BYTES: '4096' }

const run = (...args: string[]): Promise<Ended> => crawler(args, { env: ENV })

/** A tree of pages, three links deep: /1, /1/2, /1/2/3. */
function treeOf(): Record<string, string> {
  const pages: Record<string, string> = {}
  const grow = (path: string, depth: number): void => {
    const below = depth === 0 ? [] : [1, 2, 3].map((n) => `${path === '/' ? '' : path}/${n}`)
    pages[path] = linking(...below)
    for (const child of below) grow(child, depth - 1)
  }
  grow('/', 3)
  return pages
}

async function crawled(t: TestContext, ...more: string[]): Promise<{ site: Site; dir: string; records: number }> {
  const site = await serve(t, treeOf())
  const dir = newDir(t)
  const ended = await run('start', `${site.origin}/`, ...QUICK, '--dir', dir, '--json', ...more)
  assert.equal(ended.code, 0, ended.stderr)
  return { site, dir, records: Number(linesOf(ended)[0].events) }
}

/** Paths by state, sorted. */
async function pathsIn(dir: string, state: string): Promise<string[]> {
  const lines = linesOf(await run('urls', dir, '--state', state, '--json'))
  return lines.map(({ url }) => new URL(String(url)).pathname).sort()
}

/** Every file of a crawl's logs: what it holds, and which one it is. */
function filesIn(dir: string): Map<string, string> {
  const shard = join(dir, 'shards', '0')
  const files = ['log', 'pages'].flatMap((log) => readdirSync(join(shard, log)).map((name) => join(shard, log, name)))
  return new Map(
    files.map((path) => [path, `${statSync(path).ino} ${createHash('md5').update(readFileSync(path)).digest('hex')}`]),
  )
}

test('a fork at half way, resumed, ends in the set of its parent, and the parent is as it was', async (t) => {
  const { dir, records } = await crawled(t)
  const before = filesIn(dir)
  const fork = `${dir}-fork`
  const forked = await run('replay', dir, '--until', `@${records >> 1}`, '--fork', fork, '--json')
  assert.equal(forked.code, 0, forked.stderr)
  const [past] = linesOf(await run('replay', dir, '--until', `@${records >> 1}`, '--json'))
  assert.equal(linesOf(forked)[0].seen, past.seen)
  const shared = [...filesIn(fork).keys()].filter((path) => statSync(path).nlink === 2)
  assert(shared.length >= 4, 'sealed segments are shared')
  assert.equal((await run('resume', fork, '--quiet')).code, 0)
  assert.deepEqual(await pathsIn(fork, 'done'), await pathsIn(dir, 'done'))
  assert.equal((await run('verify', fork)).code, 0)
  assert.deepEqual(filesIn(dir), before)
  const again = linesOf(await run('replay', fork, '--until', `@${records >> 1}`, '--json'))
  assert.deepEqual(again, [past], "the parent's past is the fork's too")
})

test('a fork with wider rules finds what the parent turned away, one with narrower ones refuses what is queued', async (t) => {
  const { dir, records } = await crawled(t, '--depth', '2')
  const [deeper, narrower] = [`${dir}-deeper`, `${dir}-narrower`]
  assert.equal((await run('replay', dir, '--fork', deeper, '--depth', '3')).code, 0)
  assert.equal((await run('resume', deeper, '--quiet')).code, 0)
  assert.deepEqual(await pathsIn(deeper, 'done'), Object.keys(treeOf()).sort())
  const early = `@${records >> 2}`
  const had = linesOf(await run('replay', dir, '--until', early, '--json'))[0].done
  const options = ['--until', early, '--exclude', '/2', '--exclude', '/3']
  assert.equal((await run('replay', dir, '--fork', narrower, ...options)).code, 0)
  assert.equal((await run('resume', narrower, '--quiet')).code, 0)
  const done = await pathsIn(narrower, 'done')
  for (const path of ['/', '/1', '/1/1']) assert(done.includes(path), path)
  assert(done.filter((path) => /[23]/.test(path)).length <= Number(had))
})

test('resume with wider rules reads again what is stored, seeds included', async (t) => {
  const { dir } = await crawled(t, '--exclude', '/[23]')
  assert.deepEqual(await pathsIn(dir, 'done'), ['/', '/1', '/1/1', '/1/1/1'])
  assert.equal((await run('resume', dir, '--quiet', '--no-exclude')).code, 0)
  assert.deepEqual(await pathsIn(dir, 'done'), Object.keys(treeOf()).sort())
})

test('a directory that cannot take a fork is refused with exit 2, and what to do', async (t) => {
  const { dir } = await crawled(t)
  const refused = await run('replay', dir, '--fork', dir)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /holds a crawl already\.\n {2}Name a directory/)
  const full = `${dir}-full`
  mkdirSync(full)
  writeFileSync(join(full, 'letter'), 'dear')
  assert.equal((await run('replay', dir, '--fork', full)).code, 2)
  assert.deepEqual(readdirSync(full), ['letter'])
  const fixed = await run('replay', dir, '--fork', `${dir}-fixed`, '--order', 'depth')
  assert.equal(fixed.code, 2)
  assert(!existsSync(`${dir}-fixed`))
  assert.equal((await run('replay', dir, '--depth', '3')).code, 2, 'rules without a fork')
  assert.equal((await run('replay', dir, '--until', '1999-01-01')).code, 2)
  assert.match((await run('replay', dir, '--until', '1999-01-01')).stderr, /Name an instant from 20/)
})

test('an unfinished fork is called that by every command', async (t) => {
  const { dir } = await crawled(t)
  const fork = `${dir}-fork`
  assert.equal((await run('replay', dir, '--fork', fork)).code, 0)
  writeFileSync(join(fork, 'FORKING'), dir)
  for (const command of ['resume', 'replay', 'verify']) {
    const refused = await run(command, fork)
    assert.equal(refused.code, 1, command)
    assert.match(refused.stderr, /is an unfinished fork\.\n {2}Remove the directory/)
  }
  const again = await run('replay', dir, '--fork', fork)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /Remove it and fork again/)
})
