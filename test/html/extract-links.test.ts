import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ExtractOptions, extractLinks } from '../../src/html/extract-links.ts'
import type { PageFacts } from '../../src/html/facts.ts'
import type { PageHeaders } from '../../src/html/headers.ts'

const URL_OF_PAGE = 'http://site.test/d/page'
const HTML = { 'content-type': 'text/html; charset=utf-8' }

function factsOf(page: string | Uint8Array, options: ExtractOptions = {}, headers: PageHeaders = HTML): PageFacts {
  return extractLinks(typeof page === 'string' ? Buffer.from(page) : page, headers, URL_OF_PAGE, options)
}

function urls(facts: PageFacts): string[] {
  return facts.links.map((link) => link.url)
}

test('each link is listed once, in the order of the page, with the kind of its first place', () => {
  const { links } = factsOf('<area href=b><a href=a></a><a href=b#x><iframe src=f></iframe><link rel=next href=/n>')
  assert.deepEqual(
    links.map((link) => [link.url, link.kind]),
    [
      ['http://site.test/d/b', 'area'],
      ['http://site.test/d/a', 'a'],
      ['http://site.test/d/f', 'frame'],
      ['http://site.test/n', 'link'],
    ],
  )
})

test('the page itself is no link, however it is written', () => {
  assert.deepEqual(urls(factsOf('<a href=""><a href="#x"><a href=page><a href=HTTP://SITE.test:80/d/./page#y>')), [])
})

test('a link is nofollow only if all its places say so', () => {
  const { links } = factsOf('<a rel=nofollow href=a><a href=a><a rel=nofollow href=b><a rel="x NoFollow" href="b#y">')
  assert.deepEqual(
    links.map((link) => link.nofollow),
    [false, true],
  )
})

test('a page that asks not to be followed makes all its links nofollow, wherever it says so', () => {
  assert.ok(factsOf('<a href=a><meta name=robots content=none>').links.every((link) => link.nofollow))
  assert.ok(!factsOf('<a href=a><template><meta name=robots content=none></template>').links[0].nofollow)
  const agent = { robotsAgent: 'ExampleBot' }
  assert.deepEqual(factsOf('<meta name=examplebot content=noindex>', agent).robots, { index: false, follow: true })
  assert.deepEqual(factsOf('<meta name=otherbot content=noindex>', agent).robots, { index: true, follow: true })
})

test('links beyond the limit are counted, not kept', () => {
  const facts = factsOf('<a href=a><a href=b><a href=a><a href=c><a href=d>', { linksMax: 2 })
  assert.deepEqual([urls(facts).length, facts.linksCut], [2, 2])
})

test('links that are not crawlable are counted by reason and listed when asked for', () => {
  const page = `<a href="mailto:x@y.test"><a href="http://[bad/"><a href="${'x'.repeat(3000)}"><a href="mailto:x@y.test">`
  const facts = factsOf(page, { keepRefused: true })
  assert.deepEqual(facts.refused, { syntax: 1, scheme: 1, 'too-long': 1 })
  assert.deepEqual(
    facts.refusedLinks.map((link) => [link.href.length, link.reason]),
    [
      [15, 'scheme'],
      [12, 'syntax'],
      [2048, 'too-long'],
    ],
  )
  assert.deepEqual(factsOf(page).refusedLinks, [])
})

test('the first base counts, also for the links before it; one in a template or in a drawing does not', () => {
  assert.deepEqual(urls(factsOf('<a href=x><base href=/b/><a href=y><base href=/c/>')), [
    'http://site.test/b/x',
    'http://site.test/b/y',
  ])
  assert.deepEqual(urls(factsOf('<template><base href=/b/></template><svg><base href=/c/></svg><a href=x>')), [
    'http://site.test/d/x',
  ])
  assert.equal(factsOf('<base href="data:,x"><a href=x>').base, URL_OF_PAGE)
})

test('a template is inert, unless it is a shadow root', () => {
  assert.deepEqual(
    urls(factsOf('<template shadowrootmode=open><a href=a></template><template><a href=b></template>')),
    ['http://site.test/d/a'],
  )
})

test('the Link header gives links and the canonical address, relative to the page and not to its base', () => {
  const headers: PageHeaders = [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Link', '<n?a=1,2>; rel="next"; title="a, b", <c>; rel=canonical'],
    ['link', '<s.css>; rel=stylesheet, <x>; rel=next; anchor="/other"'],
  ]
  const facts = factsOf('<base href=/b/><a href=x>', {}, headers)
  assert.deepEqual(urls(facts), ['http://site.test/d/n?a=1,2', 'http://site.test/b/x'])
  assert.equal(facts.links[0].kind, 'header')
  assert.equal(facts.canonical, 'http://site.test/d/c')
})

test('headers count for a body that is no page, and its bytes do not', () => {
  const headers = {
    'content-type': 'application/pdf',
    link: '<c>; rel="canonical"',
    'x-robots-tag': ['otherbot: none', 'noindex'],
  }
  const facts = factsOf('<a href=x>', {}, headers)
  assert.deepEqual([facts.links, facts.canonical, facts.encoding], [[], 'http://site.test/d/c', undefined])
  assert.deepEqual(facts.robots, { index: false, follow: true })
})

test('a body without a type is a page if it begins like one', () => {
  assert.deepEqual(urls(factsOf(' \n<!DOCTYPE html><a href=x>', {}, [])), ['http://site.test/d/x'])
  assert.deepEqual(urls(factsOf('plain <a href=x>', {}, [])), [])
})

