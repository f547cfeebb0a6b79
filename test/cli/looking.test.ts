/** What the commands that read say of a crawl that has ended: one small crawl serves them all. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { crawler, type Ended, linesOf, linking, newDir, QUICK, type Site, serve } from './crawler.ts'

const PAGE = `<!doctype html><meta charset="iso-8859-1"><title>Caf\xe9 \x1b[31m</title><h1 id="top">Gr\xfc\xdfe</h1>
<a href="/a?x=1#part">a</a><a href="/moved">m</a><a href="http://outside.test/">o</a><a href="/private/x">p</a>
<a href="/gone">g</a><a rel="next" href="/bin">b</a>`
const BODY = Buffer.from(PAGE, 'latin1')
const DENY = 'User-agent: *\nDisallow: /private/\n'

let site: Site
let dir: string

/** One crawl for the file: the hooks of node:test have no context that would end with it. */
const ending: Array<() => void> = []
const context = { after: (done: () => void) => ending.push(done) } as unknown as TestContext

before(async () => {
  site = await serve(context, {
    '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: DENY },
    '/': { headers: { 'content-type': 'text/html', 'content-encoding': 'gzip', 'x-odd': 'yes' }, body: gzipSync(BODY) },
    '/a?x=1': linking('/'),
    '/moved': { status: 301, headers: { location: '/target' } },
    '/target': '<title>Target</title><p>Moved &amp; found</p>',
    '/bin': { headers: { 'content-type': 'application/octet-stream' }, body: Buffer.from([0, 1, 2, 255]) },
  })
  dir = newDir(context)
  const ended = await crawler(['start', `${site.origin}/`, ...QUICK, '--keep-refused', '--dir', dir])
  assert.equal(ended.code, 0, ended.stderr)
})
test.after(() => {
  for (const done of ending) done()
})

const ask = (...args: string[]): Promise<Ended> => crawler([...args, '--dir', dir])
const url = (path: string): string => site.origin + path

test('urls lists every URL once; as JSON with state, class, status, depth, source and attempts', async () => {
  const plain = await ask('urls')
  const paths = ['/', '/a?x=1', '/moved', '/private/x', '/gone', '/bin', '/target']
  assert.deepEqual(plain.stdout.trim().split('\n').sort(), paths.map(url).sort())
  const lines = linesOf(await ask('urls', '--json'))
  assert.ok(lines.every((line) => Object.keys(line).join() === 'url,state,class,status,depth,from,attempts'))
  const of = (path: string) => lines.find((line) => line.url === url(path))
  assert.deepEqual(of('/'), {
    url: url('/'),
    state: 'done',
    class: null,
    status: 200,
    depth: 0,
    from: null,
    attempts: 1,
  })
  const gone = {
    url: url('/gone'),
    state: 'failed',
    class: 'http.status',
    status: 404,
    depth: 1,
    from: url('/'),
    attempts: 1,
  }
  assert.deepEqual(of('/gone'), gone)
  const denied = {
    url: url('/private/x'),
    state: 'refused',
    class: 'robots.denied',
    status: null,
    depth: 1,
    from: url('/'),
    attempts: 0,
  }
  assert.deepEqual(of('/private/x'), denied)
  assert.equal(of('/target')?.from, url('/moved'))
})

test('urls is narrowed by state, class and pattern; a wrong word is exit 2 with the near one', async () => {
  assert.equal((await ask('urls', '--state', 'failed,refused')).stdout.trim().split('\n').length, 2)
  assert.equal((await ask('urls', '--class', 'http')).stdout, `${url('/gone')}\n`)
  assert.equal((await ask('urls', '--match', '/a\\?')).stdout, `${url('/a?x=1')}\n`)
  const wrong = await ask('urls', '--state', 'faild')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /Did you mean failed\?/)
  assert.equal((await ask('urls', '--match', '(')).code, 2)
})

test('urls --turned-away lists what was turned away on discovery, with the reason and the page', async () => {
  const [line] = linesOf(await ask('urls', '--turned-away', '--json'))
  assert.deepEqual(line, { url: 'http://outside.test/', class: 'scope.host', from: url('/'), state: 'turned-away' })
})

