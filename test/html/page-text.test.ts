import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasElements, isTextType, textOfBody } from '../../src/html/page-text.ts'

const of = (type: string | undefined, body: string): boolean =>
  hasElements(Buffer.from(body), type === undefined ? [] : [['content-type', type]])

test('HTML and XML of any kind have elements, and what is HTML by its first bytes where it has no type', () => {
  for (const type of [
    'text/html',
    'application/xhtml+xml',
    'application/rss+xml',
    'text/xml',
    'image/svg+xml; charset=x',
  ])
    assert.ok(of(type, 'x'), type)
  assert.ok(of(undefined, ' <!doctype html>'))
  for (const type of ['text/plain', 'application/json', 'application/pdf', 'image/png'])
    assert.ok(!of(type, '<html>'), type)
  assert.ok(!of(undefined, '%PDF-1.4'))
})

test('text types are those that people read', () => {
  for (const type of ['text/css', 'application/json', 'application/ld+json', 'application/xml', 'image/svg+xml'])
    assert.ok(isTextType(type), type)
  for (const type of ['', 'application/octet-stream', 'image/png', 'application/jsonx'])
    assert.ok(!isTextType(type), type)
})

test('a text is read as a browser would: mark, header, declaration, guess', () => {
  const read = (bytes: number[], type: string): string => textOfBody(Uint8Array.from(bytes), [['content-type', type]])
  assert.equal(read([0xff, 0xfe, 0xe9, 0], 'text/html; charset=utf-8'), 'é')
  assert.equal(read([0x93, 0xfa], 'text/html; charset=shift_jis'), '日')
  assert.equal(read([0xe9], 'text/plain'), 'é')
  assert.equal(read([0xc3, 0xa9], 'text/plain'), 'é')
})
