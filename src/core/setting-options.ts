/**
 * The options of the command line and of configuration files that choose settings: one table, read by parsing,
 * validation, `--help` and the README's test.
 *
 * A flag is the option's name (`--body-max 4MiB`), a key of a file the same in camelCase (`bodyMax: 4MiB`), a variable
 * `CRAWLER_BODY_MAX`; all take the same values.
 */
import { isAddressRule, isAddressWithPort } from './address.ts'
import type { Settings } from './settings.ts'

/** How a value is written and checked. `nullable` kinds also take `none`: no limit. */
export type OptionKind =
  | {
      readonly kind: 'duration' | 'size' | 'count'
      readonly min: number
      readonly max: number
      readonly isNullable?: true
    }
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'flag' }
  | { readonly kind: 'word'; readonly words: readonly string[] }
  | { readonly kind: 'text' }
  | { readonly kind: 'texts'; readonly form: string; readonly isRight: (text: string) => boolean }
  | { readonly kind: 'expressions' }
  | { readonly kind: 'rules' }
  | { readonly kind: 'hosts' }

export type SettingOption = OptionKind & {
  /** Name on the command line, without the dashes. */
  readonly option: string
  /** One line for `--help`. */
  readonly help: string
}

/** Node's timers wrap above 2³¹ − 1 milliseconds, so a duration that becomes one timer stays below. */
const TIMER_MS_MAX = 2 ** 31 - 1
/** On disk a depth has one byte, whose highest value stands for all that is deeper. */
const DEPTH_MAX = 254
const MOST = Number.MAX_SAFE_INTEGER

const HEADER = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/
const EXTENSION = /^\.?[a-z\d]+$/i

