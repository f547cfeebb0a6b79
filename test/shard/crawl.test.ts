import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeContent } from '../../src/adapters/content.ts'
import { keyOf } from '../../src/base/md5.ts'
import { KIND } from '../../src/core/kind.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { bodyOf, readPage } from '../../src/shard/pages.ts'
import { crawl } from './small-crawl.ts'

const page = (...links: string[]): { body: string } => ({
  body: links.map((href) => `<a href="${href}">x</a>`).join(''),
})

test('a request leaves only when its claim is written', () => {
  let checked = 0
  crawl({
    pages: { 'http://a.test/': page('/b', '/c'), 'http://a.test/b': page(), 'http://a.test/c': page() },
    seeds: ['http://a.test/'],
    onRequest: ({ url }, disk) => {
      const { events } = openShardLogs(disk, '/crawl', 'read')
      let claimed = false
      for (const { number } of events.segments) {
        events.scan(number, (record) => {
          if (record.kind === KIND.claim && record.body.includes(Buffer.from(keyOf(url), 'latin1'))) claimed = true
        })
      }
      assert.ok(claimed, url)
      checked++
    },
  })
  assert.equal(checked, 3)
})

test('a private address is contacted only where a seed names it by IP literal', () => {
  const { stateOf, requests } = crawl({
    pages: {
      'http://127.0.0.1:8000/': page('http://127.0.0.1:9000/', 'http://inner.test/'),
      'http://inner.test/': page(),
    },
    seeds: ['http://127.0.0.1:8000/', 'http://inner.test/'],
    settings: { scope: 'any' },
    addresses: { '127.0.0.1': ['127.0.0.1'], 'inner.test': ['10.0.0.7'] },
  })
  assert.equal(stateOf('http://127.0.0.1:8000/'), 'done')
  assert.equal(stateOf('http://127.0.0.1:9000/'), 'refused')
  assert.equal(stateOf('http://inner.test/'), 'refused')
  assert.deepEqual(
    requests.map((request) => request.url),
    ['http://127.0.0.1:8000/'],
  )
})

test('a host with a public and a private address is contacted at the public one alone', () => {
  const { requests } = crawl({
    pages: { 'http://a.test/': page() },
    seeds: ['http://a.test/'],
    addresses: { 'a.test': ['192.168.1.1', '93.184.216.34'] },
  })
  assert.deepEqual(
    requests.map((request) => request.address),
    ['93.184.216.34'],
  )
})

test('a page of ten thousand links as long as links may be does not make a record too long', () => {
  const tail = 'x'.repeat(2000)
  const links = Array.from({ length: 10_000 }, (_, i) => `/${i}/${tail}`)
  const { events, stateOf } = crawl({
    pages: { 'http://a.test/': page(...links) },
    seeds: ['http://a.test/'],
    settings: { keepRefused: true, pagesMax: 1 },
    untilMs: 1000,
  })
  const fetched = events.find((event) => event.kind === KIND.fetched)
  assert.ok(fetched?.kind === KIND.fetched)
  const admitted = fetched.groups.reduce((sum, group) => sum + group.links.length, 0)
  const cut = fetched.turnedAway.find(([reason]) => reason === REASONS['budget.links'])?.[1] ?? 0
  assert.equal(admitted + cut, 10_000)
  assert.ok(admitted > 500)
  assert.equal(stateOf('http://a.test/'), 'done')
})

test('a body of more than a record is stored whole', () => {
  const body = Buffer.alloc(9 * 1024 * 1024, 'abc ')
  const { events, disk } = crawl({
    pages: { 'http://a.test/': { body, headers: [['content-type', 'text/plain']] } },
    seeds: ['http://a.test/'],
  })
  const fetched = events.find((event) => event.kind === KIND.fetched)
  assert.ok(fetched?.kind === KIND.fetched && fetched.stored !== undefined)
  const { pages } = openShardLogs(disk, '/crawl', 'read')
  const stored = readPage(pages, fetched.stored.page, decodeContent)
  assert.ok(stored !== undefined && Buffer.compare(bodyOf(pages, stored, decodeContent), body) === 0)
})

