/** Scope: which links belong to the crawl, and by which word one is turned away. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  admits,
  admitsHost,
  admitsPath,
  compileScope,
  refusalOfUrl,
  rulesOfHost,
  scopeKeysOf,
} from '../../src/core/scope.ts'
import { resolveSettings, type Settings } from '../../src/core/settings.ts'

/** Asks about links one below the seeds. */
function given(chosen: Partial<Settings>, ...seeds: string[]): (url: string, depth?: number) => string | undefined {
  const compiled = compileScope(resolveSettings(chosen))
  const keys = new Set(seeds.flatMap((seed) => Object.values(scopeKeysOf(seed)) as string[]))
  return (url, depth = 1) => admits(compiled, url, depth, (key) => keys.has(key))
}

test('scope host admits the seeds’ hosts, port included, whatever the scheme', () => {
  const ask = given({}, 'http://a.test/x', 'http://b.test:8080/')
  assert.deepEqual(
    ['http://a.test/', 'https://a.test/y', 'http://b.test:8080/z', 'http://b.test/', 'http://www.a.test/'].map((url) =>
      ask(url),
    ),
    [undefined, undefined, undefined, 'scope.host', 'scope.host'],
  )
})

test('scope domain admits the registrable domain by the public suffix list', () => {
  const ask = given({ scope: 'domain' }, 'http://www.a.co.uk/', 'http://me.github.io/')
  assert.deepEqual(
    [
      'http://a.co.uk/',
      'https://x.y.a.co.uk:81/',
      'http://b.co.uk/',
      'http://you.github.io/',
      'http://x.me.github.io/',
    ].map((url) => ask(url)),
    [undefined, undefined, 'scope.domain', 'scope.domain', undefined],
  )
})

test('an address, a single label or a suffix is a domain of its own', () => {
  const ask = given(
    { scope: 'domain' },
    'http://127.0.0.1:80/',
    'http://localhost:81/',
    'http://github.io/',
    'http://[::1]:82/',
  )
  assert.deepEqual(
    [
      'http://127.0.0.1:80/a',
      'http://127.0.0.2/',
      'http://localhost:81/',
      'http://localhost:82/',
      'http://x.github.io/',
      'http://[::1]:82/',
    ].map((url) => ask(url)),
    [undefined, 'scope.domain', undefined, 'scope.domain', 'scope.domain', undefined],
  )
})

test('scope prefix admits what lies in or below a seed’s directory', () => {
  const ask = given({ scope: 'prefix' }, 'http://a.test/docs/v1/index.html?a=/b/', 'http://b.test/')
  const urls = [
    'http://a.test/docs/v1/',
    'https://a.test/docs/v1/x/y?z',
    'http://a.test/docs/v1',
    'http://a.test/docs/',
    'http://b.test/q/r',
  ]
  assert.deepEqual(
    urls.map((url) => ask(url)),
    [undefined, undefined, 'scope.prefix', 'scope.prefix', undefined],
  )
  assert.equal(ask('http://a.test/?/docs/v1/'), 'scope.prefix')
  assert.equal(ask('http://c.test/docs/v1/'), 'scope.prefix')
})

test('scope any admits every host', () => {
  assert.equal(given({ scope: 'any' })('http://z.test/'), undefined)
})

test('a seed is in scope by being one, and need not match include, but exclude holds', () => {
  const ask = given({ scope: 'prefix', include: ['/news/'], exclude: ['secret'] })
  assert.equal(ask('http://a.test/', 0), undefined)
  assert.equal(ask('http://a.test/secret', 0), 'exclude')
})

test('exclude beats include, and each says its name', () => {
  const ask = given({ include: ['/news/', '\\?id=\\d+$'], exclude: ['print=1'] }, 'http://a.test/')
  assert.deepEqual(
    ['http://a.test/news/1', 'http://a.test/x?id=12', 'http://a.test/x', 'http://a.test/news/1?print=1'].map((url) =>
      ask(url),
    ),
    [undefined, undefined, 'include', 'exclude'],
  )
})

test('depth counts links from a seed', () => {
  const ask = given({ depthMax: 2 }, 'http://a.test/')
  assert.deepEqual(
    [0, 2, 3].map((depth) => ask('http://a.test/x', depth)),
    [undefined, undefined, 'depth'],
  )
})

test('extensions are refused only where asked for, by the file’s name alone', () => {
  assert.equal(given({}, 'http://a.zip/')('http://a.zip/x.zip'), undefined)
  const ask = given({ skipExtensions: ['.ZIP', 'mp4'] }, 'http://a.zip/')
  assert.deepEqual(
    [
      'http://a.zip/x.Zip',
      'http://a.zip/x.mp4?y',
      'http://a.zip/',
      'http://a.zip/x?f=y.zip',
      'http://a.zip/x.zip/y',
    ].map((url) => ask(url)),
    ['extension', 'extension', undefined, undefined, undefined],
  )
})

test('a URL over the limit is refused by its length', () => {
  const ask = given({ urlBytesMax: 20 }, 'http://a.test/')
  assert.deepEqual(
    ['http://a.test/123456', 'http://a.test/1234567'].map((url) => ask(url)),
    [undefined, 'url.length'],
  )
})

test('a link that leaves the crawl is called that before anything else', () => {
  assert.equal(given({ depthMax: 0, exclude: ['.'] }, 'http://a.test/')('http://b.test/'), 'scope.host')
})

test('rules for single hosts hold there alone', () => {
  const hosts = { '*.a.test': { depthMax: 1, exclude: ['/x'] } }
  const ask = given({ scope: 'any', depthMax: 5, exclude: ['/y'], hosts })
  assert.deepEqual(
    ['http://w.a.test/x', 'http://w.a.test/y', 'http://b.test/x', 'http://b.test/y'].map((url) => ask(url)),
    ['exclude', undefined, undefined, 'exclude'],
  )
  assert.equal(ask('http://w.a.test/', 2), 'depth')
})

test('the question about a host and the one about a path together give the whole answer', () => {
  const compiled = compileScope(resolveSettings({ exclude: ['/x'] }))
  const isKnown = (key: string) => key === 'host:a.test'
  assert.equal(admitsHost(compiled, 'a.test', isKnown), undefined)
  assert.equal(admitsHost(compiled, 'b.test', isKnown), 'scope.host')
  assert.equal(admitsPath(rulesOfHost(compiled, 'a.test'), 'http://a.test/x', 1), 'exclude')
})

test('a link without canonical form has a reason too', () => {
  assert.deepEqual((['syntax', 'scheme', 'too-long'] as const).map(refusalOfUrl), [
    'url.invalid',
    'scheme.forbidden',
    'url.length',
  ])
})
