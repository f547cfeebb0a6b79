/**
 * The web through undici's `Client.dispatch`: HTTP/1.1 over TCP and TLS, one request at a time per connection.
 *
 * Invariant: a request leaves for the address it names and calls back exactly once, in a microtask of its own.
 * An idle host holds a socket for `idleMs` at most, and nothing after that.
 * Parts: `web-exchange.ts` one request; `web-connection.ts` one connection; `web-pool.ts` the idle ones; `web-head.ts`
 * odd heads; `web-deadlines.ts` limits of time; `web-trouble.ts` errors in our words; `web-tls.ts` what TLS shares.
 * Rejected: `fetch` and `request` (3 to 5 times and 1.2 times the cost), `Agent` (looks names up itself, one pool per
 * origin that is never forgotten), HTTP/2 (in undici slower than HTTP/1.1, and one connection failing fails many).
 */

import type { FetchRequest, FetchResult, Web } from '../env/web.ts'
import { Connection } from './web-connection.ts'
import { Deadlines } from './web-deadlines.ts'
import { Exchange, type ExchangeOwner } from './web-exchange.ts'
import { IdlePool } from './web-pool.ts'
import { createTlsSettings } from './web-tls.ts'

export interface WebOptions {
  /**
   * Sockets at once, busy and idle; default 256. Idle ones are closed to stay within it. Requests are never refused:
   * how many are in flight is the caller's decision.
   */
  readonly socketsMax?: number
  /** Idle sockets kept for the next request to the same origin and address; default: `socketsMax`. */
  readonly idleSocketsMax?: number
  /** How long a socket stays open without a request, milliseconds; default 15,000. A server's shorter hint wins. */
  readonly idleMs?: number
  /** Accept any certificate; default false. */
  readonly insecure?: boolean
  /** Trust these authorities (PEM) instead of Node's. */
  readonly ca?: string
  /** TLS sessions kept for resumption, 2 to 4 KB each; default 1,000. */
  readonly tlsSessionsMax?: number
}

export interface SocketCounts {
  /** Requests not yet called back. */
  readonly inFlight: number
  /** Open connections without a request. */
  readonly idle: number
}

/** A `Web` that tells what it holds. */
export interface SocketWeb extends Web {
  counts(): SocketCounts
}

export function createWeb(options: WebOptions = {}): SocketWeb {
  return new UndiciWeb(options)
}

class UndiciWeb implements SocketWeb, ExchangeOwner {
  readonly deadlines = new Deadlines<Exchange>()
  private readonly pool = new IdlePool()
  private readonly socketsMax: number
  private readonly idleSocketsMax: number
  private readonly idleMs: number
  private readonly tls: ReturnType<typeof createTlsSettings>
  private isStopped = false

  constructor(options: WebOptions) {
    this.socketsMax = options.socketsMax ?? 256
    this.idleSocketsMax = options.idleSocketsMax ?? this.socketsMax
    this.idleMs = options.idleMs ?? 15_000
    this.tls = createTlsSettings(options.insecure ?? false, options.ca, options.tlsSessionsMax ?? 1000)
  }

  fetch(request: FetchRequest, done: (result: FetchResult) => void): void {
    const exchange = new Exchange(request, this, done)
    this.deadlines.watch(exchange)
    if (this.isStopped) exchange.fail('stopped', 'stopped before it was sent')
    else this.launch(exchange, this.pool.take(exchange.origin, request.address) ?? this.open(exchange))
  }

  stop(): void {
    this.isStopped = true
    for (const exchange of this.deadlines.all()) exchange.fail('stopped', 'stopped while in flight')
    while (this.pool.size > 0) this.pool.dropOldest()
  }

  counts(): SocketCounts {
    return { inFlight: this.deadlines.size, idle: this.pool.size }
  }

  relaunch(exchange: Exchange): void {
    this.launch(exchange, this.open(exchange))
  }

  makeRoom(): void {
    this.pool.dropOldest()
  }

  settled(exchange: Exchange, connection: Connection | null, reusable: boolean): void {
    this.deadlines.unwatch(exchange)
    if (connection === null) return
    connection.served++
    if (!reusable || this.isStopped || !connection.isUsable()) connection.drop()
    else this.pool.put(connection)
    this.closeSurplus()
  }

  private launch(exchange: Exchange, connection: Connection): void {
    exchange.begin(connection)
    const { path, request } = exchange
    connection.client.dispatch({ path, method: 'GET', headers: request.headers }, exchange)
  }

  private open({ origin, request }: Exchange): Connection {
    this.closeSurplus()
    const connection = new Connection({ origin, address: request.address, idleMs: this.idleMs, tls: this.tls })
    // The server or undici's idle timer closed it.
    connection.client.on('disconnect', () => this.pool.remove(connection))
    return connection
  }

  private closeSurplus(): void {
    const roomForIdle = Math.max(0, Math.min(this.idleSocketsMax, this.socketsMax - this.deadlines.size))
    while (this.pool.size > roomForIdle) this.pool.dropOldest()
  }
}