test('the same body is stored once, and read back from both places', () => {
  const body = `<p>${'same '.repeat(1000)}</p>`
  const { events, disk } = crawl({
    pages: {
      'http://a.test/': { body: `${page('/1', '/2').body}` },
      'http://a.test/1': { body },
      'http://a.test/2': { body },
    },
    seeds: ['http://a.test/'],
  })
  const { pages } = openShardLogs(disk, '/crawl', 'read')
  assert.ok(pages.end.position < 2 * body.length)
  for (const event of events) {
    if (event.kind !== KIND.fetched || event.attempt.link.url.endsWith('test/')) continue
    const stored = readPage(pages, (event.stored as NonNullable<typeof event.stored>).page, decodeContent)
    assert.equal(Buffer.from(bodyOf(pages, stored as NonNullable<typeof stored>, decodeContent)).toString(), body)
  }
})

test('a redirect from a seed makes its target a seed, and scope follows it', () => {
  const { stateOf } = crawl({
    pages: {
      'http://a.test/': { status: 301, headers: [['location', 'https://www.a.test/home']] },
      'https://www.a.test/home': page('/in', 'http://other.test/'),
      'https://www.a.test/in': page(),
    },
    seeds: ['http://a.test/'],
  })
  assert.equal(stateOf('https://www.a.test/home'), 'done')
  assert.equal(stateOf('https://www.a.test/in'), 'done')
  assert.equal(stateOf('http://other.test/'), '')
})

test('a chain of redirects that meets itself is redirect.loop, one over the limit redirect.limit', () => {
  const to = (location: string): { status: number; headers: Array<readonly [string, string]> } => ({
    status: 302,
    headers: [['location', location]],
  })
  const chain = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`http://a.test/${i}`, to(`/${i + 1}`)]))
  const { events } = crawl({
    pages: { ...chain, 'http://a.test/x': to('/y'), 'http://a.test/y': to('/x') },
    seeds: ['http://a.test/0', 'http://a.test/x'],
    settings: { redirectsMax: 3 },
  })
  const failed = events.flatMap((event) => (event.kind === KIND.failed ? [[event.attempt.link.url, event.reason]] : []))
  assert.deepEqual(failed.sort(), [
    ['http://a.test/3', REASONS['redirect.limit']],
    ['http://a.test/y', REASONS['redirect.loop']],
  ])
})

test('--max-pages is exact: claims in flight count', () => {
  const links = Array.from({ length: 50 }, (_, i) => `/${i}`)
  const pages = Object.fromEntries(links.map((path) => [`http://a.test${path}`, { body: `page ${path}` }]))
  const { shard } = crawl({
    pages: { 'http://a.test/': page(...links), ...pages },
    seeds: ['http://a.test/'],
    settings: { pagesMax: 7 },
    untilMs: 5000,
  })
  assert.equal(shard.state.pages, 7)
})

test('with a delay one request is in flight, and the delay counts from the end of the answer', () => {
  const { requests } = crawl({
    pages: { 'http://a.test/': page('/1', '/2'), 'http://a.test/1': page(), 'http://a.test/2': page() },
    seeds: ['http://a.test/'],
    settings: { delayMs: 1000, perHost: 1 },
  })
  const gaps = requests.slice(1).map(({ atMs }, i) => atMs - requests[i].atMs)
  assert.ok(
    gaps.every((gap) => gap >= 1010),
    gaps.join(' '),
  )
})

test('Retry-After delays the host, not the URL alone', () => {
  const { requests, stateOf } = crawl({
    pages: {
      'http://a.test/': page('/busy', '/next'),
      'http://a.test/busy': (times) =>
        times === 1 ? { status: 503, headers: [['retry-after', '60']] } : { body: 'at last' },
      'http://a.test/next': page(),
    },
    seeds: ['http://a.test/'],
    settings: { delayMs: 1000, perHost: 1 },
  })
  const busy = requests.findIndex(({ url }) => url.endsWith('/busy'))
  assert.ok(requests[busy + 1].atMs - requests[busy].atMs >= 60_000)
  assert.equal(stateOf('http://a.test/busy'), 'done')
})

