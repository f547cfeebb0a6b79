import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { createWeb, type SocketWeb } from '../../src/adapters/web.ts'
import { essence, get, LIMITS, ok, serve, until } from './servers.ts'

const OPTIONS = { timeout: 8000 }
const HAS_IPV6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

let web: SocketWeb
before(() => {
  web = createWeb()
})
after(() => web.stop())

describe('web: requests and answers', OPTIONS, () => {
  test('the request goes to the address given, with the Host of the URL', async () => {
    const server = await serve((socket) => socket.write(ok('page')))
    const url = `http://no-such-name.test:${server.port}/a/b?c=d`
    const result = await get(web, url, { headers: { 'user-agent': 'examplebot/1' } })
    assert.deepEqual(essence(result), { status: 200, body: 'page', truncated: false })
    const lines = server.heads[0].split('\r\n')
    assert.equal(lines[0], 'GET /a/b?c=d HTTP/1.1')
    assert.ok(lines.includes(`host: no-such-name.test:${server.port}`))
    assert.ok(lines.includes('user-agent: examplebot/1'))
    await server.close()
  })

  test('an address that is none is a programming error, never a look-up', () => {
    const request = { url: 'http://a.test/', address: 'localhost', headers: {}, limits: {} as never }
    assert.throws(() => createWeb().fetch(request, () => {}), /not an IP address/)
  })

  test('header lines come in order, duplicates kept, names in lower case, values in latin1', async () => {
    const fields = ['Set-Cookie: a=1', 'X-Caf\u00e9: no', 'X-B: caf\u00e9', '7: x', 'set-cookie: b=2', '__proto__: p']
    fields.splice(1, 1)
    const server = await serve((socket) => socket.write(ok('', ...fields), 'latin1'))
    const result = await get(web, `${server.url}/`)
    assert.ok(result.kind === 'answer')
    assert.deepEqual(result.headers.slice(2), [
      ['set-cookie', 'a=1'],
      ['x-b', 'caf\u00e9'],
      ['7', 'x'],
      ['set-cookie', 'b=2'],
      ['__proto__', 'p'],
    ])
    await server.close()
  })

  test('header lines without duplicates come in order too, numbers included', async () => {
    const server = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\n9: a\r\nB: b\r\n1: c\r\nContent-Length: 0\r\n\r\n'),
    )
    const result = await get(web, `${server.url}/`)
    assert.ok(result.kind === 'answer')
    assert.deepEqual(
      result.headers.map(([name]) => name),
      ['9', 'b', '1', 'content-length'],
    )
    await server.close()
  })

  test('chunked bodies are joined, with extensions and trailers left out', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    const server = await serve((socket) => socket.write(`${head}4;x="y;z"\r\nabcd\r\n3\r\nefg\r\n0\r\nX-T: 1\r\n\r\n`))
    assert.deepEqual(essence(await get(web, `${server.url}/`)), { status: 200, body: 'abcdefg', truncated: false })
    await server.close()
  })

  test('a body of many pieces arrives whole, in memory of exactly its size', async () => {
    const piece = '0123456789abcdef'.repeat(700)
    const server = await serve(async (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${piece.length * 20}\r\n\r\n`)
      for (let i = 0; i < 20; i++) await new Promise((resolve) => socket.write(piece, resolve))
    })
    const result = await get(web, `${server.url}/`)
    assert.ok(result.kind === 'answer')
    assert.equal(Buffer.from(result.body).toString('latin1'), piece.repeat(20))
    assert.ok(result.body.buffer.byteLength <= result.body.length * 1.25)
    await server.close()
  })

  test('an answer of HTTP/1.0 without length ends with the connection', async () => {
    const server = await serve((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold page'))
    assert.deepEqual(essence(await get(web, `${server.url}/`)), { status: 200, body: 'old page', truncated: false })
    await server.close()
  })

  test('204 and 304 have no body, whatever length they announce', async () => {
    const server = await serve((socket, head) =>
      socket.write(`HTTP/1.1 ${head.slice(5, 8)} X\r\nContent-Length: 500\r\n\r\n`),
    )
    assert.deepEqual(essence(await get(web, `${server.url}/204`)), { status: 204, body: '', truncated: false })
    assert.deepEqual(essence(await get(web, `${server.url}/304`)), { status: 304, body: '', truncated: false })
    await server.close()
  })

  test('redirects and statuses nobody has heard of are answers', async () => {
    const head = (status: string) => `HTTP/1.1 ${status}\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nno`
    const server = await serve((socket, request) => socket.write(head(request.slice(5, 8))))
    assert.deepEqual(essence(await get(web, `${server.url}/301`)), { status: 301, body: 'no', truncated: false })
    assert.deepEqual(essence(await get(web, `${server.url}/999`)), { status: 999, body: 'no', truncated: false })
    await server.close()
  })

  test('an Upgrade offer on a 200 answer changes nothing', async () => {
    const server = await serve((socket) =>
      socket.write(ok('page', 'Upgrade: h2,h2c', 'Connection: Upgrade, Keep-Alive')),
    )
    assert.deepEqual(essence(await get(web, `${server.url}/`)), { status: 200, body: 'page', truncated: false })
    await server.close()
  })

  test('IPv6 addresses are reached', { skip: !HAS_IPV6 }, async () => {
    const server = await serve((socket) => socket.write(ok('six')), '::1')
    const result = await get(web, `${server.url}/`, { address: '::1' })
    assert.deepEqual(essence(result), { status: 200, body: 'six', truncated: false })
    assert.ok(server.heads[0].includes(`host: [::1]:${server.port}`))
    await server.close()
  })
})

describe('web: connections', OPTIONS, () => {
  test('the next request to the same origin and address uses the same connection', async () => {
    const server = await serve((socket) => socket.write(ok('page')))
    for (let i = 0; i < 5; i++) await get(web, `${server.url}/${i}`)
    assert.equal(server.accepted, 1)
    await server.close()
  })

  test('connections are not shared between addresses of one origin, nor between origins of one address', async () => {
    const server = await serve((socket) => socket.write(ok('page')), '0.0.0.0')
    const ask = (host: string, address: string) => get(web, `http://${host}:${server.port}/`, { address })
    await ask('a.test', '127.0.0.1')
    await ask('a.test', '127.0.0.2')
    await ask('b.test', '127.0.0.1')
    await ask('a.test', '127.0.0.1')
    assert.equal(server.accepted, 3)
    await server.close()
  })

  test('a server that closes after each answer without saying so loses no page', async () => {
    const server = await serve((socket) => socket.end(ok('page')))
    for (let i = 0; i < 10; i++) {
      assert.deepEqual(essence(await get(web, `${server.url}/${i}`)), { status: 200, body: 'page', truncated: false })
    }
    await server.close()
  })

  test('a request lost on a connection the server just closed is sent again, unseen by the caller', async () => {
    const server = await serve((socket, _, nth) => (nth === 1 ? socket.write(ok('page')) : socket.resetAndDestroy()))
    await get(web, `${server.url}/1`)
    assert.deepEqual(essence(await get(web, `${server.url}/2`)), { status: 200, body: 'page', truncated: false })
    assert.equal(server.accepted, 2)
    assert.deepEqual(
      server.heads.map((head) => head.slice(0, 6)),
      ['GET /1', 'GET /2', 'GET /2'],
    )
    await server.close()
  })

  test('it is sent again once only', async () => {
    let requests = 0
    const server = await serve((socket) => (++requests === 1 ? socket.write(ok('page')) : socket.end()))
    await get(web, `${server.url}/1`)
    assert.deepEqual(essence(await get(web, `${server.url}/2`)), { class: 'connect.reset', connected: true })
    assert.equal(requests, 3)
    await server.close()
  })

  test('it is not sent again once a byte of an answer came', async () => {
    const server = await serve((socket, _, nth) => (nth === 1 ? socket.write(ok('page')) : socket.end('HTTP/1.1 20')))
    await get(web, `${server.url}/1`)
    assert.deepEqual(essence(await get(web, `${server.url}/2`)), { class: 'connect.reset', connected: true })
    assert.equal(server.heads.length, 2)
    await server.close()
  })

  test('bytes beyond the announced length end the connection and appear in no answer', async () => {
    const server = await serve((socket, _, nth) =>
      socket.write(ok(`page ${nth}`) + 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
    )
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(essence(await get(web, `${server.url}/`)), { status: 200, body: 'page 1', truncated: false })
    }
    assert.equal(server.accepted, 3)
    await server.close()
  })

  test('hundreds of requests at once are each answered once', async () => {
    const server = await serve((socket, head) => socket.write(ok(head.slice(4, head.indexOf(' HTTP')))))
    const counts = new Map<string, number>()
    const all = Array.from({ length: 500 }, async (_, i) => {
      const result = await get(web, `${server.url}/${i}`)
      assert.deepEqual(essence(result), { status: 200, body: `/${i}`, truncated: false })
      counts.set(`/${i}`, (counts.get(`/${i}`) ?? 0) + 1)
    })
    await Promise.all(all)
    assert.equal(counts.size, 500)
    await server.close()
  })

  test('idle connections beyond the limit are closed, the longest idle first', async () => {
    const small = createWeb({ idleSocketsMax: 2 })
    const server = await serve((socket) => socket.write(ok('page')))
    const ask = (host: string) => get(small, `http://${host}.test:${server.port}/`)
    for (const host of ['a', 'b', 'c']) await ask(host)
    assert.equal(small.counts().idle, 2)
    await until(() => server.open.size === 2)
    await ask('b')
    await ask('c')
    assert.equal(server.accepted, 3)
    small.stop()
    await server.close()
  })

  test('busy and idle connections together stay within the limit', async () => {
    const small = createWeb({ socketsMax: 3 })
    const server = await serve((socket, head) => {
      if (!head.includes('/hang')) socket.write(ok('page'))
    })
    for (const host of ['a', 'b', 'c']) await get(small, `http://${host}.test:${server.port}/`)
    for (const host of ['d', 'e']) void get(small, `http://${host}.test:${server.port}/hang`)
    assert.deepEqual(small.counts(), { inFlight: 2, idle: 1 })
    small.stop()
    await server.close()
  })

  test('a connection without requests is closed after its time', async () => {
    const brief = createWeb({ idleMs: 30 })
    const server = await serve((socket) => socket.write(ok('page')))
    await get(brief, `${server.url}/`)
    await until(() => server.open.size === 0 && brief.counts().idle === 0)
    brief.stop()
    await server.close()
  })
})

