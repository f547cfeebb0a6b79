/** How the cases of the kinds `resolve` and `same` are checked. */
import assert from 'node:assert/strict'
import { normalizeUrl } from '../../src/core/url.ts'
import { extractLinks } from '../../src/html/extract-links.ts'
import type { Case } from './read-cases.ts'

function urlOf(href: string, base?: string): string | null {
  const canonical = normalizeUrl(href, base === undefined ? {} : { base })
  return 'url' in canonical ? canonical.url : null
}

/** The link alone and, where the case has one, within its page. */
export function checkResolve({ input, expected }: Case): void {
  const base = input['base'] as string
  const allowed = (expected['oneOf'] ?? [expected['url']]) as (string | null)[]
  for (const href of [input['href'], ...((input['also'] ?? []) as string[])] as string[]) {
    const url = urlOf(href, base)
    assert.ok(allowed.includes(url), `${href} became ${url}`)
    // Within a page the link has to come out the same; the page itself is no link of its own.
    const html = (input['html'] ??
      `<a href="${href.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">x</a>`) as string
    const { links } = extractLinks(Buffer.from(html), { 'content-type': 'text/html; charset=utf-8' }, base)
    const own = urlOf(base)
    assert.deepEqual(
      links.map((link) => link.url),
      url === null || url === own ? [] : [url],
    )
  }
}

export function checkSame({ input, expected }: Case): void {
  if (expected['same'] === 'option') return
  const [a, b] = [urlOf(input['a'] as string), urlOf(input['b'] as string)]
  assert.ok(a !== null && b !== null)
  assert.equal(a === b, expected['same'])
}
