import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createWeb, type SocketWeb } from '../../src/adapters/web.ts'
import { closedPort, essence, get, limited, ok, pem, serve, serveTls, until } from './servers.ts'

const OPTIONS = { timeout: 8000 }
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n'

let web: SocketWeb
before(() => {
  web = createWeb()
})
after(() => web.stop())

/** What becomes of one raw answer; the connection is closed after it, or left open. */
async function outcome(bytes: string, after: 'end' | 'hold', limits = {}) {
  const server = await serve((socket) =>
    after === 'end' ? socket.end(bytes, 'latin1') : socket.write(bytes, 'latin1'),
  )
  const result = await get(web, `${server.url}/`, limited(limits))
  // Whatever went wrong, the connection is not kept.
  await until(() => server.open.size === 0)
  await server.close()
  return essence(result)
}

describe('web: connections that fail', OPTIONS, () => {
  test('nobody listens: connect.refused', async () => {
    const result = await get(web, `http://127.0.0.1:${await closedPort()}/`)
    assert.deepEqual(essence(result), { class: 'connect.refused', connected: false })
  })

  test('no route: connect.unreachable', async () => {
    const result = await get(web, 'http://a.test/', { address: '255.255.255.255' })
    assert.deepEqual(essence(result), { class: 'connect.unreachable', connected: false })
  })

  test('closed before any byte of an answer: connect.reset', async () => {
    assert.deepEqual(await outcome('', 'end'), { class: 'connect.reset', connected: true })
  })

  test('reset before any byte of an answer: connect.reset, and no second try on a fresh connection', async () => {
    const server = await serve((socket) => socket.resetAndDestroy())
    assert.deepEqual(essence(await get(web, `${server.url}/`)), { class: 'connect.reset', connected: true })
    assert.equal(server.heads.length, 1)
    await server.close()
  })

  test('reset within the body: connect.reset, since another try may get all', async () => {
    const server = await serve((socket) => {
      socket.write(`${HEAD}Content-Length: 5000\r\n\r\nhalf`)
      setTimeout(() => socket.resetAndDestroy(), 30)
    })
    assert.deepEqual(essence(await get(web, `${server.url}/`)), { class: 'connect.reset', connected: true })
    await server.close()
  })
})

describe('web: bodies that end too soon', OPTIONS, () => {
  test('before the announced length: kept, marked truncated', async () => {
    const expected = { status: 200, body: 'half a page', truncated: true }
    assert.deepEqual(await outcome(`${HEAD}Content-Length: 5000\r\n\r\nhalf a page`, 'end'), expected)
    assert.deepEqual(
      await outcome(`${HEAD}Connection: close\r\nContent-Length: 5000\r\n\r\nhalf a page`, 'end'),
      expected,
    )
  })

  test('within a chunk or before the last one: kept, marked truncated', async () => {
    const head = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
    assert.deepEqual(await outcome(`${head}9\r\nhalf`, 'end'), { status: 200, body: 'half', truncated: true })
    assert.deepEqual(await outcome(`${head}4\r\nhalf\r\n`, 'end'), { status: 200, body: 'half', truncated: true })
    const closing = `${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf`
    assert.deepEqual(await outcome(closing, 'end'), { status: 200, body: 'half', truncated: true })
  })

  test('without a byte: an empty answer marked truncated', async () => {
    const expected = { status: 200, body: '', truncated: true }
    assert.deepEqual(await outcome(`${HEAD}Content-Length: 5000\r\n\r\n`, 'end'), expected)
  })
})

