/** `export` as a user runs it: into a file, killed, gone on with, cut, into a pipe that closes. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { crawler, type Ended, linesOf, linking, newDir, QUICK, serve, startCrawler } from './crawler.ts'

/** Enough that an export has not ended when it is killed. */
const PAGES = 60
const PAGE_BYTES = 200_000

let dir: string
let whole: string

const ending: Array<() => void> = []
const context = { after: (done: () => void) => ending.push(done) } as unknown as TestContext

before(async () => {
  const paths = Array.from({ length: PAGES }, (_, i) => `/${i}`)
  const filler = 'A sentence of some words, and then some. '
  const body = (path: string) => `<title>${path}</title>${(path + filler).repeat(PAGE_BYTES / filler.length)}`
  const pages = Object.fromEntries(paths.map((path) => [path, body(path)]))
  const site = await serve(context, { ...pages, '/': linking(...paths, '/missing') })
  dir = newDir(context)
  const ended = await crawler(['start', `${site.origin}/`, ...QUICK, '--dir', dir])
  assert.equal(ended.code, 0, ended.stderr)
  await exported('--out', `${dir}/whole.jsonl`)
  whole = readFileSync(`${dir}/whole.jsonl`, 'utf8')
})
test.after(() => {
  for (const done of ending) done()
})

const exported = (...args: string[]): Promise<Ended> => crawler(['export', 'jsonl', ...args, '--dir', dir])

const FIELDS =
  'seq url state class reason status depth from attempts firstSeen fetched address location headers contentType ' +
  'bodyBytes decodedBytes truncated sha256 digest text'

test('a line has the fields of the README, in their order', () => {
  const lines = linesOf({ code: 0, stdout: whole, stderr: '' })
  assert.equal(lines.length, PAGES + 2)
  for (const line of lines) assert.equal(Object.keys(line).join(' '), FIELDS)
})

test('an export that is killed and gone on with comes to the same bytes as one that nobody disturbed', async () => {
  const path = `${dir}/killed.jsonl`
  let killed = 0
  for (let size = 0; killed < 3; ) {
    const { process: child, ended } = startCrawler(['export', 'jsonl', '--out', path, '--dir', dir])
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    while (!hasEnded && sizeOf(path) <= size) await sleep(1)
    if (hasEnded) break
    child.kill('SIGKILL')
    await ended
    size = sizeOf(path)
    killed++
  }
  assert.ok(killed > 0)
  assert.equal((await exported('--out', path)).code, 0)
  assert.ok(readFileSync(path, 'utf8') === whole, 'other bytes')
})

test('a torn last line is cut, wherever it is torn; a file that is something else is left alone', async () => {
  const path = `${dir}/torn.jsonl`
  writeFileSync(path, whole)
  for (const bytes of [whole.length - 1, 3]) {
    truncateSync(path, bytes)
    assert.match((await exported('--out', path)).stderr, bytes > 9 ? /1 URL added to/ : /62 URLs exported to/)
    assert.ok(readFileSync(path, 'utf8') === whole, `torn at ${bytes}`)
  }
  writeFileSync(path, 'notes of mine')
  assert.equal((await exported('--out', path)).code, 2)
  assert.equal(readFileSync(path, 'utf8'), 'notes of mine')
})

test('a reader that goes away ends an export quietly', async () => {
  const { process: child, ended } = startCrawler(['export', 'jsonl', '--dir', dir])
  child.stdout?.once('data', () => child.stdout?.destroy())
  const { code, stderr } = await ended
  assert.deepEqual([code, stderr], [0, ''])
})

test('a wrong format or instant is exit 2, and a format has a near one', async () => {
  const wrong = await crawler(['export', 'json', '--dir', dir])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /Did you mean jsonl\?/)
  assert.equal((await exported('--since', 'noon')).code, 2)
})

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