test('robots.txt is asked for once per origin, before any page, and obeyed', () => {
  const { requests, stateOf } = crawl({
    pages: {
      'http://a.test/robots.txt': { body: 'User-agent: *\nDisallow: /no', headers: [['content-type', 'text/plain']] },
      'http://a.test/': page('/no/1', '/yes'),
      'http://a.test/yes': page(),
    },
    seeds: ['http://a.test/'],
    settings: { robots: true },
  })
  assert.equal(requests[0].url, 'http://a.test/robots.txt')
  assert.equal(requests.filter(({ url }) => url.endsWith('/robots.txt')).length, 1)
  assert.equal(stateOf('http://a.test/no/1'), 'refused')
  assert.equal(stateOf('http://a.test/yes'), 'done')
})

for (const order of ['breadth', 'depth', 'priority', 'random'] as const) {
  test(`--order ${order} ends in the same set`, () => {
    const pages: Record<string, { body: string }> = { 'http://a.test/': page('/0', '/1', '/2') }
    for (let i = 0; i < 200; i++)
      pages[`http://a.test/${i}`] = page(`/${(i * 2) % 200}`, `/${(i * 2 + 1) % 200}`, `/${(i * 7) % 200}`)
    const { shard, requests } = crawl({
      pages,
      seeds: ['http://a.test/'],
      settings: { order, prefer: ['/1'], perHost: 1 },
    })
    assert.equal(shard.state.counts[3], 201)
    assert.equal(new Set(requests.map(({ url }) => url)).size, 201)
    assert.equal(requests.length, 201)
  })
}

test('--order priority takes what --prefer matches first', () => {
  const { requests } = crawl({
    pages: { 'http://a.test/': page('/dull/1', '/dull/2', '/good/1', '/good/2') },
    seeds: ['http://a.test/'],
    settings: { order: 'priority', prefer: ['/good/'], perHost: 1 },
  })
  assert.deepEqual(
    requests.slice(1, 3).map(({ url }) => url),
    ['http://a.test/good/1', 'http://a.test/good/2'],
  )
})

test('--depth gives the set of a plain walk, also where the shorter way is found later', () => {
  // /long is found first, three links deep; the short way to it comes later and admits what it links to.
  const { stateOf } = crawl({
    pages: {
      'http://a.test/': page('/1', '/slow'),
      'http://a.test/1': page('/2'),
      'http://a.test/2': page('/long'),
      'http://a.test/long': page('/far'),
      'http://a.test/far': page(),
      'http://a.test/slow': (times) => (times === 1 ? { status: 503 } : page('/long')),
    },
    seeds: ['http://a.test/'],
    settings: { depthMax: 3, order: 'depth', perHost: 1 },
  })
  assert.equal(stateOf('http://a.test/long'), 'done')
  assert.equal(stateOf('http://a.test/far'), 'done')
})

test('a limit of depth for one host alone reads pages again too, when a shorter way is found', () => {
  const { stateOf } = crawl({
    pages: {
      'http://a.test/': page('/1', '/slow'),
      'http://a.test/1': page('/2'),
      'http://a.test/2': page('/long'),
      'http://a.test/long': page('/far'),
      'http://a.test/far': page(),
      'http://a.test/slow': (times) => (times === 1 ? { status: 503 } : page('/long')),
    },
    seeds: ['http://a.test/'],
    settings: { hosts: { 'a.test': { depthMax: 3 } }, order: 'depth', perHost: 1 },
  })
  assert.equal(stateOf('http://a.test/far'), 'done')
})

test('a host that does not exist is bad, and all of its URLs fail with it', () => {
  const { shard, stateOf } = crawl({
    pages: { 'http://a.test/': page('http://gone.test/1', 'http://gone.test/2') },
    seeds: ['http://a.test/'],
    settings: { scope: 'any' },
    addresses: { 'gone.test': [] },
  })
  assert.equal(shard.state.badHosts, 1)
  assert.equal(stateOf('http://gone.test/1'), 'failed')
  assert.equal(stateOf('http://gone.test/2'), 'failed')
})
