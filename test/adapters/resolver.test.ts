import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createResolver, type ResolverOptions } from '../../src/adapters/resolver.ts'
import type { Clock } from '../../src/env/clock.ts'
import type { Resolution, Resolver } from '../../src/env/resolver.ts'
import { type DnsStub, type Reply, serveDns } from './dns-stub.ts'

const OPTIONS = { timeout: 8000 }
const NOTHING: Reply = { ttl: 60, records: [] }

/** Time that moves when the test says so; waits end at once, as if their time had come. */
function handClock(): Clock & { nowMs: number } {
  const clock = {
    nowMs: 1000,
    wallMs: () => clock.nowMs,
    monotonicMs: () => clock.nowMs,
    after: (_: number, run: () => void) => {
      const immediate = setImmediate(run)
      return () => clearImmediate(immediate)
    },
  }
  return clock
}

function resolve(resolver: Resolver, name: string): Promise<Resolution> {
  return new Promise((done) => resolver.resolve(name, done))
}

async function withZone(
  zone: Record<string, Reply> | ((name: string, type: 'A' | 'AAAA') => Reply),
  options: ResolverOptions,
  use: (resolver: Resolver, stub: DnsStub) => Promise<void>,
): Promise<void> {
  const stub = await serveDns(typeof zone === 'function' ? zone : (name) => zone[name] ?? 'NXDOMAIN')
  const resolver = createResolver({ servers: [stub.server], hostsFile: '', timeoutMs: 300, tries: 1, ...options })
  try {
    await use(resolver, stub)
  } finally {
    resolver.stop()
    await stub.close()
  }
}

