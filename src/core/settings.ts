/**
 * The settings of a crawl: every limit and rule a user can choose, with its unit and its default.
 *
 * Invariant: a `Settings` is plain JSON, holds every key, and survives `JSON.parse(JSON.stringify(s))` unchanged, because
 * the `open` and `control` records carry it. null means "no limit". What flags and files may say, and how it is checked,
 * is in setting-options.ts and setting-input.ts.
 */
import { URL_RULES_DEFAULT, type UrlRules } from './url-rules.ts'

/** Which links belong to the crawl, seen from its seeds: same host, same registrable domain, below the seed's directory, all. */
export type Scope = 'host' | 'domain' | 'prefix' | 'any'

/** Which pending URL of a host comes next. */
export type Order = 'breadth' | 'depth' | 'priority' | 'random'

export interface Settings {
  // Which pages

  /** Which links belong to the crawl. Default: `host`. */
  readonly scope: Scope
  /** Most links between a seed and a page; seeds have depth 0. null = no limit (default). */
  readonly depthMax: number | null
  /** Regular expressions; where there are any, a URL that is no seed must match one. Default: none. */
  readonly include: readonly string[]
  /** Regular expressions; a URL that matches one is refused, whatever `include` says, a seed too. Default: none. */
  readonly exclude: readonly string[]
  /** File name extensions whose links are refused, without dot, any case (`zip`, `mp4`). Default: none. */
  readonly skipExtensions: readonly string[]
  /** Longest canonical URL, bytes. Default: 2048. */
  readonly urlBytesMax: number
  /** The crawl's own rules of URL equality. Fixed when the crawl is created. Default: none. */
  readonly urlRules: UrlRules
  /** Which pending URL of a host comes next. Default: `breadth`. */
  readonly order: Order
  /** With order `priority`: regular expressions; URLs that match one come before all others of their host. Default: none. */
  readonly prefer: readonly string[]
  /** How URLs already met are remembered. `exact` is the only way so far. */
  readonly seen: 'exact'

  // Budgets

  /** Stored 2xx bodies over the life of the crawl (under `hosts`: per host). null = no limit (default). */
  readonly pagesMax: number | null
  /** Bytes of bodies as received over the life of the crawl (under `hosts`: per host). null = no limit (default). */
  readonly bytesMax: number | null
  /** Running time over the life of the crawl, milliseconds. null = no limit (default). */
  readonly timeMaxMs: number | null

  // Politeness

  /** Pause between the end of a host's answer and the next request to it, milliseconds. Default: 1000. */
  readonly delayMs: number
  /** The same for an IP address, whatever the host. Default: a quarter of `delayMs`. */
  readonly ipDelayMs: number
  /** Longest pause that robots.txt, Retry-After, `delayFactor` or backoff may ask for, milliseconds. Default: 5 minutes. */
  readonly delayMaxMs: number
  /** Pause of at least this many times the last answer's duration; 0 = off (default). */
  readonly delayFactor: number
  /** Requests in flight to one host; more than one only while its delay is 0. Default: 1, or 16 where `delayMs` is 0. */
  readonly perHost: number
  /** Sockets of the crawl. Default: 256. */
  readonly concurrency: number
  /** Bytes received per second over the whole crawl. null = no limit (default). */
  readonly rateLimit: number | null
  /** Whether robots.txt, meta robots and rel=nofollow are obeyed. Default: true. */
  readonly robots: boolean
  /** What requests call themselves. Say who you are and where you can be reached. Default: `rewind-crawler/VERSION`. */
  readonly userAgent: string
  /** Product token looked for in robots.txt. Default: the first word of `userAgent`. */
  readonly robotsAgent: string

  // Requests

