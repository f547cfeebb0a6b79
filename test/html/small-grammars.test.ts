import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLinkHeader } from '../../src/html/link-header.ts'
import { parseRefresh } from '../../src/html/refresh.ts'
import { relationOf, relWords } from '../../src/html/rel.ts'
import { ROBOTS_ALLOW_ALL, withRobotsHeader } from '../../src/html/robots-meta.ts'
import { srcsetLinks } from '../../src/html/srcset.ts'

test('a refresh is read by the steps of the standard', () => {
  const cases: [string, number | undefined, string | undefined][] = [
    ['5', 5, undefined],
    [' 0 ; url=x', 0, 'x'],
    ['0;x', 0, 'x'],
    ['0,x', 0, 'x'],
    ['0 x', 0, 'x'],
    ['.5; url=x', 0, 'x'],
    ["1.9.9;URL = 'x y'\"z", 1, 'x y'],
    ['1;url="x', 1, 'x'],
    ['1;"x"y', 1, 'x'],
    ['1;urx', 1, 'urx'],
    ['1;url x', 1, 'url x'],
    ['1;', 1, undefined],
    ['1x', undefined, undefined],
    ['', undefined, undefined],
    ['x; url=y', undefined, undefined],
    ['-1; url=y', undefined, undefined],
  ]
  for (const [value, delaySeconds, href] of cases) {
    assert.deepEqual(parseRefresh(value), delaySeconds === undefined ? undefined : { delaySeconds, href }, value)
  }
})

test('a srcset is split where the standard splits it', () => {
  assert.deepEqual(srcsetLinks(' a 1x,b 2x , c', 9), ['a', 'b', 'c'])
  assert.deepEqual(srcsetLinks('a,b,, c', 9), ['a,b', 'c'])
  assert.deepEqual(srcsetLinks('a f(x, y), b', 9), ['a', 'b'])
  assert.deepEqual(srcsetLinks(',,a', 9), ['a'])
  assert.deepEqual(srcsetLinks('a 1x, b 2x', 1), ['a'])
})

test('directives for another robot do not apply, and a value behind a colon is no robot', () => {
  const follow = (value: string): boolean => withRobotsHeader(ROBOTS_ALLOW_ALL, value, 'examplebot').follow
  assert.equal(follow('nofollow'), false)
  assert.equal(follow('otherbot: noindex, nofollow'), true)
  assert.equal(follow('otherbot: noindex, examplebot: none'), false)
  assert.equal(follow('unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow'), false)
})

test('a Link header may hold commas and semicolons in links, and anything in strings', () => {
  assert.deepEqual(parseLinkHeader('<a,b;c>; rel="next prev"; title="x, <y>; z", <d>;REL=up;rel=no, <e>;anchor=x'), [
    { href: 'a,b;c', rel: 'next prev', type: '' },
    { href: 'd', rel: 'up', type: '' },
  ])
  assert.deepEqual(parseLinkHeader('<broken'), [])
})

test('a link element is followed, shown, or neither', () => {
  const relation = (rel: string, type = ''): string => relationOf(relWords(rel), type)
  assert.equal(relation('alternate stylesheet'), 'resource')
  assert.equal(relation('ALTERNATE', 'application/rss+xml'), 'followed')
  assert.equal(relation('alternate', 'application/json+oembed'), 'resource')
  assert.equal(relation('canonical next'), 'canonical')
  assert.equal(relation('dns-prefetch preconnect'), 'none')
  assert.equal(relation('icon'), 'resource')
})
