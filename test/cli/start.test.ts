/** A crawl from start to end: figures, exit codes, summary, log file. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crawler, type Ended, linesOf, linking, newDir, QUICK, serve } from './crawler.ts'

const STATUS_KEYS =
  'seen pending processing done failed refused hosts badHosts resolved bytes events seq digest time finished'.split(' ')

test('a crawl goes on until nothing is left, prints its figures as one line of JSON and exits 0', async (t) => {
  const site = await serve(t, { '/': linking('/a', '/b', '/gone'), '/a': linking('/'), '/b': 'last' })
  const ended = await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', newDir(t), '--json'])
  assert.equal(ended.code, 0, ended.stderr)
  const [status, ...more] = linesOf(ended)
  assert.equal(more.length, 0)
  assert.deepEqual(Object.keys(status), [...STATUS_KEYS, 'elapsedMs'])
  const { seen, done, failed, pending, finished } = status
  assert.deepEqual(
    { seen, done, failed, pending, finished },
    { seen: 4, done: 3, failed: 1, pending: 0, finished: true },
  )
  assert.match(ended.stderr, /^crawler: finished\n {2}3 pages in /)
  assert.match(ended.stderr, /failures: http\.status 1/)
})

test('--quiet says nothing where all is well', async (t) => {
  const site = await serve(t, { '/': 'only' })
  const ended = await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', newDir(t), '--quiet'])
  assert.deepEqual(ended, { code: 0, stdout: '', stderr: '' })
})

test('a crawl with not one page exits 1, with the first reason and the option that would change it', async (t) => {
  const site = await serve(t, {
    '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /' },
  })
  const denied = await crawler(['start', `${site.origin}/x`, ...QUICK, '--dir', newDir(t)])
  assert.equal(denied.code, 1)
  assert.match(denied.stderr, new RegExp(`not one page was had: robots\\.denied at ${site.origin}/x`))
  assert.match(denied.stderr, /robots\.denied +1 .*--no-robots/)
  const refused = await crawler(['start', 'http://127.0.0.1:1/', ...QUICK, '--dir', newDir(t)])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /not one page was had: connect\.refused/)
})

test('a limit that leaves work ends with exit 3, and resume with a higher one goes on', async (t) => {
  const site = await serve(t, { '/': linking('/a', '/b'), '/a': 'a', '/b': 'b' })
  const dir = newDir(t)
  const limited = await crawler(['start', `${site.origin}/`, ...QUICK, '--max-pages', '2', '--dir', dir, '--json'])
  assert.equal(limited.code, 3)
  assert.equal(linesOf(limited)[0].done, 2)
  assert.match(limited.stderr, /next: crawler resume .* --max-pages N/)
  const resumed = await crawler(['resume', dir, '--max-pages', '10', '--json'])
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.equal(linesOf(resumed)[0].done, 3)
  const again = await crawler(['resume', dir])
  assert.equal(again.code, 0)
  assert.match(again.stderr, /is finished: 3 pages, nothing was left to do/)
})

test('too little room on the disk is exit 6', async (t) => {
  const site = await serve(t, { '/': linking('/a'), '/a': 'a' })
  const ended = await crawler(['start', `${site.origin}/`, '--min-free', '1000000GiB', '--dir', newDir(t)])
  assert.equal(ended.code, 6)
  assert.match(ended.stderr, /stopped: only \d+ bytes are free/)
  assert.match(ended.stderr, /next: free some space, then crawler resume/)
})

test('start refuses a directory that holds a crawl and names resume', async (t) => {
  const site = await serve(t, { '/': 'only' })
  const dir = newDir(t)
  await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', dir])
  const ended = await crawler(['start', `${site.origin}/`, '--dir', dir])
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /holds a crawl already\.\n {2}Run `crawler resume`/)
})

test('resume refuses what was fixed at the start with a sentence, exit 2', async (t) => {
  const site = await serve(t, { '/': 'only' })
  const dir = newDir(t)
  await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', dir])
  const ended = await crawler(['resume', dir, '--order', 'depth'])
  assert.equal(ended.code, 2)
  assert.match(ended.stderr, /--order was fixed when the crawl began: breadth/)
  assert.equal((await crawler(['resume', dir, '--order', 'breadth'])).code, 0)
  assert.equal((await crawler(['resume', `${dir}-none`])).code, 1)
})

test('a bad line in a file of seeds is named with its number, and the others go on', async (t) => {
  const site = await serve(t, { '/a': 'a', '/b': 'b' })
  const dir = newDir(t)
  const seeds = `${dir}.txt`
  writeFileSync(seeds, `# two pages\n${site.origin}/a\nnot a url at all\nftp://x.test/\n${site.origin}/b`)
  const ended = await crawler(['start', '--seeds', seeds, ...QUICK, '--dir', dir, '--json'])
  assert.equal(ended.code, 0)
  assert.equal(linesOf(ended)[0].done, 2)
  assert.match(ended.stderr, /seed line 3: not a URL: "not a url at all"/)
  assert.match(ended.stderr, /seed line 4: only http and https are crawled/)
})

test('seeds come from standard input with --seeds -', async (t) => {
  const site = await serve(t, { '/a': 'a' })
  const args = ['start', '--seeds', '-', ...QUICK, '--dir', newDir(t), '--json']
  const ended = await crawler(args, { stdin: `${site.origin}/a\n` })
  assert.equal(linesOf(ended)[0].done, 1)
})

test('a flag goes before a variable, a variable before the file, the file before the default', async (t) => {
  const dir = newDir(t)
  const config = `${dir}.json`
  writeFileSync(
    config,
    JSON.stringify({ depth: 1, userAgent: 'from-file', retries: 7, hosts: { 'a.test': { delay: '5s' } } }),
  )
  const site = await serve(t, { '/': 'only' })
  const env = { CRAWLER_DEPTH: '2', CRAWLER_USER_AGENT: 'from-env', CRAWLER_INCLUDE: 'a\n/' }
  const ended = await crawler(
    ['start', `${site.origin}/`, '--depth', '3', '--config', config, '--delay', '0', '--dir', dir],
    { env },
  )
  assert.equal(ended.code, 0, ended.stderr)
  const first = JSON.parse(readFileSync(join(dir, 'crawler.log'), 'utf8').split('\n')[0]) as {
    settings: Record<string, unknown>
  }
  const { depthMax, userAgent, retriesMax, timeoutMs, include, hosts } = first.settings
  assert.deepEqual(
    { depthMax, userAgent, retriesMax, timeoutMs, include, hosts },
    {
      depthMax: 3,
      userAgent: 'from-env',
      retriesMax: 7,
      timeoutMs: 30_000,
      include: ['a', '/'],
      hosts: { 'a.test': { delayMs: 5000 } },
    },
  )
})

test('the log file tells of start and end, and holds no header value and no password', async (t) => {
  const site = await serve(t, { '/': 'only' })
  const dir = newDir(t)
  const seeds = `${dir}.txt`
  writeFileSync(seeds, `http://user:hunter2@[bad/\n${site.origin}/\n`)
  const args = ['start', '--seeds', seeds, ...QUICK, '--header', 'Authorization: Bearer hunter3', '--dir', dir]
  const ended = await crawler(args)
  assert.equal(ended.code, 0, ended.stderr)
  const log = readFileSync(join(dir, 'crawler.log'), 'utf8')
  assert.doesNotMatch(log + ended.stderr, /hunter/)
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; settings?: { header: string[] } })
  assert.deepEqual([lines[0].msg, lines.at(-1)?.msg], ['start', 'end'])
  assert.deepEqual(lines[0].settings?.header, ['Authorization: ***'])
  assert.ok(lines.some(({ msg }) => msg.includes('seed line 1')))
})

test('a directory with less than a crawl in it counts as empty', async (t) => {
  const site = await serve(t, { '/': 'only' })
  const dir = newDir(t)
  mkdirSync(join(dir, 'seeds'), { recursive: true })
  writeFileSync(join(dir, 'seeds', '0.txt'), 'http://left.over.test/\n')
  const ended = await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', dir, '--json'])
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(linesOf(ended)[0].seen, 1)
})

/** What a process may write to one file, in KiB: the nearest to a full disk that needs no disk of its own. */
function withFilesUpTo(kibibytes: number, args: readonly string[]): Promise<Ended> {
  const main = new URL('../../src/cli/main.ts', import.meta.url).pathname
  const command = `ulimit -f ${kibibytes * 2}; exec "$0" "$@"`
  const child = spawn('sh', ['-c', command, process.execPath, main, ...args])
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
}

test('where a write fails for want of room the figures are those of the log, exit 6, and resume goes on', async (t) => {
  const pages = Array.from({ length: 40 }, (_, i) => `/${i}`)
  const body = `${linking(...pages)}<p>${'text '.repeat(2000)}`
  const site = await serve(t, Object.fromEntries(['/', ...pages].map((path) => [path, body + path])))
  const dir = newDir(t)
  const full = await withFilesUpTo(128, ['start', `${site.origin}/`, ...QUICK, '--dir', dir, '--json'])
  assert.equal(full.code, 6, full.stderr)
  const { elapsedMs, ...kept } = linesOf(full)[0]
  assert.deepEqual(linesOf(await crawler(['status', dir, '--json'])), [kept])
  const [end] = linesOf(await crawler(['resume', dir, '--json']))
  assert.deepEqual([end.done, end.finished], [41, true])
})

test('seeds that find no room are exit 6, not a fault of the file', async (t) => {
  const dir = newDir(t)
  const seeds = `${dir}.txt`
  writeFileSync(seeds, 'http://a.test/\n'.repeat(20_000))
  const full = await withFilesUpTo(64, ['start', '--seeds', seeds, '--dir', dir])
  assert.equal(full.code, 6, full.stderr)
})