  /** Further attempts after a failure that may pass. Default: 3. */
  readonly retriesMax: number
  /** From the start of a request to its last byte, milliseconds. Default: 30 seconds. */
  readonly timeoutMs: number
  /** From the start of a request to an open connection, TLS included, milliseconds. Default: 10 seconds. */
  readonly connectTimeoutMs: number
  /** Longest body as received, and decoded, bytes; the rest is cut and the page flagged. Default: 16 MiB. */
  readonly bodyBytesMax: number
  /** Longest response header, bytes. Default: 64 KiB. */
  readonly headerBytesMax: number
  /** Most decoded bytes per received byte of a compressed body. Default: 200. */
  readonly ratioMax: number
  /** Most hops of a redirect chain. Default: 20. */
  readonly redirectsMax: number
  /** Most links taken from one page. Default: 10000. */
  readonly linksMax: number
  /** Extra request headers, each `Name: value`. Default: none. */
  readonly header: readonly string[]
  /** Whether cookies are kept and sent back. Default: false. */
  readonly cookies: boolean
  /** Name servers, IP or IP:PORT ([IPv6]:PORT), instead of the system's. Default: none. */
  readonly dnsServers: readonly string[]
  /** Private addresses that may be contacted: IP, CIDR or HOST:PORT. Default: none. */
  readonly allowPrivate: readonly string[]
  /** Whether bad TLS certificates are accepted. Default: false. */
  readonly insecure: boolean

  // Storage

  /** Age of the oldest unsynced record at which the next sync must start, milliseconds. Default: 100. */
  readonly durabilityMs: number
  /** Free bytes of the file system below which the crawl stops. Default: 1 GiB. */
  readonly freeBytesMin: number
  /**
   * A checkpoint is made while crawling when the replay of what lies behind the last one is reckoned to take this long,
   * and half as long as reading that one's image; milliseconds. Default: 1 second, about 3 million KEY items.
   */
  readonly checkpointAfterMs: number
  /** Bytes of all images of checkpoints, at most; the newest two are kept whatever their size. Default: 4 GiB. */
  readonly checkpointBytesMax: number
  /** Whether a page's record lists its links to URLs already known. Default: true. */
  readonly graph: boolean
  /** Whether a page's record lists the links turned away. Default: false. */
  readonly keepRefused: boolean
  /** Parts the hosts are divided into; fixed when the crawl is created. Default: 1. */
  readonly shards: number

  /** Other settings for some hosts: `a.test`, `a.test:8080`, or `*.a.test` for all names below it. Default: none. */
  readonly hosts: Readonly<Record<string, HostSettings>>
}

/** What may be said for single hosts. */
export const HOST_KEYS = [
  'depthMax',
  'include',
  'exclude',
  'skipExtensions',
  'pagesMax',
  'bytesMax',
  'delayMs',
  'delayMaxMs',
  'delayFactor',
  'perHost',
  'robots',
  'retriesMax',
  'timeoutMs',
  'connectTimeoutMs',
  'bodyBytesMax',
  'linksMax',
  'header',
  'insecure',
] as const satisfies ReadonlyArray<keyof Settings>

export type HostSettings = Readonly<Partial<Pick<Settings, (typeof HOST_KEYS)[number]>>>

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

const DELAY_MS = 1000

export const DEFAULTS: Settings = {
  scope: 'host',
  depthMax: null,
  include: [],
  exclude: [],
  skipExtensions: [],
  urlBytesMax: 2048,
  urlRules: URL_RULES_DEFAULT,
  order: 'breadth',
  prefer: [],
  seen: 'exact',
  pagesMax: null,
  bytesMax: null,
  timeMaxMs: null,
  delayMs: DELAY_MS,
  ipDelayMs: ipDelayMsFor(DELAY_MS),
  delayMaxMs: 5 * 60_000,
  delayFactor: 0,
  perHost: perHostFor(DELAY_MS),
  concurrency: 256,
  rateLimit: null,
  robots: true,
  userAgent: 'rewind-crawler/0.1.0',
  robotsAgent: 'rewind-crawler',
  retriesMax: 3,
  timeoutMs: 30_000,
  connectTimeoutMs: 10_000,
  bodyBytesMax: 16 * MiB,
  headerBytesMax: 64 * KiB,
  ratioMax: 200,
  redirectsMax: 20,
  linksMax: 10_000,
  header: [],
  cookies: false,
  dnsServers: [],
  allowPrivate: [],
  insecure: false,
  durabilityMs: 100,
  freeBytesMin: GiB,
  checkpointAfterMs: 1000,
  checkpointBytesMax: 4 * GiB,
  graph: true,
  keepRefused: false,
  shards: 1,
  hosts: {},
}

