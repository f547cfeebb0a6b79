/**
 * Why a URL failed or was refused: the words people read, and the one byte each has on disk.
 *
 * Invariant: a word and its number belong together for ever. A log keeps the number in the top byte of a KEY item's
 * offset (kinds `failed` and `refused`) and per reason in a page's record; a new reason takes a free number of its group.
 */

/** The world gave no final answer below 400. On disk since v1. Never renumber, never reuse; 0 is "no reason". */
const FAILURES = {
  'dns.notfound': 1,
  'dns.temporary': 2,
  'connect.refused': 3,
  'connect.reset': 4,
  'connect.unreachable': 5,
  'tls.invalid': 6,
  timeout: 7,
  'http.malformed': 16,
  'http.truncated': 17,
  'http.decode': 18,
  'http.too-large': 19,
  'http.headers-too-large': 20,
  'http.status': 21,
  'redirect.loop': 32,
  'redirect.limit': 33,
  'redirect.bad-location': 34,
  'host.bad': 40,
  poison: 41,
  stopped: 42,
  'storage.full': 43,
  'storage.denied': 44,
  'sitemap.invalid': 45,
} as const

/** A rule turned the URL away. On disk since v1. Never renumber, never reuse; 255 stays free for a longer form. */
const REFUSALS = {
  // 64–79: refused by the site, by its address, or by the form of the URL.
  'robots.denied': 64,
  'robots.unreachable': 65,
  'robots.nofollow': 66, // meta robots or X-Robots-Tag of the page the link stands on
  'robots.noindex': 67,
  'link.nofollow': 68, // rel=nofollow of the link itself
  'address.forbidden': 70,
  'scheme.forbidden': 71,
  'url.invalid': 72,
  'url.length': 73,

  // 80–95: refused by the crawl's scope.
  'scope.host': 80,
  'scope.domain': 81,
  'scope.prefix': 82,
  include: 83,
  exclude: 84,
  depth: 85,
  extension: 86,
  'content.type': 87,

  // 96–111: refused by a trap test.
  'trap.repeat': 96, // the same path segments again and again
  'trap.pattern': 97, // too many URLs of one path pattern that lead to nothing new

  // 112–127: refused by a budget.
  'budget.pages': 112,
  'budget.bytes': 113,
  'budget.time': 114,
  'budget.host': 115,
  'budget.pattern': 116,
  'budget.links': 117,
} as const

export const REASONS = { ...FAILURES, ...REFUSALS } as const

/** Why a URL ended as failed. */
export type FailureClass = keyof typeof FAILURES

/** Why a URL was turned away on discovery, or refused after its admission. */
export type Refusal = keyof typeof REFUSALS

/** Any reason, as people and `--json` see it. */
export type Reason = FailureClass | Refusal

const WORDS: ReadonlyArray<Reason | undefined> = wordsByNumber()

/** The word of a reason number; undefined for 0 and for numbers this version does not know. */
export function reasonOf(number: number): Reason | undefined {
  return WORDS[number]
}

/** Whether the reason shows that some address of the host accepted a connection. */
export function isAnswerReason(number: number): boolean {
  return (
    number === REASONS['connect.reset'] ||
    number === REASONS['tls.invalid'] ||
    (number >= REASONS['http.malformed'] && number < REASONS['host.bad'])
  )
}

function wordsByNumber(): Array<Reason | undefined> {
  const words = new Array<Reason | undefined>(256).fill(undefined)
  for (const word of Object.keys(REASONS) as Reason[]) words[REASONS[word]] = word
  return words
}
