import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import { forEachUrl, type UrlLine } from '../../src/crawl/urls.ts'
import { failedUrl } from '../../src/shard/reopening.ts'
import { pastOf } from './small-past.ts'

test('a URL that failed with its host has the reason of the host, for urls and for retry, and no status of another page', () => {
  const pages = { 'http://a.test/': { body: '<a href="http://dead.test/">x</a>' } }
  const past = pastOf({ pages, seeds: ['http://a.test/'], settings: { scope: 'any' }, addresses: { 'dead.test': [] } })
  const lines: UrlLine[] = []
  forEachUrl(past, { class: 'host.bad' }, true, (line) => lines.push(line))
  const from = 'http://a.test/'
  const facts = { class: 'dns.notfound', status: null, depth: 1, from, attempts: 0 }
  assert.deepEqual(lines, [{ url: 'http://dead.test/', state: 'failed', ...facts }])
  const failed = failedUrl(past.logs.events, past.state, keyOf('http://dead.test/'))
  assert.deepEqual([failed?.reason, failed?.hostReason], ['host.bad', 'dns.notfound'])
})

test('a pending URL has no status and no attempts of the page it was found on', () => {
  const pages = { 'http://a.test/': { body: '<a href="/1">x</a>' } }
  const past = pastOf({ pages, seeds: ['http://a.test/'], settings: { delayMs: 60_000 }, untilMs: 1000 })
  const lines: UrlLine[] = []
  forEachUrl(past, { states: new Set([1]) }, false, (line) => lines.push(line))
  assert.deepEqual(lines, [
    { url: 'http://a.test/1', state: 'pending', class: null, status: null, depth: 1, from: null, attempts: 0 },
  ])
})