/**
 * Settings that `resume` may not change: what is on disk was built by them.
 * Keys are md5 of the URL by `urlRules`; hosts lie in `shards`; queues in `order`; `graph` says what records mean.
 */
const FIXED = ['shards', 'urlRules', 'seen', 'order', 'prefer', 'graph'] as const

/** Settings that `resume` may change, each by a `control` record. */
export const CHANGEABLE: ReadonlyArray<keyof Settings> = (Object.keys(DEFAULTS) as Array<keyof Settings>).filter(
  (key) => !(FIXED as readonly string[]).includes(key),
)

/** Default of `perHost` under a delay: requests in parallel and a pause between them exclude each other. */
function perHostFor(delayMs: number): number {
  return delayMs === 0 ? 16 : 1
}

/** Default of `ipDelayMs` under a delay: an address serves many hosts, but not without pause. */
function ipDelayMsFor(delayMs: number): number {
  return Math.round(delayMs / 4)
}

/** Product token of a User-Agent header: its first word up to the slash, `*` where there is none. */
function productTokenOf(userAgent: string): string {
  return /^[\w-]+/.exec(userAgent)?.[0] ?? '*'
}

/**
 * Settings with some changed. `resolveSettings({ delayMs: 0 })` is `changeSettings(DEFAULTS, …)`: what follows from a
 * changed setting follows, unless it is named itself. A value equal to the one that would follow counts as following.
 *
 * Errors: none; check the result with `validateSettings`.
 */
export function changeSettings(current: Settings, changes: Readonly<Partial<Settings>>): Settings {
  const changed = { ...current, ...changes }
  const following = {
    perHost: follow(current.perHost, perHostFor(current.delayMs), perHostFor(changed.delayMs)),
    ipDelayMs: follow(current.ipDelayMs, ipDelayMsFor(current.delayMs), ipDelayMsFor(changed.delayMs)),
    robotsAgent: follow(current.robotsAgent, productTokenOf(current.userAgent), productTokenOf(changed.userAgent)),
  }
  return { ...changed, ...following, ...changes }
}

/** The effective settings of a new crawl: what was chosen, the defaults, and what follows from them. */
export function resolveSettings(chosen: Readonly<Partial<Settings>>): Settings {
  return changeSettings(DEFAULTS, chosen)
}

/**
 * The settings in force for a host: those of the most specific pattern under `hosts` over the crawl's.
 *
 * @param host  `URL.host`, lower case
 * Cost: one look-up per label of the host; keep the result with the host where it is asked for each page.
 */
export function settingsOfHost(settings: Settings, host: string): Settings {
  const pattern = hostPatternOf(settings.hosts, host)
  return pattern === undefined ? settings : changeSettings(settings, settings.hosts[pattern])
}

/** The most specific pattern under `hosts` that a host falls under: itself, its name, or the longest `*.` ending. */
export function hostPatternOf(hosts: Settings['hosts'], host: string): string | undefined {
  if (Object.hasOwn(hosts, host)) return host
  const name = host.replace(/:\d+$/, '')
  if (Object.hasOwn(hosts, name)) return name
  for (let dotAt = name.indexOf('.'); dotAt >= 0; dotAt = name.indexOf('.', dotAt + 1)) {
    const pattern = '*' + name.slice(dotAt)
    if (Object.hasOwn(hosts, pattern)) return pattern
  }
  return undefined
}

function follow<T>(now: T, followed: T, follows: T): T {
  return now === followed ? follows : now
}