describe('web: calling back', OPTIONS, () => {
  test('the callback never runs before fetch returns', async () => {
    const server = await serve((socket) => socket.write(ok('page')))
    const bad = { 'x-bad': 'line\nbreak' }
    let returned = false
    const result = await new Promise((resolve) => {
      const request = { url: `${server.url}/`, address: '127.0.0.1', headers: bad, limits: LIMITS }
      web.fetch(request, (answer) => resolve({ returned, kind: answer.kind }))
      returned = true
    })
    assert.deepEqual(result, { returned: true, kind: 'trouble' })
    await server.close()
  })

  test('stop calls every request in flight back as stopped, once, and closes all connections', async () => {
    const doomed = createWeb()
    const server = await serve((socket, head) => {
      if (head.includes('/idle')) socket.write(ok('page'))
      if (head.includes('/body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    })
    await Promise.all([get(doomed, `${server.url}/idle1`), get(doomed, `${server.url}/idle2`)])
    const inFlight = ['/silent', '/body', '/silent2'].map((path) => get(doomed, `${server.url}${path}`))
    await until(() => server.heads.length === 5)
    doomed.stop()
    for (const result of await Promise.all(inFlight)) {
      assert.deepEqual(essence(result), { class: 'stopped', connected: true })
    }
    assert.deepEqual(essence(await get(doomed, `${server.url}/late`)), { class: 'stopped', connected: false })
    assert.deepEqual(doomed.counts(), { inFlight: 0, idle: 0 })
    await until(() => server.open.size === 0)
    await server.close()
  })

  test('a request may be sent from within a callback, and the process is not held by idle connections', async () => {
    const server = await serve((socket) => socket.write(ok('page')))
    let left = 20
    await new Promise<void>((resolve) => {
      const next = () => void get(web, `${server.url}/`).then(() => (--left === 0 ? resolve() : next()))
      next()
    })
    assert.equal(server.accepted, 1)
    await server.close()
  })

  test('times are counted from the start and grow from phase to phase', async () => {
    const server = await serve((socket) => socket.write(ok('page')))
    const { timing } = await get(web, `${server.url}/`)
    assert.ok(0 <= timing.connectMs && timing.connectMs <= timing.firstByteMs && timing.firstByteMs <= timing.totalMs)
    const again = await get(web, `${server.url}/`)
    assert.equal(again.timing.connectMs, 0)
    await server.close()
  })
})
