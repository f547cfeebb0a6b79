import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalUrl } from '../../src/html/canonical.ts'
import { extractLinks } from '../../src/html/extract-links.ts'
import { resolve, resolverFor } from '../../src/html/resolver.ts'
import { hrefs } from '../url/hrefs.ts'

const bases = fc.constantFrom(
  'http://site.test/',
  'http://site.test/d/e?post=1',
  'http://site.test/a//b/./c/../d.html',
  'https://site.test:8443/a/b/c/d/e/f#g',
  'http://[::1]:8080/%7Eu/x%2fy?q=%41',
  'http://user:pw@site.test/d/e',
  'http://site.test',
)

/** The forms that are put together without the URL class, and their neighbours. */
const plainForms = fc
  .tuple(
    fc.constantFrom(
      '',
      '/',
      './',
      '../',
      '../../',
      '../../../../../',
      '//',
      '?',
      '.',
      '..',
      '.../',
      'http://b.test',
      'http:',
    ),
    fc.array(fc.constantFrom('a', 'b.html', '/', '.', '..', '/.', '?', ':', '=', '~', '//', 'A', '-', '@', ';', '+'), {
      maxLength: 6,
    }),
    fc.constantFrom('', '#', '#x/../y', ' ', ' #'),
  )
  .map(([start, pieces, end]) => start + pieces.join('') + end)

test('a link put together from the parts of its base is what the URL class makes of it', () => {
  fc.assert(
    fc.property(bases, fc.oneof(plainForms, hrefs), (base, href) => {
      assert.deepEqual(resolve(resolverFor(base, 'utf-8', 2048), href), canonicalUrl(href, base), `${href} on ${base}`)
    }),
    { numRuns: 10_000 },
  )
})

test('a link within a page is what the URL class makes of it', () => {
  fc.assert(
    fc.property(bases, fc.oneof(plainForms, hrefs), (base, href) => {
      const attribute = href.toWellFormed().replaceAll('&', '&amp;').replaceAll('"', '&quot;')
      fc.pre(!href.includes('\0'))
      const facts = extractLinks(
        Buffer.from(`<a href="${attribute}">`),
        [['Content-Type', 'text/html;charset=utf-8']],
        base,
      )
      const canonical = canonicalUrl(href, base)
      const own = canonicalUrl(base)
      const isOwn = 'url' in canonical && 'url' in own && canonical.url === own.url
      const expected = 'url' in canonical && !isOwn ? [canonical.url] : []
      assert.deepEqual(
        facts.links.map((link) => link.url),
        expected,
        `${href} on ${base}`,
      )
    }),
    { numRuns: 5000 },
  )
})

test('a base that is no http URL still resolves absolute links', () => {
  const resolver = resolverFor('mailto:a@b.test', 'utf-8', 2048)
  assert.deepEqual(resolve(resolver, 'http://b.test/x'), { url: 'http://b.test/x' })
  assert.deepEqual(resolve(resolver, 'x'), { refused: 'syntax' })
})