describe('web: limits', OPTIONS, () => {
  test('a longer body is cut at the limit, marked truncated, its connection closed', async () => {
    const body = 'x'.repeat(100_000)
    const expected = { status: 200, body: 'x'.repeat(70_000), truncated: true }
    assert.deepEqual(await outcome(ok(body), 'hold', { bodyBytesMax: 70_000 }), expected)
  })

  test('a body of exactly the limit is whole', async () => {
    const server = await serve((socket) => socket.write(ok('12345')))
    const result = await get(web, `${server.url}/`, limited({ bodyBytesMax: 5 }))
    assert.deepEqual(essence(result), { status: 200, body: '12345', truncated: false })
    await server.close()
  })

  test('an endless body ends at the limit', async () => {
    const block = Buffer.alloc(65536, 'a')
    const server = await serve((socket) => {
      socket.write(`${HEAD}\r\n`)
      const pour = () => {
        while (!socket.destroyed && socket.write(block));
      }
      socket.on('drain', pour)
      pour()
    })
    const result = await get(web, `${server.url}/`, limited({ bodyBytesMax: 1_000_000 }))
    assert.ok(result.kind === 'answer' && result.truncated && result.body.length === 1_000_000)
    await until(() => server.open.size === 0)
    await server.close()
  })

  test('many aborted downloads do not clog the way for others', async () => {
    const server = await serve((socket, head) =>
      socket.write(head.includes('/big') ? ok('x'.repeat(200_000)) : ok('small')),
    )
    const big = Array.from({ length: 40 }, () => get(web, `${server.url}/big`, limited({ bodyBytesMax: 1000 })))
    for (const result of await Promise.all(big)) assert.ok(result.kind === 'answer' && result.truncated)
    assert.deepEqual(essence(await get(web, `${server.url}/ok`)), { status: 200, body: 'small', truncated: false })
    await server.close()
  })

  test('a header over the limit: http.headers-too-large', async () => {
    const expected = { class: 'http.headers-too-large', connected: true }
    const head = `${HEAD}X-Big: ${'a'.repeat(5000)}\r\n`
    assert.deepEqual(await outcome(`${head}Content-Length: 0\r\n\r\n`, 'hold', { headerBytesMax: 4096 }), expected)
    assert.deepEqual(await outcome(head, 'hold', { headerBytesMax: 4096 }), expected)
    const trailer = `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\nX-Big: ${'a'.repeat(2 ** 20)}\r\n\r\n`
    assert.deepEqual(await outcome(trailer, 'hold'), expected)
  })

  test('a header within the limit passes, in one piece or byte by byte', async () => {
    const bytes = `${HEAD}X-Big: ${'a'.repeat(500)}\r\nContent-Length: 4\r\n\r\npage`
    const server = await serve(async (socket) => {
      for (const byte of bytes) await new Promise((resolve) => socket.write(byte, resolve))
    })
    const result = await get(web, `${server.url}/`, limited({ headerBytesMax: 1000 }))
    assert.deepEqual(essence(result), { status: 200, body: 'page', truncated: false })
    await server.close()
  })

  test('no answer, no end of the header, silence in the body: timeout', async () => {
    const expected = { class: 'timeout', connected: true }
    assert.deepEqual(await outcome('', 'hold', { headerMs: 50 }), expected)
    assert.deepEqual(await outcome(HEAD, 'hold', { headerMs: 50 }), expected)
    assert.deepEqual(await outcome(`${HEAD}Content-Length: 9\r\n\r\nhalf`, 'hold', { bodySilenceMs: 50 }), expected)
  })

  test('a body that trickles for ever ends at the limit of the whole', async () => {
    const server = await serve((socket) => {
      socket.write(`${HEAD}Content-Length: 100000\r\n\r\n`)
      const timer = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const result = await get(web, `${server.url}/`, limited({ bodySilenceMs: 5000, totalMs: 300 }))
    assert.deepEqual(essence(result), { class: 'timeout', connected: true })
    assert.ok(result.timing.firstByteMs > 0 || result.timing.totalMs >= 300)
    await server.close()
  })

  test('a handshake that never ends: timeout, and the connection is given up', async () => {
    const mute = createServer((socket) => void socket.resume().on('error', () => {}))
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as { port: number }
    const result = await get(web, `https://127.0.0.1:${port}/`, limited({ connectMs: 50 }))
    assert.deepEqual(essence(result), { class: 'timeout', connected: true })
    await new Promise((resolve) => mute.close(resolve))
  })
})

describe('web: messages that are not HTTP', OPTIONS, () => {
  const malformed = { class: 'http.malformed', connected: true }

  test('junk, a bad chunk size, a line without colon, two unequal lengths: http.malformed', async () => {
    assert.deepEqual(await outcome('<html>hello</html>\r\n\r\n', 'hold'), malformed)
    const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\nx\r\n0\r\n\r\n`
    assert.deepEqual(await outcome(chunked, 'hold'), malformed)
    assert.deepEqual(await outcome(`HTTP/1.1 200 OK\r\njunk line\r\nContent-Length: 4\r\n\r\npage`, 'hold'), malformed)
    assert.deepEqual(await outcome(`${HEAD}Content-Length: 4\r\nContent-Length: 5\r\n\r\npages`, 'hold'), malformed)
  })

  test('a switch of protocols nobody asked for: http.malformed', async () => {
    const bytes = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\njunk'
    assert.deepEqual(await outcome(bytes, 'hold'), malformed)
  })

  test('messages are one line without control characters', async () => {
    const server = await serve((socket) => socket.write('\u0007\u001bjunk\r\n\r\n'))
    const result = await get(web, `${server.url}/`)
    assert.ok(result.kind === 'trouble' && result.message.length > 0)
    assert.doesNotMatch(result.message, /[\x00-\x1f\x7f]/)
    await server.close()
  })
})

describe('web: heads that browsers read', OPTIONS, () => {
  const page = { status: 200, body: 'page', truncated: false }

  test('interim answers are skipped, asked for or not, however they are cut', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n'
    assert.deepEqual(await outcome(interim + ok('page', 'Connection: close'), 'end'), page)
    for (const cut of [5, 24, 25, 40, interim.length - 1, interim.length, interim.length + 3]) {
      const bytes = interim + ok('page')
      const server = await serve((socket) => {
        socket.write(bytes.slice(0, cut))
        setTimeout(() => socket.write(bytes.slice(cut)), 10)
      })
      assert.deepEqual(essence(await get(web, `${server.url}/`)), page, `cut at ${cut}`)
      await server.close()
    }
  })

  test('LF alone, folded lines, a blank before the colon, equal lengths, a blank line first are read', async () => {
    const heads = [
      'HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 4\n\npage',
      'HTTP/1.1 200 OK\r\nX-A: one\r\n   two\r\nContent-Length: 4\r\n\r\npage',
      'HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\npage',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: y\r\ncontent-length: 4\r\n\r\npage',
      '\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n',
      'HTTP/1.1 200\r\nContent-Length: 4\r\n\r\npage',
    ]
    for (const head of heads) {
      const server = await serve((socket) => socket.write(head))
      assert.deepEqual(essence(await get(web, `${server.url}/`)), page, JSON.stringify(head))
      await server.close()
    }
  })

  test('a folded line becomes one line', async () => {
    const server = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\nX-A: one\r\n\t two\r\n\r\npage'))
    const result = await get(web, `${server.url}/`)
    assert.ok(result.kind === 'answer')
    assert.deepEqual(result.headers, [['x-a', 'one two']])
    await server.close()
  })

  test('a connection whose head had to be mended is not used again', async () => {
    const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\nContent-Length: 4\n\npage'))
    await get(web, `${server.url}/`)
    await get(web, `${server.url}/`)
    assert.equal(server.accepted, 2)
    await server.close()
  })
})

describe('web: TLS', OPTIONS, () => {
  const trusting = createWeb({ ca: pem('ca.pem') })
  after(() => trusting.stop())
  const invalid = { class: 'tls.invalid', connected: true }
  const page = { status: 200, body: 'page', truncated: false }

  test('the certificate is checked against the host of the URL, by name and by address', async () => {
    const server = await serveTls((socket) => socket.write(ok('page')))
    assert.deepEqual(essence(await get(trusting, `https://site.test:${server.port}/`)), page)
    assert.deepEqual(essence(await get(trusting, `https://127.0.0.1:${server.port}/`)), page)
    assert.deepEqual(essence(await get(trusting, `https://other.test:${server.port}/`)), invalid)
    assert.equal(server.heads.length, 2)
    await server.close()
  })

  test('a session resumed with one host does not open another', async () => {
    const server = await serveTls((socket) => socket.end(ok('page', 'Connection: close')))
    for (let i = 0; i < 3; i++)
      assert.deepEqual(essence(await get(trusting, `https://site.test:${server.port}/`)), page)
    assert.deepEqual(essence(await get(trusting, `https://other.test:${server.port}/`)), invalid)
    await server.close()
  })

  test('an unknown authority and an expired certificate: tls.invalid, and no request is sent', async () => {
    const good = await serveTls((socket) => socket.write(ok('page')))
    const expired = await serveTls((socket) => socket.write(ok('page')), 'expired')
    assert.deepEqual(essence(await get(web, `https://site.test:${good.port}/`)), invalid)
    const result = await get(trusting, `https://site.test:${expired.port}/`)
    assert.deepEqual(essence(result), invalid)
    assert.ok(result.kind === 'trouble' && result.message.includes('CERT_HAS_EXPIRED'))
    assert.equal(good.heads.length + expired.heads.length, 0)
    await good.close()
    await expired.close()
  })

  test('with `insecure` any certificate will do', async () => {
    const careless = createWeb({ insecure: true })
    const server = await serveTls((socket) => socket.write(ok('page')), 'expired')
    assert.deepEqual(essence(await get(careless, `https://whatever.test:${server.port}/`)), page)
    careless.stop()
    await server.close()
  })

  test('plain HTTP on the port of TLS: tls.invalid', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nplain http'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    assert.deepEqual(essence(await get(trusting, `https://site.test:${port}/`)), invalid)
    await new Promise((resolve) => server.close(resolve))
  })

  test('a TLS connection cut in the middle of a body is never a whole answer', async () => {
    const server = await serveTls((socket) => {
      socket.write(`${HEAD}Content-Length: 5000\r\n\r\nhalf`)
      setTimeout(() => socket.destroy(), 50)
    })
    const result = await get(trusting, `https://site.test:${server.port}/`)
    assert.ok(result.kind === 'trouble' ? result.class === 'connect.reset' : result.truncated)
    await server.close()
  })

  test('TLS connections are kept and used again', async () => {
    const server = await serveTls((socket) => socket.write(ok('page')))
    for (let i = 0; i < 3; i++) await get(trusting, `https://site.test:${server.port}/`)
    assert.equal(server.accepted, 1)
    await server.close()
  })
})
