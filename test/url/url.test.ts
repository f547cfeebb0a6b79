import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hostnameOf, hostOf, type NormalizeOptions, normalizeUrl, originOf, pathOf } from '../../src/core/url.ts'
import { URL_RULES_DEFAULT, type UrlRules } from '../../src/core/url-rules.ts'
import { BASE, hrefs } from './hrefs.ts'

function urlOf(href: string, options: NormalizeOptions = { base: BASE }): string {
  const canonical = normalizeUrl(href, options)
  assert.ok('url' in canonical, `${href} was refused`)
  return canonical.url
}

function refusalOf(href: string, options: NormalizeOptions = { base: BASE }): string | undefined {
  const canonical = normalizeUrl(href, options)
  return 'refused' in canonical ? canonical.refused : undefined
}

test('a fragment is dropped, an empty query is kept', () => {
  assert.equal(urlOf('/x?#top'), 'http://site.test/x?')
  assert.equal(urlOf('#top'), BASE)
})

test('a blank before the fragment belongs to the path', () => {
  assert.equal(urlOf('a #b'), 'http://site.test/d/a%20')
  assert.equal(urlOf('a '), 'http://site.test/d/a')
})

test('user and password never appear in a canonical URL', () => {
  assert.equal(urlOf('http://user:pw@b.test:81/x?y'), 'http://b.test:81/x?y')
  assert.equal(urlOf('http://user@b.test/@?'), 'http://b.test/@?')
})

test('escapes of unreserved characters are decoded and the others written in upper case', () => {
  assert.equal(urlOf('/p%2d1/%7Eu/%c3%a9?q=%41%2f'), 'http://site.test/p-1/~u/%C3%A9?q=A%2F')
})

test('a decoded character does not become part of a new escape', () => {
  assert.equal(urlOf('/%%37%32'), 'http://site.test/%%372')
  assert.equal(urlOf('/%4%37'), 'http://site.test/%4%37')
})

test('what is not http is refused as scheme, however long', () => {
  for (const href of ['mailto:a@b.test', 'data:,' + 'x'.repeat(100_000), ' \tjavascript:void(0)', 'ftp://b.test/']) {
    assert.equal(refusalOf(href), 'scheme', href.slice(0, 40))
  }
})

test('what is no URL is refused as syntax', () => {
  for (const href of ['http://[bad/', 'http://a b.test/', 'http://b.test:99999/', 'http://', 'http://%zz/']) {
    assert.equal(refusalOf(href), 'syntax', href)
  }
  assert.equal(refusalOf('relative', {}), 'syntax')
})

test('the limit counts bytes of the canonical URL', () => {
  const href = '/' + 'é'.repeat(10)
  const length = urlOf(href).length
  assert.equal(refusalOf(href, { base: BASE, urlBytesMax: length }), undefined)
  assert.equal(refusalOf(href, { base: BASE, urlBytesMax: length - 1 }), 'too-long')
  assert.equal(refusalOf('/' + 'x'.repeat(1_000_000)), 'too-long')
})

test('without rules the result is the WHATWG serialisation but for fragment, userinfo and escapes', () => {
  fc.assert(
    fc.property(hrefs, (href) => {
      const canonical = normalizeUrl(href, { base: BASE })
      const parsed = URL.parse(href, BASE)
      if (parsed === null) return 'refused' in canonical
      if (!/^https?:$/.test(parsed.protocol)) return 'refused' in canonical
      if (parsed.href.includes('%')) return true
      parsed.hash = ''
      parsed.username = ''
      parsed.password = ''
      return 'url' in canonical && canonical.url === parsed.href
    }),
    { numRuns: 2000 },
  )
})

const RULES: UrlRules = {
  dropQueryParameters: ['utm_*', 'gclid'],
  dropPathParameters: ['jsessionid'],
  indexFiles: ['index.html', 'default.asp'],
  dropEmptyQuery: true,
  sortQuery: true,
  dropTrailingSlash: true,
  dropWww: true,
}

test('a canonical URL is its own canonical form, with and without rules', () => {
  fc.assert(
    fc.property(hrefs, fc.constantFrom(URL_RULES_DEFAULT, RULES), (href, rules) => {
      const once = normalizeUrl(href, { base: BASE, rules })
      return 'refused' in once || urlOf(once.url, { rules }) === once.url
    }),
    { numRuns: 3000 },
  )
})

test('each rule does what its name says, and only when asked', () => {
  const cases: [Partial<UrlRules>, string, string][] = [
    [{ dropQueryParameters: ['utm_*'] }, 'http://a.test/?utm_source=x&b=1&xutm_=2', 'http://a.test/?b=1&xutm_=2'],
    [{ dropQueryParameters: ['s'] }, 'http://a.test/?s=1', 'http://a.test/'],
    [{ dropPathParameters: ['jsessionid'] }, 'http://a.test/x;JSESSIONID=1F/y;v=2', 'http://a.test/x/y;v=2'],
    [{ dropPathParameters: ['s'] }, 'http://a.test/x/..;s=1/y', 'http://a.test/y'],
    [{ indexFiles: ['index.html'] }, 'http://a.test/d/index.html?x', 'http://a.test/d/?x'],
    [{ dropEmptyQuery: true }, 'http://a.test/x?', 'http://a.test/x'],
    [{ sortQuery: true }, 'http://a.test/?b=1&a=2&b=0', 'http://a.test/?a=2&b=1&b=0'],
    [{ dropTrailingSlash: true }, 'http://a.test/d/?x', 'http://a.test/d?x'],
    [{ dropTrailingSlash: true, indexFiles: ['index.html'] }, 'http://a.test/index.html/', 'http://a.test/'],
    [{ dropWww: true }, 'http://www.a.test/', 'http://a.test/'],
    [{ dropWww: true }, 'http://www.test/', 'http://www.test/'],
  ]
  for (const [rules, href, expected] of cases) {
    assert.equal(urlOf(href, { rules: { ...URL_RULES_DEFAULT, ...rules } }), expected)
    assert.equal(urlOf(href, {}), href)
  }
})

test('the parts of a canonical URL are those of the URL class', () => {
  fc.assert(
    fc.property(hrefs, (href) => {
      const canonical = normalizeUrl(href, { base: BASE })
      if ('refused' in canonical) return
      const parsed = new URL(canonical.url)
      assert.equal(hostOf(canonical.url), parsed.host)
      assert.equal(hostnameOf(canonical.url), parsed.hostname)
      assert.equal(originOf(canonical.url), parsed.origin)
      assert.equal(pathOf(canonical.url), canonical.url.slice(parsed.origin.length))
    }),
    { numRuns: 2000 },
  )
})
