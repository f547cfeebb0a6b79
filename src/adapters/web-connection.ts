/**
 * One connection to one address for one origin: an undici client that never opens a second one beside it.
 *
 * Invariant: it goes to the address given and nowhere else, also when undici opens it again after the server closed it
 * between two requests; after `drop` it is never opened again.
 * Callers: `web.ts` opens and drops, `web-pool.ts` keeps the idle ones, `web-exchange.ts` reads its state.
 */

import assert from 'node:assert'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type buildConnector, Client } from 'undici'
import { HeadFilter } from './web-head.ts'
import type { TlsSettings } from './web-tls.ts'

/** Ceiling of a head and of a trailer, whatever a request's own limit; undici counts the trailer. */
export const HEAD_BYTES_MAX = 1 << 20

interface ConnectionOptions {
  /** `scheme://host[:port]`: gives the Host header, the server name and the name the certificate must bear. */
  readonly origin: string
  /** IP address to connect to; IPv6 without brackets. */
  readonly address: string
  readonly idleMs: number
  readonly tls: TlsSettings
}

interface ChunkReader {
  onChunk(connection: Connection): void
}

export class Connection {
  readonly origin: string
  readonly address: string
  readonly client: Client
  readonly head = new HeadFilter()
  /** Answers received on the present socket; 0 on a fresh one. */
  served = 0
  /** A server accepted the present socket (TCP), and for https the handshake is over. */
  accepted = false
  secured = false
  /** When the present socket became usable, by `performance.now()`. */
  readyAtMs = 0
  /** Neighbours in the pool's list of idle connections. */
  older: Connection | null = null
  newer: Connection | null = null
  /** Told of each chunk, before the parser sees any of it. */
  reader: ChunkReader | null = null
  private socket: Socket | null = null
  private dropped = false
  private readonly options: ConnectionOptions

  constructor(options: ConnectionOptions) {
    assert(isIP(options.address) !== 0, `not an IP address: ${options.address}`)
    this.options = options
    this.origin = options.origin
    this.address = options.address
    this.client = new Client(options.origin, {
      connect: (target, callback) => this.open(target, callback),
      // All limits of time are ours (web-deadlines.ts): undici's would be fixed per connection and set per request.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: options.idleMs,
      keepAliveMaxTimeout: options.idleMs,
      maxHeaderSize: HEAD_BYTES_MAX,
      pipelining: 1,
    })
  }

  /** Whether the socket may serve another request. */
  isUsable(): boolean {
    return !this.dropped && this.socket !== null && !this.socket.destroyed && !this.head.mended
  }

  /** Ends it at once, in whatever state; undici then fails what it had queued here. */
  drop(): void {
    this.dropped = true
    this.reader = null
    // While it connects, undici learns of the end only by an error.
    this.socket?.destroy(this.readyAtMs === 0 ? new Error('given up') : undefined)
  }

  private open(target: buildConnector.Options, callback: buildConnector.Callback): void {
    if (this.dropped) {
      callback(new Error('given up'), null)
      return
    }
    this.served = 0
    this.accepted = false
    this.secured = false
    this.readyAtMs = 0
    const secure = target.protocol === 'https:'
    const socket = secure ? this.connectSecure(target) : this.connectPlain(target)
    this.socket = socket
    this.filter(socket)
    let waiting: buildConnector.Callback | null = callback
    const end = (error: Error) => {
      waiting?.(error, null)
      waiting = null
    }
    socket.once('connect', () => {
      this.accepted = true
    })
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      this.secured = secure
      this.readyAtMs = performance.now()
      waiting?.(null, socket)
      waiting = null
    })
    // The listener stays: an error after the end of a request must not end the process.
    socket.on('error', end)
    socket.once('close', () => end(new Error('closed while connecting')))
  }

  private connectPlain(target: buildConnector.Options): Socket {
    return connectTcp({ host: this.options.address, port: Number(target.port || 80), noDelay: true })
  }

  private connectSecure(target: buildConnector.Options): Socket {
    const { address, origin, tls } = this.options
    const servername = serverName(target.hostname)
    const session = tls.sessionOf(origin)
    const socket = connectTls({
      host: address,
      port: Number(target.port || 443),
      servername,
      secureContext: tls.context,
      rejectUnauthorized: !tls.insecure,
      ALPNProtocols: ['http/1.1'],
      ...(session === undefined ? {} : { session }),
    })
    socket.setNoDelay(true)
    socket.on('session', (fresh) => tls.keepSession(origin, fresh))
    return socket
  }

  // undici takes its bytes by `read()`; this is the one place through which every byte of an answer comes.
  private filter(socket: Socket): void {
    const read = socket.read
    socket.read = (sizeBytes?: number) => {
      const chunk: Buffer | null = read.call(socket, sizeBytes)
      if (chunk === null || chunk.length === 0) return chunk
      const passed = this.head.pass(chunk)
      this.reader?.onChunk(this)
      return passed
    }
  }
}

// Server names have no final dot and are never addresses (RFC 6066 3).
function serverName(hostname: string): string {
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return ''
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}
