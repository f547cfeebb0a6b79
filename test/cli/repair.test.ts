/** `verify --repair`: a damaged crawl goes on, and what is gone is told. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { acquireLock } from '../../src/adapters/lock.ts'
import { crawler, type Ended, linesOf, linking, newDir, QUICK, type Site, serve } from './crawler.ts'

let site: Site
let crawled: string
const env = { CRAWLER_SEGMENT_BYTES: '9000' }
const ending: Array<() => void> = []
const context = { after: (done: () => void) => ending.push(done) } as unknown as TestContext

before(async () => {
  const pages: Record<string, string> = {}
  for (let i = 0; i < 40; i++) pages[`/p${i}`] = linking(`/p${(i * 7 + 1) % 40}`, `/p${(i + 1) % 40}`)
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
  return { dir, run, shard: join(dir, 'shards/0') }
}

function zero(path: string, from: number, to: number): void {
  writeFileSync(path, readFileSync(path).fill(0, from, to))
}

const statesOf = async (run: (...args: string[]) => Promise<Ended>): Promise<string[]> =>
  linesOf(await run('urls', '--json'))
    .map(({ url, state }) => `${url} ${state}`)
    .sort()

test('a hole in the log is repaired: what is gone is told, verify says 0, and resume comes to the same end', async (t) => {
  const { dir, run, shard } = copyOf(t)
  const states = await statesOf(run)
  zero(join(shard, 'log/000001.val'), 3000, 4000)
  zero(join(shard, 'pages/000001.val'), 2000, 2200)
  const verified = await run('verify')
  assert.equal(verified.code, 4)
  assert.match(verified.stdout, /`crawler verify DIR --repair`/)

  const repaired = await run('verify', '--repair')
  assert.equal(repaired.code, 0, repaired.stdout + repaired.stderr)
  assert.match(
    repaired.stdout,
    /^lost: log\/000001\.val from offset \d+, .* records? \(number \d+( to \d+)?\), after .*, before /m,
  )
  assert.match(repaired.stdout, /^lost: pages\/000001\.val from offset/m)
  assert.match(repaired.stdout, /URLs? (is|are) pending again:\n {2}http/)
  assert.match(repaired.stdout, /^set aside: damaged\/[^/]+\/shards\/0\/pages\/000001\.val/m)
  assert.match(repaired.stdout, /all is well\n$/)
  const [time] = readdirSync(join(dir, 'damaged'))
  const aside = join(dir, 'damaged', time, 'shards/0')
  assert.deepEqual(readdirSync(join(aside, 'log')), ['000001.key', '000001.val'])
  assert.equal(readFileSync(join(aside, 'log/000001.val')).subarray(3000, 4000).some(Boolean), false)

  assert.equal((await run('verify')).code, 0)
  const asked = site.asked.length
  const resumed = await run('resume')
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.ok(site.asked.length > asked)
  assert.deepEqual(await statesOf(run), states)
  const early = await run('replay', '--until', '@3')
  assert.equal(early.code, 2)
  assert.match(early.stderr, /is known only as far as a repair found it/)
  const explained = await run('explain', `${site.origin}/p0`)
  assert.match(explained.stdout, /answered 200/)
  assert.doesNotMatch(explained.stdout, /compacted/)

  assert.equal((await run('compact')).code, 0)
  assert.equal((await run('verify')).code, 0)
  assert.deepEqual(await statesOf(run), states)
})

test('damaged KEY files, images, crawl.db and MANIFEST cost nothing but time, and that is said', async (t) => {
  const { dir, run, shard } = copyOf(t)
  zero(join(shard, 'log/000001.key'), 24, 48)
  zero(join(shard, 'pages/000001.key'), 24, 48)
  const [image] = readdirSync(join(shard, 'images'))
  truncateSync(join(shard, 'images', image), 1000)
  writeFileSync(join(dir, 'crawl.db'), 'no database'.repeat(1000))
  rmSync(join(dir, 'MANIFEST'))
  const repaired = await run('verify', '--repair')
  assert.equal(repaired.code, 0, repaired.stdout + repaired.stderr)
  for (const said of [/^log: the KEY of segment 1 is made anew/m, /^pages: the KEY of segment 1/m, /^Checkpoint \d+ /m])
    assert.match(repaired.stdout, said)
  for (const said of [/crawl\.db could not be read/, /MANIFEST was missing/, /^nothing is lost$/m, /all is well\n$/])
    assert.match(repaired.stdout, said)
  assert.ok(existsSync(join(dir, 'MANIFEST')))
  assert.deepEqual(readdirSync(join(shard, 'images')), [])
  assert.equal((await run('resume')).code, 0)
})

test('a log of which nothing is left begins anew from its seeds, with the settings of a checkpoint', async (t) => {
  const { run, shard } = copyOf(t)
  const states = await statesOf(run)
  rmSync(join(shard, 'log'), { recursive: true })
  const repaired = await run('verify', '--repair')
  assert.equal(repaired.code, 0, repaired.stdout + repaired.stderr)
  assert.match(repaired.stdout, /settings gone: those of a checkpoint hold/)
  const resumed = await run('resume')
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.deepEqual(await statesOf(run), states)
  assert.equal((await run('verify')).code, 0)
})

test('with --json one line says what was repaired and what verify found then; a sound crawl has nothing to repair', async (t) => {
  const { run, shard } = copyOf(t)
  const [{ ok, repair: nothing }] = linesOf(await run('verify', '--repair', '--json')) as never as Line[]
  assert.equal(ok, true)
  assert.equal(nothing.isRepaired, false)
  zero(join(shard, 'log/000001.val'), 3000, 3100)
  const [line] = linesOf(await run('verify', '--repair', '--json')) as never as Line[]
  assert.equal(line.ok, true)
  assert.ok(line.repair.isRepaired && line.repair.lost.length === 1 && line.repair.counts.urls > 0)
  assert.ok(line.repair.urls.every((url) => url.startsWith('http://127.0.0.1')))
})

interface Line {
  readonly ok: boolean
  readonly repair: {
    readonly isRepaired: boolean
    readonly lost: readonly unknown[]
    readonly counts: { readonly urls: number }
    readonly urls: readonly string[]
  }
}

test('a crawl that somebody has open is left alone: exit 5', async (t) => {
  const { dir, run } = copyOf(t)
  const lock = acquireLock(dir, '')
  const ended = await run('verify', '--repair')
  lock.release()
  assert.equal(ended.code, 5)
})
