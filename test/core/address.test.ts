/** Addresses: nothing but public ones, unless the user opened them (`data/address-cases.jsonl` and our own). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compileAddressRules, decideAddress, openedOriginOf } from '../../src/core/address.ts'
import { canonicalUrl } from '../../src/html/canonical.ts'

interface Case {
  readonly id: string
  readonly symptom: string
  readonly input: { readonly allow?: readonly string[]; readonly urls: readonly string[] }
  readonly expected: { readonly blocked?: true; readonly decisions?: ReadonlyArray<'allowed' | 'blocked'> }
}

const cases = readFileSync(join(import.meta.dirname, 'data', 'address-cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line.replaceAll('<main port>', '8001').replaceAll('<other port>', '8002')) as Case)

/** Decides as a crawl does; names resolve to 127.0.0.1. */
function decide(url: string, allowPrivate: readonly string[] = [], seeds: readonly string[] = []): string {
  const canonical = canonicalUrl(url)
  if ('refused' in canonical) return 'blocked'
  const { origin, hostname } = new URL(canonical.url)
  const address = /^[\d.]+$/.test(hostname) ? hostname : hostname.startsWith('[') ? hostname.slice(1, -1) : '127.0.0.1'
  const opened = new Set(seeds.map(openedOriginOf))
  const decision = decideAddress(address, origin, compileAddressRules(allowPrivate), (asked) => opened.has(asked))
  return decision === 'allowed' ? 'allowed' : 'blocked'
}

function of(address: string, origin = 'http://a.test', allowPrivate: readonly string[] = [], seed?: string): string {
  const opened = seed === undefined ? undefined : openedOriginOf(seed)
  return decideAddress(address, origin, compileAddressRules(allowPrivate), (asked) => asked === opened)
}

for (const { id, symptom, input, expected } of cases) {
  test(`is kept out: ${symptom} (${id})`, () => {
    const decisions = input.urls.map((url) => decide(url, input.allow))
    assert.deepEqual(decisions, expected.decisions ?? input.urls.map(() => 'blocked'))
  })
}

test('public addresses are allowed', () => {
  for (const address of ['93.184.216.34', '1.1.1.1', '2606:4700::1111', '64:ff9b::5db8:d822', '::ffff:1.1.1.1']) {
    assert.equal(of(address), 'allowed', address)
  }
})

test('an address wrapped into IPv6 is judged by what it wraps', () => {
  const wrapped = [
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    '::ffff:0:7f00:1',
    '::7f00:1',
    '64:ff9b:1::a00:1',
  ]
  for (const address of [...wrapped, '2001::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'ff02::1', '::', '2001:db8::1']) {
    assert.equal(of(address), 'forbidden', address)
  }
})

test('what is no address is forbidden', () => {
  for (const address of ['', 'a.test', '127.1', '0x7f000001', '1.2.3.4.5', '[::1]'])
    assert.equal(of(address), 'forbidden', address)
})

test('a seed opens the very origin it names by IP literal or localhost, and nothing else', () => {
  const seed = 'http://127.0.0.1:8001/x'
  assert.equal(of('127.0.0.1', 'http://127.0.0.1:8001', [], seed), 'allowed')
  assert.equal(of('127.0.0.1', 'http://127.0.0.1:8002', [], seed), 'forbidden')
  assert.equal(of('127.0.0.1', 'https://127.0.0.1:8001', [], seed), 'forbidden')
  assert.equal(of('127.0.0.1', 'http://a.test:8001', [], seed), 'forbidden')
  assert.equal(of('::1', 'http://[::1]', [], 'http://[::1]/'), 'allowed')
  assert.equal(of('::1', 'http://localhost', [], 'http://localhost/'), 'allowed')
  assert.equal(of('10.0.0.1', 'http://localhost', [], 'http://localhost/'), 'forbidden')
})

test('a host name in a seed opens nothing', () => {
  assert.equal(openedOriginOf('http://app.localhost/'), undefined)
  assert.equal(openedOriginOf('http://localhost./'), undefined)
  assert.equal(of('10.0.0.1', 'http://a.test', [], 'http://a.test/'), 'forbidden')
})

test('metadata addresses are opened by allow-private alone, and not by a name', () => {
  for (const address of ['169.254.169.254', '168.63.129.16', '100.100.100.200', '::ffff:a9fe:a9fe']) {
    const host = address.includes(':') ? `[${address}]` : address
    assert.equal(of(address, `http://${host}`, [], `http://${host}/`), 'forbidden', address)
  }
  assert.equal(of('169.254.169.254', 'http://m.test', ['m.test:80']), 'forbidden')
  assert.equal(of('169.254.169.254', 'http://m.test', ['169.254.169.254:80']), 'allowed')
  assert.equal(of('169.254.169.254', 'http://m.test', ['169.254.0.0/16']), 'allowed')
  assert.equal(of('fd00:ec2::254', 'http://m.test', ['fd00:ec2::254']), 'allowed')
})

test('allow-private takes an address, a range, an address with port and a name with port', () => {
  assert.equal(of('10.1.2.3', 'http://a.test', ['10.1.0.0/16']), 'allowed')
  assert.equal(of('10.2.2.3', 'http://a.test', ['10.1.0.0/16']), 'forbidden')
  assert.equal(of('::ffff:10.1.2.3', 'http://a.test', ['10.1.2.3']), 'allowed')
  assert.equal(of('10.1.2.3', 'https://a.test', ['10.1.2.3:443']), 'allowed')
  assert.equal(of('10.1.2.3', 'http://a.test', ['10.1.2.3:443']), 'forbidden')
  assert.equal(of('::1', 'http://a.test:81', ['[::1]:81']), 'allowed')
  assert.equal(of('fd12::1', 'http://a.test:81', ['fd12::/16']), 'allowed')
  assert.equal(of('10.1.2.3', 'http://intra.test:81', ['Intra.test:81']), 'allowed')
  assert.equal(of('10.1.2.3', 'http://other.test:81', ['intra.test:81']), 'forbidden')
  assert.equal(of('10.1.2.3', 'http://a.test', ['nonsense', '10.1.2.3/99', ':', '']), 'forbidden')
})