describe('resolver', OPTIONS, () => {
  test('the addresses of both families come together, IPv4 first, with the shortest time to live', async () => {
    await withZone(
      { 'a.test': { ttl: 77, records: ['2001:db8::1', '192.0.2.1', '192.0.2.2'] } },
      {},
      async (resolver) => {
        const answer = await resolve(resolver, 'A.test.')
        assert.ok(answer.kind === 'addresses')
        assert.deepEqual([...answer.addresses].sort(), ['192.0.2.1', '192.0.2.2', '2001:db8::1'])
        assert.equal(answer.addresses[2], '2001:db8::1')
        assert.equal(answer.ttlMs, 77_000)
      },
    )
  })

  test('aliases are followed', async () => {
    const zone = { 'alias.test': { ttl: 60, records: ['cname:target.test', '192.0.2.5'] } }
    await withZone(zone, {}, async (resolver) => {
      const answer = await resolve(resolver, 'alias.test')
      assert.deepEqual(answer.kind === 'addresses' && answer.addresses, ['192.0.2.5'])
    })
  })

  test('the time to live is kept within its bounds', async () => {
    const zone = { 'short.test': { ttl: 0, records: ['192.0.2.1'] }, 'long.test': { ttl: 9e6, records: ['192.0.2.1'] } }
    await withZone(zone, { ttlMinMs: 5000, ttlMaxMs: 7000 }, async (resolver) => {
      const short = await resolve(resolver, 'short.test')
      const long = await resolve(resolver, 'long.test')
      assert.deepEqual(
        [short, long].map((answer) => answer.kind === 'addresses' && answer.ttlMs),
        [5000, 7000],
      )
    })
  })

  test('a name that does not exist or has no address is dns.notfound', async () => {
    await withZone({ 'empty.test': NOTHING }, {}, async (resolver) => {
      for (const name of ['none.test', 'empty.test', `${'a'.repeat(64)}.test`, 'a..test']) {
        const answer = await resolve(resolver, name)
        assert.equal(answer.kind === 'trouble' && answer.class, 'dns.notfound', name)
      }
    })
  })

  test('a server that fails, refuses or is silent is dns.temporary', async () => {
    const zone: Record<string, Reply> = { 'fail.test': 'SERVFAIL', 'refuse.test': 'REFUSED', 'mute.test': 'silence' }
    await withZone(zone, {}, async (resolver) => {
      for (const name of Object.keys(zone)) {
        const answer = await resolve(resolver, name)
        assert.equal(answer.kind === 'trouble' && answer.class, 'dns.temporary', name)
      }
    })
  })

  test('addresses of one family are enough when the other fails or is silent', async () => {
    for (const other of ['SERVFAIL', 'NXDOMAIN', 'silence'] as const) {
      const zone = (_: string, type: string): Reply => (type === 'A' ? { ttl: 60, records: ['192.0.2.1'] } : other)
      await withZone(zone, { timeoutMs: 5000, clock: handClock() }, async (resolver) => {
        const answer = await resolve(resolver, 'a.test')
        assert.deepEqual(answer.kind === 'addresses' && answer.addresses, ['192.0.2.1'], other)
      })
    }
  })

  test('an answer is remembered until it expires, and tells the time it has left', async () => {
    const clock = handClock()
    await withZone(
      { 'a.test': { ttl: 60, records: ['192.0.2.1', '2001:db8::1'] } },
      { clock },
      async (resolver, stub) => {
        await resolve(resolver, 'a.test')
        clock.nowMs += 20_000
        const again = await resolve(resolver, 'a.test')
        assert.equal(again.kind === 'addresses' && again.ttlMs, 40_000)
        assert.equal(stub.questions.length, 2)
        clock.nowMs += 40_000
        await resolve(resolver, 'a.test')
        assert.equal(stub.questions.length, 4)
      },
    )
  })

  test('that a name does not exist is remembered for a while, a failure only for a moment', async () => {
    const clock = handClock()
    await withZone({ 'fail.test': 'SERVFAIL' }, { clock }, async (resolver, stub) => {
      for (const stepMs of [0, 59_000, 2000]) {
        clock.nowMs += stepMs
        await resolve(resolver, 'none.test')
      }
      assert.equal(stub.questions.filter((question) => question === 'none.test A').length, 2)
      for (const stepMs of [0, 900, 200]) {
        clock.nowMs += stepMs
        await resolve(resolver, 'fail.test')
      }
      assert.equal(stub.questions.filter((question) => question === 'fail.test A').length, 2)
    })
  })

  test('the longest unused name is forgotten first', async () => {
    const zone = (): Reply => ({ ttl: 60, records: ['192.0.2.1', '2001:db8::1'] })
    await withZone(zone, { cacheEntriesMax: 2 }, async (resolver, stub) => {
      for (const name of ['a.test', 'b.test', 'a.test', 'c.test', 'a.test']) await resolve(resolver, name)
      assert.equal(stub.questions.length, 6)
      await resolve(resolver, 'b.test')
      assert.equal(stub.questions.length, 8)
    })
  })

  test('many callers for one name share one look-up, and each is called back once', async () => {
    const zone = (): Reply => ({ ttl: 60, records: ['192.0.2.1', '2001:db8::1'] })
    await withZone(zone, {}, async (resolver, stub) => {
      let calls = 0
      const one = () => resolve(resolver, 'a.test').then(() => calls++)
      await Promise.all(Array.from({ length: 50 }, one))
      assert.deepEqual({ calls, questions: stub.questions.length }, { calls: 50, questions: 2 })
    })
  })

  test('look-ups beyond the bound wait their turn', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `n${i}.test`)
    await withZone(
      () => 'silence',
      { lookupsMax: 3, timeoutMs: 60_000 },
      async (resolver, stub) => {
        for (const name of names) void resolve(resolver, name)
        while (stub.questions.length < 6) await new Promise((done) => setTimeout(done, 1))
        await new Promise((done) => setTimeout(done, 20))
        assert.equal(stub.questions.length, 6)
      },
    )
    const zone = (): Reply => ({ ttl: 60, records: ['192.0.2.1', '2001:db8::1'] })
    await withZone(zone, { lookupsMax: 3 }, async (resolver, stub) => {
      const answers = await Promise.all(names.map((name) => resolve(resolver, name)))
      assert.ok(answers.every((answer) => answer.kind === 'addresses'))
      assert.equal(stub.questions.length, 60)
    })
  })

  test('IP literals, localhost and the hosts file need no server', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hosts-'))
    const hostsFile = join(folder, 'hosts')
    writeFileSync(
      hostsFile,
      '# comment\n192.0.2.7  in-file.test Alias.test # both\n::1 in-file.test\nnonsense\n192.0.2.9 localhost\n',
    )
    await withZone({}, { hostsFile }, async (resolver, stub) => {
      const addresses = async (name: string) => {
        const answer = await resolve(resolver, name)
        return answer.kind === 'addresses' ? answer.addresses : answer.class
      }
      assert.deepEqual(await addresses('192.0.2.1'), ['192.0.2.1'])
      assert.deepEqual(await addresses('2001:db8::1'), ['2001:db8::1'])
      assert.deepEqual(await addresses('localhost'), ['127.0.0.1', '::1'])
      assert.deepEqual(await addresses('deep.below.localhost.'), ['127.0.0.1', '::1'])
      assert.deepEqual(await addresses('IN-file.test'), ['192.0.2.7', '::1'])
      assert.deepEqual(await addresses('alias.test'), ['192.0.2.7'])
      assert.deepEqual(stub.questions, [])
    })
    rmSync(folder, { recursive: true })
  })

  test('the callback never runs before resolve returns', async () => {
    await withZone({}, {}, async (resolver) => {
      let returned = false
      const order = new Promise((done) => resolver.resolve('127.0.0.1', () => done(returned)))
      returned = true
      assert.equal(await order, true)
    })
  })

  test('stop calls every caller back as dns.temporary', async () => {
    const stub = await serveDns(() => 'silence')
    const resolver = createResolver({ servers: [stub.server], lookupsMax: 2, timeoutMs: 60_000 })
    const answers = Array.from({ length: 6 }, (_, i) => resolve(resolver, `n${i}.test`))
    resolver.stop()
    answers.push(resolve(resolver, 'late.test'))
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.kind === 'trouble' && answer.class, 'dns.temporary')
    }
    await stub.close()
  })
})