test('a refresh is a link; the header comes before the page, and a reload settles the matter', () => {
  const facts = factsOf('<meta http-equiv=refresh content="0;url=a"><meta http-equiv=refresh content="0;url=b">')
  assert.deepEqual(facts.refresh, { url: 'http://site.test/d/a', delaySeconds: 0 })
  assert.deepEqual(urls(facts), ['http://site.test/d/a'])
  const both = factsOf('<meta http-equiv=refresh content="0;url=a">', {}, { ...HTML, refresh: '5; url=h' })
  assert.deepEqual(both.refresh, { url: 'http://site.test/d/h', delaySeconds: 5 })
  assert.equal(
    factsOf('<meta http-equiv=refresh content=30><meta http-equiv=refresh content="0;url=b">').refresh,
    undefined,
  )
})

test('in XHTML any tag may close itself and CDATA is text', () => {
  const page = '<script src="s"/><a href="one"/><![CDATA[<a href="no">]]><title/><a href="two"/>'
  const facts = factsOf(page, {}, { 'content-type': 'application/xhtml+xml' })
  assert.deepEqual(urls(facts), ['http://site.test/d/one', 'http://site.test/d/two'])
})

test('resources are listed when asked for, each once', () => {
  const page =
    '<link rel=stylesheet href=s.css><script src=j.js></script><img src=i srcset="i 1x, k 2x"><video poster=p><object data=o>' +
    '<input type=image src=q><input src=no><svg><image xlink:href=v /></svg><link rel=preconnect href=//no.test>'
  const { resources } = factsOf(page, { resources: true })
  const expected = ['s.css', 'j.js', 'i', 'k', 'p', 'o', 'q', 'v'].map((name) => `http://site.test/d/${name}`)
  assert.deepEqual(resources, expected)
  assert.deepEqual(factsOf(page).resources, [])
})

test("the crawl's rules are applied to every link, before duplicates are dropped", () => {
  const rewrite = (url: string): string => url.replace(/\?.*/, '')
  assert.deepEqual(urls(factsOf('<a href="a?1"><a href="a?2"><a href="page?3">', { rewrite })), [
    'http://site.test/d/a',
  ])
})

test('a declaration beyond the prescan overrules a guess, but neither header nor mark', () => {
  const page = Buffer.from(`<a href="?q=\xcf"><!--${'x'.repeat(1100)}--><meta charset=windows-1251>`, 'latin1')
  const facts = factsOf(page, {}, { 'content-type': 'text/html' })
  assert.deepEqual(
    [facts.encoding, facts.encodingSource, urls(facts)[0]],
    ['windows-1251', 'meta', 'http://site.test/d/page?q=%CF'],
  )
  assert.equal(factsOf(page, {}, { 'content-type': 'text/html; charset=koi8-r' }).encoding, 'koi8-r')
})

test('UTF-16 and ISO-2022-JP pages are read as what they are', () => {
  const utf16 = Buffer.from('\ufeff<title>é</title><a href="é?é">', 'utf16le')
  assert.deepEqual(urls(factsOf(utf16)), ['http://site.test/d/%C3%A9?%C3%A9'])
  const jis = Buffer.from('<a href="\x1b$B$"\x1b(B">', 'latin1') // the quote within the escapes is half of a letter
  assert.deepEqual(urls(factsOf(jis, {}, { 'content-type': 'text/html; charset=iso-2022-jp' })), [
    'http://site.test/d/%E3%81%82',
  ])
})

test('a title is the first one, decoded and with its blanks collapsed', () => {
  assert.equal(factsOf('<svg><title>no</title></svg><title>\n a &amp;\t<b>\n</title><title>x</title>').title, 'a & <b>')
})

test('pages made to be slow take linear time', () => {
  // Each of these would take minutes if anything were searched again from every position.
  const n = 100_000
  const pages = [
    ...[
      '<a',
      '<a ',
      '</',
      '<!--',
      '<!',
      '<script>',
      '<!--<script>',
      '<title>',
      '<svg>',
      '<template>',
      '<![CDATA[',
      '&',
    ],
    ...['<a href=x', '<a href="', '<svg></g>', '<math><mi>', '--!', '<meta ', '\0', '<div>', '<a href=":', '<a b=c '],
  ].map((piece) => piece.repeat(n))
  for (const page of [...pages, `<svg>${'<g>'.repeat(500)}${'</x>'.repeat(n)}`, `<script><!--${'-'.repeat(n)}`]) {
    factsOf(page, { resources: true })
  }
  const long = factsOf(`<a href="${'x'.repeat(20_000_000)}"><a href=real>`)
  assert.deepEqual([urls(long), long.refused['too-long']], [['http://site.test/d/real'], 1])
})

test('what is kept of a page does not keep the page', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const usedBytes = (): number => {
    collect()
    collect() // the second one has what the first one only marked: the memory of the bodies
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = usedBytes()
  const kept: PageFacts[] = []
  const filler = 'x'.repeat(500_000)
  for (let page = 0; page < 100; page++) {
    const links = `<a href="relative/of/some/length/${page}"><a href="/absolute/of/some/length/${page}"><a href="http://other.test/${page}/${page}">`
    kept.push(
      factsOf(`<title>The title of page ${page}</title>${links}<a href="mailto:someone-${page}@site.test">${filler}`, {
        keepRefused: true,
      }),
    )
  }
  assert.ok(usedBytes() - before < 10_000_000)
  assert.equal(kept.length, 100)
})