export const SETTING_OPTIONS: { readonly [K in keyof Settings]: SettingOption } = {
  scope: word('scope', ['host', 'domain', 'prefix', 'any'], 'Which links belong to the crawl, seen from its seeds'),
  depthMax: orNone(count('depth', 0, DEPTH_MAX, 'Most links between a seed and a page')),
  include: expressions('include', 'Only URLs that match one of these regular expressions'),
  exclude: expressions('exclude', 'No URL that matches one of these regular expressions'),
  skipExtensions: texts(
    'skip-extensions',
    'an extension such as zip',
    (text) => EXTENSION.test(text),
    'No link to files with these extensions',
  ),
  urlBytesMax: size('url-max', 16, 64 * 1024, 'Longest URL'),
  urlRules: { option: 'url-rules', kind: 'rules', help: 'Rules of URL equality (in a file)' },
  order: word('order', ['breadth', 'depth', 'priority', 'random'], 'Which pending URL of a host comes next'),
  prefer: expressions('prefer', 'With --order priority: URLs that match one of these come first'),
  seen: word('seen', ['exact'], 'How URLs already met are remembered'),
  pagesMax: orNone(count('max-pages', 1, MOST, 'Stop after so many pages')),
  bytesMax: orNone(size('max-bytes', 1, MOST, 'Stop after so many bytes of bodies')),
  timeMaxMs: orNone(duration('max-time', 1, MOST, 'Stop after so long')),
  delayMs: duration('delay', 0, TIMER_MS_MAX, 'Pause between two requests to a host'),
  ipDelayMs: duration('ip-delay', 0, TIMER_MS_MAX, 'Pause between two requests to an address'),
  delayMaxMs: duration('delay-max', 0, TIMER_MS_MAX, 'Longest pause a host may ask for or be given'),
  delayFactor: {
    option: 'delay-factor',
    kind: 'number',
    min: 0,
    max: 1000,
    help: 'Pause for so many times the last answer took',
  },
  perHost: count('per-host', 1, 1024, 'Requests in flight to a host whose delay is 0'),
  concurrency: count('concurrency', 1, 65_536, 'Sockets of the crawl'),
  rateLimit: orNone(size('rate-limit', 1, MOST, 'Most bytes per second')),
  robots: flag('robots', 'Obey robots.txt, meta robots and rel=nofollow'),
  userAgent: { option: 'user-agent', kind: 'text', help: 'What requests call themselves' },
  robotsAgent: { option: 'robots-agent', kind: 'text', help: 'Product token looked for in robots.txt' },
  retriesMax: count('retries', 0, 100, 'Further attempts after a failure that may pass'),
  timeoutMs: duration('timeout', 1, TIMER_MS_MAX, 'Longest request, start to last byte'),
  connectTimeoutMs: duration('connect-timeout', 1, TIMER_MS_MAX, 'Longest wait for a connection'),
  bodyBytesMax: size('body-max', 1, 1024 ** 3, 'Longest body; the rest is cut'),
  headerBytesMax: size('header-max', 1024, 16 * 1024 ** 2, 'Longest response header'),
  ratioMax: count('ratio-max', 1, 100_000, 'Most decoded bytes per byte of a compressed body'),
  redirectsMax: count('redirects', 0, 100, 'Most hops of a redirect chain'),
  linksMax: count('links-max', 0, 1_000_000, 'Most links taken from a page'),
  header: texts(
    'header',
    'a header such as "Accept-Language: en"',
    (text) => HEADER.test(text),
    'Extra request header',
  ),
  cookies: flag('cookies', 'Keep cookies and send them back'),
  dnsServers: texts(
    'dns-server',
    'an IP address, or IP:PORT',
    isAddressWithPort,
    'Name server to ask instead of the system',
  ),
  allowPrivate: texts(
    'allow-private',
    'an IP address, CIDR or HOST:PORT',
    isAddressRule,
    'Private address that may be contacted',
  ),
  insecure: flag('insecure', 'Accept bad TLS certificates'),
  durabilityMs: duration('durability', 0, 3_600_000, 'Most time a record may wait for its sync'),
  freeBytesMin: size('min-free', 0, MOST, 'Stop where the disk has less room than this'),
  checkpointAfterMs: duration(
    'checkpoint-after',
    0,
    TIMER_MS_MAX,
    'Checkpoint when a replay of the rest takes so long',
  ),
  checkpointBytesMax: size('checkpoint-bytes', 0, MOST, 'Most room for images of checkpoints'),
  graph: flag('graph', 'Record links to URLs already known'),
  keepRefused: flag('keep-refused', 'Record links that were turned away'),
  shards: count('shards', 1, 1024, 'Parts the hosts are divided into; fixed at the start'),
  hosts: { option: 'hosts', kind: 'hosts', help: 'Settings for single hosts (in a file)' },
}

/** Keys of a configuration file, in the table's order: option names in camelCase. */
export const OPTION_KEYS: ReadonlyMap<string, keyof Settings> = new Map(
  (Object.keys(SETTING_OPTIONS) as Array<keyof Settings>).map((key) => [fileKeyOf(SETTING_OPTIONS[key].option), key]),
)

/** `body-max` → `bodyMax`. */
export function fileKeyOf(option: string): string {
  return option.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

type Quantity = Extract<SettingOption, { kind: 'duration' | 'size' | 'count' }>

function duration(option: string, min: number, max: number, help: string): Quantity {
  return { option, kind: 'duration', min, max, help }
}

function size(option: string, min: number, max: number, help: string): Quantity {
  return { option, kind: 'size', min, max, help }
}

function count(option: string, min: number, max: number, help: string): Quantity {
  return { option, kind: 'count', min, max, help }
}

function orNone(quantity: Quantity): Quantity {
  return { ...quantity, isNullable: true }
}

function flag(option: string, help: string): SettingOption {
  return { option, kind: 'flag', help }
}

function word(option: string, words: readonly string[], help: string): SettingOption {
  return { option, kind: 'word', words, help }
}

function texts(option: string, form: string, isRight: (text: string) => boolean, help: string): SettingOption {
  return { option, kind: 'texts', form, isRight, help }
}

function expressions(option: string, help: string): SettingOption {
  return { option, kind: 'expressions', help }
}

/** Options that are read and understood, but nothing obeys them yet: they are refused rather than passed over in silence. */
export const LATER_OPTIONS: ReadonlySet<keyof Settings> = new Set(['ipDelayMs', 'cookies'])
