import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectFrom } from '../../src/adapters/dom.ts'

const PAGE = `<!doctype html>
<html><head><title> A
 page </title><style>p { color: red }</style></head>
<body><h1>Head</h1><p class="a">One <b>two</b><br>three</p>
<script>var hidden</script>
<pre>  x
 y</pre>
<table><tr><td>1</td><td>2</td></tr></table>
<a href="/x?a=1&amp;b=2" title="">l &amp; m</a><a>no href</a></body></html>`

test('a selector gives the elements, in the order of the page, as HTML', () => {
  assert.deepEqual(selectFrom(PAGE, { select: 'b, h1' }), ['<h1>Head</h1>', '<b>two</b>'])
  assert.deepEqual(selectFrom(PAGE, { select: 'video' }), [])
})

test('an attribute is given decoded and as written, also an empty one, and elements without it are passed over', () => {
  assert.deepEqual(selectFrom(PAGE, { select: 'a', attr: 'href' }), ['/x?a=1&b=2'])
  assert.deepEqual(selectFrom(PAGE, { select: 'a', attr: 'title' }), [''])
})

test('the text of elements is theirs alone', () => {
  assert.deepEqual(selectFrom(PAGE, { select: '.a, a', text: true }), ['One two\nthree', 'l & m', 'no href'])
})

test('the text of a page is what a reader sees: a line a block, white space collapsed but in pre', () => {
  assert.deepEqual(selectFrom(PAGE, { text: true }), ['Head\nOne two\nthree\n  x\n y\n1 2\nl & mno href'])
})

test('the title is the page’s own, on one line', () => {
  assert.deepEqual(selectFrom(PAGE, { title: true }), ['A page'])
  assert.deepEqual(selectFrom('<svg><title>drawing</title></svg><p>x', { title: true }), [])
})

test('a page without html, head or body, or without any tag, is a page', () => {
  assert.deepEqual(selectFrom('<title>T</title><p>x<p>y', { title: true }), ['T'])
  assert.deepEqual(selectFrom('<title>T</title><p>x<p>y', { select: 'p', text: true }), ['x', 'y'])
  assert.deepEqual(selectFrom('<title>T</title><p>x<p>y', { text: true }), ['x\ny'])
  assert.deepEqual(selectFrom('plain &amp; simple', { text: true }), ['plain & simple'])
  assert.deepEqual(selectFrom('', { text: true }), [''])
  assert.deepEqual(selectFrom('', { title: true }), [])
  assert.deepEqual(selectFrom('', { select: 'p' }), [])
})

test('what is no selector is the user’s error, and so is an attribute of nothing', () => {
  assert.throws(() => selectFrom(PAGE, { select: 'a[[' }), { code: 'USAGE', message: /a\[\[/ })
  assert.throws(() => selectFrom(PAGE, { attr: 'href' }), { code: 'USAGE' })
})

test('a page nested very deep is a page', () => {
  const deep = '<b>'.repeat(20_000) + 'x'
  assert.deepEqual(selectFrom(deep, { text: true }), ['x'])
})
