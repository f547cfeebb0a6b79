/** Mistakes of the command line are told with the near name and exit code 2, before anything is done. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { crawler, linesOf, newDir } from './crawler.ts'

test('--version prints the version and --help the commands, with three examples', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  assert.deepEqual(await crawler(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
  const help = await crawler(['--help'])
  assert.equal(help.code, 0)
  for (const name of 'start resume replay compact status verify urls get add retry check list explain'.split(' ')) {
    assert.match(help.stdout, new RegExp(`^  ${name} `, 'm'))
  }
  assert.equal(help.stdout.split('Examples:\n')[1].trim().split('\n').length, 3)
  assert.ok(help.stdout.split('\n').every((line) => line.length <= 80 || line.startsWith('All take')))
})

test('without a command the help goes to standard error, exit 2', async () => {
  const ended = await crawler([])
  assert.equal(ended.code, 2)
  assert.equal(ended.stdout, '')
  assert.match(ended.stderr, /^Usage: crawler/)
})

test('the help of a command lists its options within 80 columns', async () => {
  const help = await crawler(['start', '--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /--body-max SIZE .*\(default 16MiB\)/)
  assert.match(help.stdout, /--\[no-\]robots/)
  assert.ok(help.stdout.split('\n').every((line) => line.length <= 80))
})

test('an unknown command names the near one, exit 2', async () => {
  const ended = await crawler(['strat', 'http://a.test/'])
  assert.equal(ended.code, 2)
  assert.equal(ended.stderr, 'crawler: "strat" is no command.\n  Did you mean `crawler start`?\n')
})

test('an unknown option names the near one, exit 2, and nothing is created', async (t) => {
  const dir = newDir(t)
  const ended = await crawler(['start', 'http://127.0.0.1:1/', '--dely', '5', '--dir', dir])
  assert.equal(ended.code, 2)
  assert.match(ended.stderr, /--dely is no option of `crawler start`\.\n {2}Did you mean --delay\?/)
  assert.equal(existsSync(dir), false)
})

test('values that are not understood are all told at once, by the names that were written', async (t) => {
  const config = `${newDir(t)}.yaml`
  writeFileSync(config, 'bodyMx: 4MiB\nhosts:\n  a.test: {dely: 3}\n')
  const args = ['start', 'http://127.0.0.1:1/', '--depth', 'x', '--config', config, '--dir', newDir(t)]
  const ended = await crawler(args, { env: { CRAWLER_DELLAY: '5', CRAWLER_RETRIES: 'many', CRAWLER_PORT: 'tcp://1' } })
  assert.equal(ended.code, 2)
  assert.match(ended.stderr, /CRAWLER_DELLAY is unknown; did you mean CRAWLER_DELAY\?/)
  assert.match(ended.stderr, /"bodyMx" is unknown; did you mean "bodyMax"\?/)
  assert.match(ended.stderr, /"hosts\.a\.test\.dely" is unknown; did you mean "delay"\?/)
  assert.match(ended.stderr, /CRAWLER_RETRIES is "many"; it must be a whole number/)
  assert.match(ended.stderr, /--depth is "x"; it must be a whole number/)
  assert.doesNotMatch(ended.stderr, /CRAWLER_PORT/)
})

test('a seed on the command line that is no URL, an unreadable file and no seed at all are exit 2', async (t) => {
  const dir = newDir(t)
  for (const args of [['ftp://a.test/'], ['--seeds', '/nonexistent/seeds'], []]) {
    const ended = await crawler(['start', ...args, '--dir', dir])
    assert.equal(ended.code, 2, ended.stderr)
    assert.equal(existsSync(dir), false)
  }
})

test('a second directory, one argument too many and a missing value are exit 2', async () => {
  assert.match((await crawler(['status', 'a', '--dir', 'b'])).stderr, /Two directories are named/)
  assert.match((await crawler(['status', 'a', 'b'])).stderr, /"b" is one argument too many/)
  assert.match((await crawler(['explain'])).stderr, /URL is missing/)
  const ended = await crawler(['start', 'http://a.test/', '--delay'])
  assert.equal(ended.code, 2)
  assert.match(ended.stderr, /--delay needs a value/)
})

test('with --json an error is a line of JSON on standard output too', async (t) => {
  const ended = await crawler(['status', newDir(t), '--json'])
  assert.equal(ended.code, 1)
  const [{ error }] = linesOf(ended) as Array<{ error: Record<string, unknown> }>
  assert.deepEqual(Object.keys(error), ['code', 'message', 'hint', 'facts'])
  assert.equal(error.code, 'DIR_NO_CRAWL')
  assert.match(ended.stderr, /^crawler: There is no crawl in /)
})
