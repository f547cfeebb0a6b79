/** Real servers on loopback for the tests of the web: raw sockets that say exactly what a test wants. */

import { readFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { FetchLimits, FetchRequest, FetchResult, Web } from '../../src/env/web.ts'

/** Answers the request whose head is given; called once per request, with the count of requests on this socket. */
export type Answerer = (socket: Socket, head: string, nth: number) => void

export interface TestServer {
  readonly port: number
  readonly url: string
  /** Sockets accepted so far, and those still open. */
  accepted: number
  readonly open: Set<Socket>
  /** Heads of the requests, in order. */
  readonly heads: string[]
  close(): Promise<void>
}

/** Generous: a test that means a limit sets that one. */
export const LIMITS: FetchLimits = {
  connectMs: 20_000,
  headerMs: 20_000,
  bodySilenceMs: 20_000,
  totalMs: 20_000,
  headerBytesMax: 65_536,
  bodyBytesMax: 1 << 24,
}

export function pem(name: string): string {
  return readFileSync(new URL(`./tls/${name}`, import.meta.url), 'utf8')
}

export async function serve(answer: Answerer, host = '127.0.0.1'): Promise<TestServer> {
  return listen(createServer(), 'connection', 'http', host, answer)
}

export async function serveTls(answer: Answerer, certificate = 'good'): Promise<TestServer> {
  const options = { key: pem(`${certificate}.key`), cert: pem(`${certificate}.pem`) }
  return listen(createTlsServer(options), 'secureConnection', 'https', '127.0.0.1', answer)
}

async function listen(server: Server, event: string, scheme: string, host: string, answer: Answerer) {
  const open = new Set<Socket>()
  const heads: string[] = []
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as { port: number }
  const bracketed = host.includes(':') ? `[${host}]` : host
  const close = () => closeServer(server, open)
  const test: TestServer = { port, url: `${scheme}://${bracketed}:${port}`, accepted: 0, open, heads, close }
  // Counted as TCP connections, also below TLS.
  server.on('connection', (socket: Socket) => {
    test.accepted++
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.on(event, (socket: Socket) => readHeads(socket, heads, answer))
  return test
}

function readHeads(socket: Socket, heads: string[], answer: Answerer): void {
  let text = ''
  let nth = 0
  socket.on('error', () => {})
  socket.on('data', (data) => {
    text += data.toString('latin1')
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end)
      text = text.slice(end + 4)
      heads.push(head)
      answer(socket, head, ++nth)
    }
  })
}

function closeServer(server: Server, open: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of open) socket.destroy()
  })
}

/** A whole answer with a length. */
export function ok(body: string, ...fields: string[]): string {
  const head = ['HTTP/1.1 200 OK', 'Content-Type: text/html', `Content-Length: ${Buffer.byteLength(body)}`, ...fields]
  return head.join('\r\n') + '\r\n\r\n' + body
}

/** One request by promise; `address` is 127.0.0.1 where the test says nothing. */
export function get(web: Web, url: string, options: Partial<FetchRequest> = {}): Promise<FetchResult> {
  const request: FetchRequest = { url, address: '127.0.0.1', headers: {}, limits: LIMITS, ...options }
  return new Promise((resolve) => web.fetch(request, resolve))
}

export function limited(limits: Partial<FetchLimits>): Pick<FetchRequest, 'limits'> {
  return { limits: { ...LIMITS, ...limits } }
}

/** What tests compare: the result without times and headers, the body as latin1 text. */
export function essence(result: FetchResult): object {
  if (result.kind === 'trouble') return { class: result.class, connected: result.connected }
  return { status: result.status, body: Buffer.from(result.body).toString('latin1'), truncated: result.truncated }
}

/** A loopback port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = await serve(() => {})
  await server.close()
  return server.port
}

/** Waits until a condition holds; the test's own time limit ends a wait in vain. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