test('get gives the body decoded, or as it came, or its headers', async () => {
  assert.equal((await ask('get', url('/target'))).stdout, '<title>Target</title><p>Moved &amp; found</p>')
  const headers = await ask('get', url('/'), '--headers')
  assert.match(headers.stdout, /^HTTP 200\n/)
  assert.match(headers.stdout, /^x-odd: yes$/im)
  const [json] = linesOf(await ask('get', url('/'), '--json'))
  assert.equal(json.decodedBytes, BODY.length)
  assert.match(String(json.text), /Grüße/)
  const [binary] = linesOf(await ask('get', url('/bin'), '--json'))
  assert.equal(binary.base64, Buffer.from([0, 1, 2, 255]).toString('base64'))
})

test('get asks the page: title, text, elements and attributes, with control characters made visible', async () => {
  assert.equal((await ask('get', url('/'), '--title')).stdout, 'Café \\x1b[31m\n')
  assert.equal((await ask('get', url('/'), '--select', '#top', '--text')).stdout, 'Grüße\n')
  assert.equal((await ask('get', url('/'), '--select', 'a[rel]', '--attr', 'href')).stdout, '/bin\n')
  assert.deepEqual(linesOf(await ask('get', url('/target'), '--text', '--json')), [
    { url: url('/target'), found: ['Moved & found'] },
  ])
  assert.equal((await ask('get', url('/'), '--attr', 'href')).code, 2)
  const binary = await ask('get', url('/bin'), '--title')
  assert.equal(binary.code, 1)
  assert.match(binary.stderr, /is application\/octet-stream: neither HTML nor XML/)
  assert.equal((await ask('get', url('/'), '--select', '[[')).code, 2)
})

test('get and explain of an unknown URL, and get of one without a page, are exit 1 and say so', async () => {
  for (const command of ['get', 'explain']) {
    const unknown = await ask(command, url('/nowhere'))
    assert.equal(unknown.code, 1)
    assert.match(unknown.stderr, /is no URL of the crawl in /)
  }
  const refused = await ask('get', url('/private/x'))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /is refused; no page of it is stored/)
  assert.match((await ask('explain', 'http://outside.test/')).stderr, /turned away on .*, scope\.host/)
})

test('explain tells where a URL was found, by which rule, each attempt, redirects in and out', async () => {
  const [explained] = linesOf(await ask('explain', url('/target'), '--json')) as Array<Record<string, unknown>>
  const keys = ['url', 'state', 'events', 'depth', 'linkedFrom', 'robots', 'sameContent']
  assert.deepEqual(Object.keys(explained), keys)
  const events = explained.events as Array<Record<string, unknown>>
  assert.deepEqual(
    events.map((event) => event.kind),
    ['enqueue', 'claim', 'fetched'],
  )
  const [found, , fetched] = events
  assert.deepEqual([found.from, found.rule, found.redirects], [url('/moved'), 'scope host', [url('/moved')]])
  assert.deepEqual([fetched.status, fetched.attempt, fetched.address], [200, 1, '127.0.0.1'])
  assert.ok(events.every((event) => Number.isInteger(event.seq) && !Number.isNaN(Date.parse(event.time as string))))
  const text = (await ask('explain', url('/moved'))).stdout
  assert.match(text, /found on .*\/\n {4}depth 1, by rule: scope host/)
  assert.match(text, /redirects to .*\/target/)
})

test('explain names the pages that link to a URL, its robots.txt, where its body is, and what has the same body', async () => {
  const [front] = linesOf(await ask('explain', url('/'), '--json')) as Array<Record<string, unknown>>
  const { linkedFrom, robots, sameContent, depth } = front
  const { pages, ...rest } = linkedFrom as { pages: Array<Record<string, unknown>> }
  assert.deepEqual(rest, { count: 1, isComplete: true })
  assert.deepEqual(
    pages.map(({ url: page, how }) => [page, how]),
    [[url('/a?x=1'), 'link']],
  )
  assert.deepEqual(
    [(robots as Record<string, unknown>).verdict, depth, sameContent],
    ['allowed', 0, { count: 0, urls: [] }],
  )
  const fetched = (front.events as Array<Record<string, unknown>>).at(-1) ?? {}
  assert.deepEqual(fetched.bodyAt, fetched.page)
  assert.match(String(fetched.digest), /^[0-9a-f]{32}$/)
  const [target] = linesOf(await ask('explain', url('/target'), '--json')) as Array<{ linkedFrom: { pages: object[] } }>
  assert.equal((target.linkedFrom.pages[0] as { how: string }).how, 'redirect')
  const [quick] = linesOf(await ask('explain', url('/target'), '--no-links', '--json'))
  assert.equal(quick.linkedFrom, null)
  const few = (await ask('explain', url('/a?x=1'), '--links-max', '0')).stdout
  assert.match(few, /^linked from 1 page\n {4}and 1 more$/m)
})

