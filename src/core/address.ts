/**
 * Which addresses may be contacted: public ones, and of the others only what the user opened.
 *
 * Invariant: the answer is about the very address that is connected to, after resolution and on every hop, for robots.txt
 * and sitemaps too; what a site says (a link, a redirect, a DNS answer) never opens anything.
 * Callers: the fetch path asks before each connection; `check` explains.
 */
import ipaddr from 'ipaddr.js'

/** `--allow-private`, compiled. */
export interface AddressRules {
  readonly ranges: ReadonlyArray<readonly [Ip, number]>
  /** `HOST:PORT`, the host in lower case, as in a URL; opens private addresses of that name, but no metadata. */
  readonly names: ReadonlySet<string>
  /** `IP:PORT`, the IP in its shortest form. */
  readonly sockets: ReadonlySet<string>
}

type Ip = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Addresses at which clouds hand out credentials (AWS, Azure, Google, Alibaba, Oracle, container tasks). Some look public.
 * No seed opens them.
 */
const METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
])

/** All of IPv6 that is routed at all; `::7f00:1` is not, though no range is named after it. */
const GLOBAL_UNICAST: readonly [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/** Well-known NAT64 prefix: the last four bytes are an IPv4 address. */
const NAT64: readonly [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96]

/**
 * Compiles `allowPrivate`: `10.0.0.0/8`, `::1`, `127.0.0.1:8080`, `[::1]:8080`, `intranet.test:80`.
 *
 * What is none of these opens nothing; `isAddressRule` tells it.
 */
export function compileAddressRules(allowPrivate: readonly string[]): AddressRules {
  const ranges: Array<readonly [Ip, number]> = []
  const names = new Set<string>()
  const sockets = new Set<string>()
  for (const rule of allowPrivate) {
    const range = rangeOf(rule)
    const socket = socketOf(rule)
    if (range !== undefined) ranges.push(range)
    else if (socket?.ip !== undefined) sockets.add(`${socket.ip}:${socket.port}`)
    else if (socket !== undefined) names.add(`${socket.host}:${socket.port}`)
  }
  return { ranges, names, sockets }
}

/** Whether a text is a rule of `allowPrivate`. */
export function isAddressRule(text: string): boolean {
  return rangeOf(text) !== undefined || socketOf(text) !== undefined
}

/** Whether a text is `IP`, `IP:PORT` or `[IPv6]:PORT`, as name servers are given. */
export function isAddressWithPort(text: string): boolean {
  return parseIp(text) !== undefined || socketOf(text)?.ip !== undefined
}

/**
 * The origin that a seed opens although its address is private: one that names it by IP literal or `localhost`.
 *
 * Only for seeds the user gave. What a seed redirects to is a seed for the scope, but must not come here: else any site
 * could open the inner network.
 *
 * @param url  canonical URL
 * @returns `URL.origin`, or undefined where the seed opens nothing
 */
export function openedOriginOf(url: string): string | undefined {
  const { hostname, origin } = new URL(url)
  return hostname === 'localhost' || parseIp(unbracketed(hostname)) !== undefined ? origin : undefined
}

/**
 * Whether an address may be contacted for an origin.
 *
 * @param address       what is connected to; IPv6 without brackets. What is no address is forbidden
 * @param origin        `URL.origin` of the request
 * @param isSeedOrigin  whether a seed opened this origin (see `openedOriginOf`)
 * Cost: some microseconds. Source: the IANA special-purpose registries, as ipaddr.js has them.
 */
export function decideAddress(
  address: string,
  origin: string,
  rules: AddressRules,
  isSeedOrigin: (origin: string) => boolean,
): 'allowed' | 'forbidden' {
  const ip = parseIp(address)
  if (ip === undefined) return 'forbidden'
  const isMetadata = METADATA.has(ip.toString())
  if (isPublic(ip) && !isMetadata) return 'allowed'
  const { hostname, port, protocol } = new URL(origin)
  const portOrDefault = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  if (rules.sockets.has(`${ip}:${portOrDefault}`) || rules.ranges.some((range) => isWithin(ip, range))) return 'allowed'
  if (isMetadata) return 'forbidden'
  if (rules.names.has(`${hostname}:${portOrDefault}`)) return 'allowed'
  return isSeedOrigin(origin) && isNamedBy(hostname, ip) ? 'allowed' : 'forbidden'
}

/** Whether a seed's host is this address itself, or `localhost` and this a loopback address. */
function isNamedBy(hostname: string, ip: Ip): boolean {
  if (hostname === 'localhost') return ip.range() === 'loopback'
  return parseIp(unbracketed(hostname))?.toString() === ip.toString()
}

function isPublic(ip: Ip): boolean {
  if (ip.range() !== 'unicast') return false
  return ip.kind() === 'ipv4' || isWithin(ip, GLOBAL_UNICAST)
}

function isWithin(ip: Ip, [network, bits]: readonly [Ip, number]): boolean {
  return ip.kind() === network.kind() && ip.match(network, bits)
}

function rangeOf(rule: string): readonly [Ip, number] | undefined {
  if (ipaddr.isValidCIDR(rule)) return ipaddr.parseCIDR(rule)
  const ip = parseIp(rule)
  return ip === undefined ? undefined : [ip, ip.kind() === 'ipv4' ? 32 : 128]
}

interface Socket {
  readonly host: string
  /** Where the host is an address. */
  readonly ip: Ip | undefined
  readonly port: number
}

function socketOf(rule: string): Socket | undefined {
  const match = /^(\[[\da-f:.]+\]|[^\s:/[\]@]+):(\d{1,5})$/i.exec(rule)
  if (match === null || Number(match[2]) > 65_535) return undefined
  const host = match[1].toLowerCase()
  return { host, ip: parseIp(unbracketed(host)), port: Number(match[2]) }
}

/** An address in the form that counts: IPv4 where IPv6 only wraps it (mapped, NAT64, 6to4). */
function parseIp(text: string): Ip | undefined {
  // Not ipaddr's other forms (`0x7f.1`, `127.1`): the URL parser has turned them into four decimal parts.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return undefined
  const ip = ipaddr.IPv6.parse(text)
  if (ip.isIPv4MappedAddress()) return ip.toIPv4Address()
  const bytes = ip.toByteArray()
  if (isWithin(ip, NAT64)) return new ipaddr.IPv4(bytes.slice(12))
  return ip.range() === '6to4' ? new ipaddr.IPv4(bytes.slice(2, 6)) : ip
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
