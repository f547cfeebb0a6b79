/** Settings: defaults, what follows from what, and that nothing a user writes is guessed at. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nearestName } from '../../src/core/nearest-name.ts'
import { REASONS, reasonOf } from '../../src/core/reasons.ts'
import { readOptions, validateSettings } from '../../src/core/setting-input.ts'
import { OPTION_KEYS, SETTING_OPTIONS } from '../../src/core/setting-options.ts'
import { CHANGEABLE, changeSettings, DEFAULTS, resolveSettings, settingsOfHost } from '../../src/core/settings.ts'
import { parseDurationMs, parseSizeBytes } from '../../src/core/units.ts'

function messagesOf(input: Record<string, unknown>): string[] {
  return readOptions(input).problems.map((problem) => problem.message)
}

test('the defaults are those of the contract', () => {
  const { delayMs, ipDelayMs, delayMaxMs, retriesMax, timeoutMs, connectTimeoutMs, bodyBytesMax } = DEFAULTS
  assert.deepEqual(
    [delayMs, ipDelayMs, delayMaxMs, retriesMax, timeoutMs, connectTimeoutMs, bodyBytesMax],
    [1000, 250, 300_000, 3, 30_000, 10_000, 16 * 1024 * 1024],
  )
  assert.deepEqual(validateSettings(DEFAULTS), [])
})

test('settings survive JSON', () => {
  const settings = resolveSettings({ depthMax: 3, include: ['/a'], hosts: { '*.a.test': { delayMs: 5 } } })
  assert.deepEqual(JSON.parse(JSON.stringify(settings)), settings)
})

test('requests to a host run in parallel only where the delay is 0, unless said otherwise', () => {
  assert.equal(resolveSettings({}).perHost, 1)
  assert.equal(resolveSettings({ delayMs: 0 }).perHost, 16)
  assert.equal(resolveSettings({ delayMs: 0, perHost: 3 }).perHost, 3)
})

test('the delay of an address follows the delay of a host, also when that changes later', () => {
  const settings = resolveSettings({ delayMs: 8000 })
  assert.equal(settings.ipDelayMs, 2000)
  assert.equal(changeSettings(settings, { delayMs: 400 }).ipDelayMs, 100)
  assert.equal(changeSettings(resolveSettings({ ipDelayMs: 7 }), { delayMs: 400 }).ipDelayMs, 7)
})

test('the product token for robots.txt follows the user agent', () => {
  assert.equal(resolveSettings({ userAgent: 'ExampleBot/2.1 (+https://a.test)' }).robotsAgent, 'ExampleBot')
  assert.equal(resolveSettings({ userAgent: 'ExampleBot/2.1', robotsAgent: 'other' }).robotsAgent, 'other')
})

test('the most specific pattern of a host decides its settings', () => {
  const hosts = {
    '*.a.test': { delayMs: 1 },
    '*.b.a.test': { delayMs: 2 },
    'c.b.a.test': { delayMs: 3 },
    'a.test:81': { delayMs: 0 },
  }
  const settings = resolveSettings({ hosts })
  const delayOf = (host: string) => settingsOfHost(settings, host).delayMs
  assert.deepEqual(
    ['x.a.test', 'x.b.a.test', 'c.b.a.test', 'c.b.a.test:81', 'a.test:81', 'a.test'].map(delayOf),
    [1, 2, 3, 3, 0, 1000],
  )
  assert.equal(settingsOfHost(settings, 'a.test:81').perHost, 16)
  assert.equal(settingsOfHost(settings, 'constructor'), settings)
})

test('what the tables on disk were built by may not change on resume', () => {
  for (const key of ['shards', 'urlRules', 'seen'] as const) assert.ok(!CHANGEABLE.includes(key))
  for (const key of ['scope', 'include', 'delayMs', 'allowPrivate', 'durabilityMs'] as const)
    assert.ok(CHANGEABLE.includes(key))
})

test('durations and sizes are read in every unit, and nothing else is', () => {
  assert.deepEqual(
    ['250', '250ms', '2s', '5m', '12h', '1.5s', 40].map(parseDurationMs),
    [250, 250, 2000, 300_000, 43_200_000, 1500, 40],
  )
  assert.deepEqual(
    ['1', '64KiB', '16mib', '1GiB', '0.5 KiB', '7B'].map(parseSizeBytes),
    [1, 65_536, 16_777_216, 1_073_741_824, 512, 7],
  )
  for (const bad of ['', '-1', '1e3', '5 minutes', '2S x', '١s', '1d', 'constructor', '1constructor']) {
    assert.equal(parseDurationMs(bad), undefined, bad)
    assert.equal(parseSizeBytes(bad), undefined, bad)
  }
})

test('options are read as text and as values alike', () => {
  const text = readOptions({
    delay: '2s',
    bodyMax: '1MiB',
    retries: '5',
    robots: 'false',
    maxPages: 'none',
    include: '/a',
  })
  const typed = readOptions({
    delay: 2000,
    bodyMax: 1_048_576,
    retries: 5,
    robots: false,
    maxPages: null,
    include: ['/a'],
  })
  assert.deepEqual(text.problems, [])
  assert.deepEqual(text.settings, typed.settings)
  assert.deepEqual(validateSettings(resolveSettings(text.settings)), [])
})

test('a problem names the key, the value and what is right', () => {
  assert.deepEqual(messagesOf({ delay: 'soon' }), [
    '"delay" is "soon"; it must be a duration such as 250, 250ms, 2s, 5m or 12h.',
  ])
  assert.deepEqual(messagesOf({ scope: 'hosts' }), [
    '"scope" is "hosts"; it must be one of host, domain, prefix, any (did you mean "host"?).',
  ])
  assert.deepEqual(messagesOf({ retries: 101 }), ['"retries" is 101; it must be a whole number, at most 100.'])
  assert.deepEqual(messagesOf({ exclude: ['ok', '('] }), ['"exclude" is "("; it must be a regular expression.'])
  assert.deepEqual(messagesOf({ hosts: { 'a.test': { dealy: 3 } } }), [
    '"hosts.a.test.dealy" is unknown; did you mean "delay"?',
  ])
  assert.deepEqual(messagesOf({ hosts: { 'a.test': { shards: 3 } } }), ['"hosts.a.test.shards" is unknown.'])
})

test('a list cannot hide a header that would split the request', () => {
  assert.equal(messagesOf({ header: ['A: b', 'A: b\r\nC: d'] }).length, 1)
  assert.equal(messagesOf({ userAgent: 'a\nb' }).length, 1)
})

test('addresses to open are an address, a range, or a host with port', () => {
  const right = ['10.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', '127.0.0.1:80', '[::1]:80', 'intra.test:8080']
  assert.deepEqual(messagesOf({ allowPrivate: right }), [])
  assert.equal(
    messagesOf({ allowPrivate: ['intra.test', '10.0.0.0/33', '10.0.0.1:99999', '', 'http://a.test:80'] }).length,
    5,
  )
})

test('name servers are given by address, with or without port', () => {
  assert.deepEqual(messagesOf({ dnsServer: ['127.0.0.1', '127.0.0.1:5353', '::1', '[::1]:53'] }), [])
  assert.equal(messagesOf({ dnsServer: ['dns.test', '300.1.1.1', '127.0.0.1:0x35', 'dns.test:53'] }).length, 4)
})

test('a misspelt key is told the near one, a strange one is not', () => {
  assert.deepEqual(messagesOf({ dealy: 1 }), ['"dealy" is unknown; did you mean "delay"?'])
  assert.deepEqual(messagesOf({ delayMs: 1 }), ['"delayMs" is unknown; did you mean "delay"?'])
  assert.deepEqual(messagesOf({ 'user-agnet': 'x' }), ['"user-agnet" is unknown; did you mean "userAgent"?'])
  assert.deepEqual(messagesOf({ qqqqqq: 1 }), ['"qqqqqq" is unknown.'])
  assert.equal(nearestName('', ['delay']), undefined)
})

test('whole settings are refused when a key is missing, unknown, of another type or out of bounds', () => {
  const { scope: _, ...missing } = DEFAULTS
  assert.deepEqual(
    validateSettings(missing).map(({ key }) => key),
    ['scope'],
  )
  assert.deepEqual(
    validateSettings({ ...DEFAULTS, colour: 1 }).map(({ key }) => key),
    ['colour'],
  )
  assert.deepEqual(
    validateSettings({ ...DEFAULTS, delayMs: '1s' }).map(({ key }) => key),
    ['delayMs'],
  )
  assert.deepEqual(
    validateSettings({ ...DEFAULTS, shards: 0 }).map(({ key }) => key),
    ['shards'],
  )
  assert.deepEqual(
    validateSettings({ ...DEFAULTS, hosts: { 'a.test': { delayMs: -1 } } }).map(({ key }) => key),
    ['hosts.a.test.delayMs'],
  )
  assert.equal(validateSettings(null).length, 1)
})

test('no input makes the reader throw, and what it accepts validates', () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('1s', '1KiB', 'any', 'none', true, 0, []))
  const input = fc.dictionary(fc.constantFrom(...OPTION_KEYS.keys(), '__proto__', 'x'), value)
  fc.assert(
    fc.property(input, (options) => {
      const { settings, problems } = readOptions(options)
      if (problems.length === 0) assert.deepEqual(validateSettings(resolveSettings(settings)), [])
    }),
  )
})

test('every setting has an option of its own', () => {
  assert.deepEqual(Object.keys(SETTING_OPTIONS).sort(), Object.keys(DEFAULTS).sort())
  assert.equal(OPTION_KEYS.size, Object.keys(DEFAULTS).length)
})

test('every reason has a number of its own that fits one byte', () => {
  const numbers = Object.values(REASONS)
  assert.equal(new Set<number>(numbers).size, numbers.length)
  for (const [word, number] of Object.entries(REASONS)) {
    assert.ok(number > 0 && number < 255)
    assert.equal(reasonOf(number), word)
  }
})
