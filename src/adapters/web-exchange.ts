/**
 * One request and what comes of it: undici's handler, the limits, the one result.
 *
 * Invariant: settles exactly once; what undici reports afterwards is ignored. The result is handed over in a
 * microtask: never inside `fetch`, and never under undici's own try/catch, which would hide a receiver's failure.
 * Caller: `web.ts`.
 */

import type { Dispatcher } from 'undici'
import type { FetchRequest, FetchResult, FetchTiming, TroubleClass } from '../env/web.ts'
import { BodyCollector } from './web-body.ts'
import { type Connection, HEAD_BYTES_MAX } from './web-connection.ts'
import type { Deadlined, Deadlines } from './web-deadlines.ts'
import { isPrematureEnd, isShortage, type Stage, troubleClass, troubleMessage } from './web-trouble.ts'

type Headers = ReadonlyArray<readonly [string, string]>
type Phase = 'connecting' | 'shortage' | 'head' | 'body' | 'settled'

/** What an exchange asks of the `Web` it belongs to. */
export interface ExchangeOwner {
  readonly deadlines: Deadlines<Exchange>
  /** Sends the request again over a fresh connection. */
  relaunch(exchange: Exchange): void
  /** Closes an idle connection, if there is one: the machine has no more sockets. */
  makeRoom(): void
  /** Takes note of the end; the connection may go back to the pool when `reusable`. */
  settled(exchange: Exchange, connection: Connection | null, reusable: boolean): void
}

export class Exchange implements Dispatcher.DispatchHandler, Deadlined {
  readonly request: FetchRequest
  readonly origin: string
  readonly path: string
  watchedAt = -1
  private readonly owner: ExchangeOwner
  private readonly done: (result: FetchResult) => void
  private readonly startedAtMs = performance.now()
  private readonly startedAtTickMs: number
  private connection: Connection | null = null
  private phase: Phase = 'connecting'
  private phaseSinceTickMs: number
  private firstByteAtMs = 0
  private hasRetried = false
  private isWarm = false
  private status = 0
  private headers: Headers = []
  private readonly body = new BodyCollector()

  constructor(request: FetchRequest, owner: ExchangeOwner, done: (result: FetchResult) => void) {
    this.request = request
    // Cheaper than parsing a canonical URL again, and it cannot disagree with the parser.
    const slash = request.url.indexOf('/', request.url.indexOf('://') + 3)
    this.origin = slash === -1 ? request.url : request.url.slice(0, slash)
    this.path = slash === -1 ? '/' : request.url.slice(slash)
    this.owner = owner
    this.done = done
    this.startedAtTickMs = owner.deadlines.nowMs
    this.phaseSinceTickMs = this.startedAtTickMs
  }

  /** Starts over on a connection, fresh or warm. The caller dispatches. */
  begin(connection: Connection): void {
    this.connection = connection
    this.isWarm = connection.served > 0
    this.enter('connecting')
    connection.reader = this
  }

