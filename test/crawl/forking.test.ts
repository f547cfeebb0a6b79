/** Forks as a user makes them, and what they must not do to their parent. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { URL_STATE } from '../../src/core/state.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, readCrawl } from '../../src/crawl/reading.ts'
import type { Status } from '../../src/crawl/status.ts'
import { forEachUrl } from '../../src/crawl/urls.ts'
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

/** Paths of the pages it has, sorted. */
function donePathsIn(dir: string): string[] {
  const past = readCrawl(nodeDisk, layoutOf(dir))
  const paths: string[] = []
  forEachUrl(past, { states: new Set([URL_STATE.done]) }, false, ({ url }) => paths.push(new URL(url).pathname))
  closeLogs(past.logs)
  return paths.sort()
}

function statusAt(dir: string, sequence: number): Status {
  const past = readCrawl(nodeDisk, layoutOf(dir), { kind: 'sequence', sequence })
  closeLogs(past.logs)
  return past.status
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
  const past = statusAt(dir, records >> 1)
  assert.equal(linesOf(forked)[0].seen, past.seen)
  const shared = [...filesIn(fork).keys()].filter((path) => statSync(path).nlink === 2)
  assert(shared.length >= 4, 'sealed segments are shared')
  assert.equal((await run('resume', fork, '--quiet')).code, 0)
  assert.deepEqual(donePathsIn(fork), donePathsIn(dir))
  assert.equal((await run('verify', fork)).code, 0)
  assert.deepEqual(filesIn(dir), before)
  assert.deepEqual(statusAt(fork, records >> 1), past, "the parent's past is the fork's too")
})

test('a fork with wider rules finds what the parent turned away, one with narrower ones refuses what is queued', async (t) => {
  const { dir, records } = await crawled(t, '--depth', '2')
  const [deeper, narrower] = [`${dir}-deeper`, `${dir}-narrower`]
  assert.equal((await run('replay', dir, '--fork', deeper, '--depth', '3')).code, 0)
  assert.equal((await run('resume', deeper, '--quiet')).code, 0)
  assert.deepEqual(donePathsIn(deeper), Object.keys(treeOf()).sort())
  const early = `@${records >> 2}`
  const had = statusAt(dir, records >> 2).done
  const options = ['--until', early, '--exclude', '/2', '--exclude', '/3']
  assert.equal((await run('replay', dir, '--fork', narrower, ...options)).code, 0)
  assert.equal((await run('resume', narrower, '--quiet')).code, 0)
  const done = donePathsIn(narrower)
  for (const path of ['/', '/1', '/1/1']) assert(done.includes(path), path)
  assert(done.filter((path) => /[23]/.test(path)).length <= had)
})

test('resume with wider rules reads again what is stored, seeds included', async (t) => {
  const { dir } = await crawled(t, '--exclude', '/[23]')
  assert.deepEqual(donePathsIn(dir), ['/', '/1', '/1/1', '/1/1/1'])
  assert.equal((await run('resume', dir, '--quiet', '--no-exclude')).code, 0)
  assert.deepEqual(donePathsIn(dir), Object.keys(treeOf()).sort())
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
  const early = await run('replay', dir, '--until', '1999-01-01')
  assert.equal(early.code, 2)
  assert.match(early.stderr, /Name an instant from 20/)
})

test('an unfinished fork is called that by every command', async (t) => {
  const { dir } = await crawled(t)
  const fork = `${dir}-fork`
  assert.equal((await run('replay', dir, '--fork', fork)).code, 0)
  writeFileSync(join(fork, 'FORKING'), dir)
  for (const command of ['resume', 'verify']) {
    const refused = await run(command, fork)
    assert.equal(refused.code, 1, command)
    assert.match(refused.stderr, /is an unfinished fork\.\n {2}Remove the directory/)
  }
  const again = await run('replay', dir, '--fork', fork)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /Remove it and fork again/)
})
