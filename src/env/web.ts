/** The web: one request, one result. Implementations: `adapters/web.ts` (undici dispatch), the simulator's. */
export interface Web {
  /**
   * Sends one GET to the address given, whatever the host's name resolves to now. Calls `done` exactly once, never
   * before it returns, also for every failure. Redirects are not followed: they are answers.
   */
  fetch(request: FetchRequest, done: (result: FetchResult) => void): void
  /** Gives up all requests in flight (each is called back with class `stopped`) and closes idle connections. */
  stop(): void
}

export interface FetchRequest {
  /** Canonical http or https URL, no fragment, no credentials. */
  readonly url: string
  /** The address to connect to: it was checked, so the name is not looked up again. IPv6 without brackets. */
  readonly address: string
  /** Extra request headers, e.g. user-agent, accept-encoding; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly limits: FetchLimits
}

/** Limits of one request. Times in milliseconds, none above 2³¹ − 1; sizes in bytes as received. */
export interface FetchLimits {
  readonly connectMs: number
  /** From the request sent to the last byte of the header. */
  readonly headerMs: number
  /** Longest silence within the body. */
  readonly bodySilenceMs: number
  /** From start to end, armed through the body. */
  readonly totalMs: number
  readonly headerBytesMax: number
  /** A longer body is cut there and the answer marked `truncated`. */
  readonly bodyBytesMax: number
}

export type FetchResult = FetchAnswer | FetchTrouble

export interface FetchAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** As received, in order, duplicates kept: name in lower case, value in latin1. */
  readonly headers: ReadonlyArray<readonly [string, string]>
  /** As received: chunking undone, content-encoding not. Owned by the receiver. */
  readonly body: Uint8Array
  /** The body was cut by a limit, or ended before its announced length. */
  readonly truncated: boolean
  readonly timing: FetchTiming
}

export interface FetchTrouble {
  readonly kind: 'trouble'
  readonly class: TroubleClass
  /** For people; one line, no control characters. */
  readonly message: string
  /** Whether a connection was accepted before the trouble. */
  readonly connected: boolean
  readonly timing: FetchTiming
}

/** Milliseconds spent from the start of the request; 0 where it did not come so far. */
export interface FetchTiming {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly totalMs: number
}

/** The words of the cases' README; frozen with the reason numbers of the log. */
export type TroubleClass =
  | 'connect.refused'
  | 'connect.reset'
  | 'connect.unreachable'
  | 'tls.invalid'
  | 'timeout'
  | 'http.malformed'
  | 'http.headers-too-large'
  | 'stopped'