  onRequestStart(): void {
    if (this.phase === 'settled' || this.connection === null) return
    // undici may have opened the connection anew since.
    this.isWarm = this.connection.served > 0
    this.connection.head.open(Math.min(this.request.limits.headerBytesMax, HEAD_BYTES_MAX))
    this.enter('head')
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, parsed: Record<string, unknown>): void {
    if (this.phase === 'settled') return
    this.status = status
    this.headers = headerPairs(controller.rawHeaders as unknown as readonly Buffer[], parsed)
    this.body.expectedBytes = Number(parsed['content-length']) || 0
    this.enter('body')
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.phase === 'settled') return
    const roomBytes = this.request.limits.bodyBytesMax - this.body.bytes
    if (chunk.length <= roomBytes) {
      this.body.push(chunk)
      this.phaseSinceTickMs = this.owner.deadlines.nowMs
      return
    }
    if (roomBytes > 0) this.body.push(chunk.subarray(0, roomBytes))
    this.answer(true, false)
  }

  onResponseEnd(): void {
    if (this.phase !== 'settled') this.answer(false, true)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.phase === 'settled') return
    if (this.phase === 'body' && isPrematureEnd(error)) this.answer(true, false)
    else if (this.isStale(error)) this.retry()
    else if (this.phase === 'connecting' && isShortage(error)) this.waitForRoom()
    else this.fail(troubleClass(error, this.stage()), troubleMessage(error))
  }

  /** Ends the request where one of its limits has passed. */
  checkLimits(): void {
    const { limits } = this.request
    const { deadlines } = this.owner
    if (deadlines.hasPassed(limits.totalMs, this.startedAtTickMs)) this.expire('in all', limits.totalMs)
    else if (this.phase === 'head') this.checkPhase('waiting for the header', limits.headerMs)
    else if (this.phase === 'body') this.checkPhase('of silence in the body', limits.bodySilenceMs)
    else this.checkPhase('connecting', limits.connectMs)
    if (this.phase === 'shortage') this.owner.relaunch(this)
  }

  /** Ends the request without an answer and closes its connection. No effect once it is settled. */
  fail(troubleClass: TroubleClass, message: string): void {
    const connected = this.connection?.accepted ?? false
    this.settle({ kind: 'trouble', class: troubleClass, message, connected, timing: this.timing() }, false)
  }

  private answer(truncated: boolean, reusable: boolean): void {
    const { status, headers } = this
    const timing = this.timing()
    this.settle({ kind: 'answer', status, headers, body: this.body.take(), truncated, timing }, reusable)
  }

  private settle(result: FetchResult, reusable: boolean): void {
    if (this.phase === 'settled') return
    this.phase = 'settled'
    const { connection, owner, done } = this
    this.connection = null
    if (connection !== null) connection.reader = null
    if (!reusable) connection?.drop()
    queueMicrotask(() => {
      // Only now: undici closes connections that may not be reused right after it reports the end.
      owner.settled(this, connection, reusable)
      done(result)
    })
  }

  // A server may close an idle connection at the very moment we use it (RFC 9112 9.3.1): that says nothing of the page.
  private isStale(error: Error): boolean {
    const untouched = this.firstByteAtMs === 0 && !this.hasRetried && this.isWarm
    return untouched && troubleClass(error, 'waiting') === 'connect.reset'
  }

  private retry(): void {
    this.hasRetried = true
    this.owner.relaunch(this)
  }

  // Tried again at each tick: other requests end, and their connections can be closed.
  private waitForRoom(): void {
    this.owner.makeRoom()
    this.enter('shortage')
  }

  onChunk(connection: Connection): void {
    if (this.phase !== 'head') return
    if (this.firstByteAtMs === 0) this.firstByteAtMs = performance.now()
    if (!connection.head.overflowed) return
    this.fail('http.headers-too-large', `header larger than ${this.request.limits.headerBytesMax} bytes`)
  }

  private enter(phase: Phase): void {
    this.phase = phase
    this.phaseSinceTickMs = this.owner.deadlines.nowMs
  }

  private checkPhase(what: string, limitMs: number): void {
    if (this.owner.deadlines.hasPassed(limitMs, this.phaseSinceTickMs)) this.expire(what, limitMs)
  }

  private expire(what: string, limitMs: number): void {
    this.fail('timeout', `more than ${limitMs} ms ${what}`)
  }

  private stage(): Stage {
    if (this.phase === 'body') return 'body'
    if (this.phase === 'head') return 'waiting'
    return this.connection?.accepted ? 'handshake' : 'connecting'
  }

  private timing(): FetchTiming {
    const { startedAtMs } = this
    return {
      connectMs: wholeMs(startedAtMs, this.connection?.readyAtMs ?? 0),
      firstByteMs: wholeMs(startedAtMs, this.firstByteAtMs),
      totalMs: wholeMs(startedAtMs, performance.now()),
    }
  }
}

// 0 for what never happened, and for a connection that was there before.
function wholeMs(fromMs: number, toMs: number): number {
  return toMs <= fromMs ? 0 : Math.round(toMs - fromMs)
}

/**
 * Header lines as pairs. undici has parsed them already: without duplicates, its strings are taken as they are.
 *
 * Names that are numbers are the exception: an object lists them first, whatever their place.
 */
function headerPairs(raw: readonly Buffer[], parsed: Record<string, unknown>): Headers {
  const names = Object.keys(parsed)
  const isFirstANumber = names.length > 0 && /^[0-9]/.test(names[0])
  if (names.length * 2 === raw.length && !isFirstANumber) return names.map((name) => [name, parsed[name] as string])
  const pairs: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    pairs.push([raw[i].toString('latin1').toLowerCase(), raw[i + 1].toString('latin1')])
  }
  return pairs
}