test('explain of a URL that the crawl has not says which rule refuses it now', async () => {
  const denied = await ask('explain', url('/private/y'), '--json')
  const [{ error }] = linesOf(denied) as Array<{ error: { facts: Record<string, string> } }>
  assert.deepEqual([denied.code, error.facts.rule], [1, 'robots.denied'])
  assert.match((await ask('explain', url('/other'))).stderr, /The rules would admit it now/)
  assert.match((await ask('explain', 'http://outside.test/')).stderr, /By the rules of now it is refused: scope\.host/)
})

test('the sequence numbers of explain are those of replay: the URL is done from its record on, not before', async () => {
  const [{ events }] = linesOf(await ask('explain', url('/target'), '--json')) as Array<{
    events: Array<{ seq: number }>
  }>
  const last = events.at(-1)?.seq ?? 0
  const [before] = linesOf(await ask('replay', '--until', `@${last - 1}`, '--json'))
  const [after] = linesOf(await ask('replay', '--until', `@${last}`, '--json'))
  assert.equal(after.done, (before.done as number) + 1)
  assert.equal(after.seq, String(last))
})

test('replay gives the figures of status, and those of any instant; before the first record it is exit 2', async () => {
  const [status] = linesOf(await ask('status', '--json'))
  assert.deepEqual(linesOf(await ask('replay', '--json')), [status])
  assert.deepEqual(linesOf(await ask('replay', '--until', String(status.time), '--json')), [status])
  for (const until of ['@0', '2001-01-01', '0']) {
    const early = await ask('replay', '--until', until, '--json')
    assert.equal(early.code, 2)
    const [{ error }] = linesOf(early) as Array<{ error: { facts: { earliest: string } } }>
    assert.match(error.facts.earliest, /^20\d\d-.*Z$/)
  }
  assert.equal((await ask('replay', '--until', 'noon')).code, 2)
})

test('status, list and verify agree on what the crawl is', async () => {
  const status = await ask('status')
  assert.match(status.stdout, /^state +finished$/m)
  assert.match(status.stdout, /^URLs +7 seen: 5 done, 1 failed, 1 refused, 0 pending/m)
  assert.match(status.stdout, /^checkpoint +at record \d+/m)
  assert.ok(status.stdout.split('\n').every((line) => line.length <= 80 || line.startsWith('crawl ')))
  const list = await crawler(['list', dirname(dir), '--json'])
  const [{ dir: listed, state, done }] = linesOf(list)
  assert.deepEqual({ listed, state, done }, { listed: dir, state: 'finished', done: 5 })
  const verify = await ask('verify')
  assert.equal(verify.code, 0, verify.stdout)
  assert.match(verify.stdout, /all is well/)
})

test('check tells what the rules say, also of a URL that the crawl has not met', async () => {
  const [denied] = linesOf(await ask('check', url('/private/y'), '--json'))
  assert.deepEqual([denied.state, denied.scope, denied.robots], ['', 'admitted', 'denied'])
  const [outside] = linesOf(await ask('check', 'http://outside.test/', '--json'))
  assert.equal(outside.scope, 'scope.host')
  assert.match((await ask('check', url('/'))).stdout, /^state +done$/m)
})

test('nothing that reads changes a file of the crawl', async () => {
  const read = () => readFileSync(join(dir, 'shards/0/log/000001.val'))
  const bytes = read()
  for (const command of ['status', 'urls', 'replay', 'verify']) await ask(command)
  assert.deepEqual(read(), bytes)
})
