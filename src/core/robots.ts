/**
 * robots.txt by RFC 9309: which paths of an origin a crawler may request, and how fast.
 *
 * Invariant: the answer depends on the file's bytes, the agent and the path alone, and costs time linear in the sizes of
 * both, whatever the file holds: no regular expression is built from it.
 * Callers: the shard decides with it before each claim; `check` explains with it.
 *
 * Our own parser, because of the 186 cases in test/core/data robots-parser 3.0.1 fails five (escaped letters, `%2A` and
 * `%24`, `?` at the end, bad Crawl-delay), has no size limit, and wants whole URLs.
 */

/** Bytes of a robots.txt that are read, 500 KiB as RFC 9309 2.5 asks at least; the line that is cut is dropped. */
export const ROBOTS_BYTES_MAX = 500 * 1024

/**
 * Steps of comparison spent on one path; beyond them it counts as refused. Thousands of wildcard rules on a long path stay
 * below; a file made to stop the crawler does not (27,000 rules like `/*aaaaab` would cost 0.7 s for each link).
 */
const MATCH_STEPS_MAX = 16_000_000

export interface Robots {
  /** Paragraphs of the file that name an agent, by its token in lower case; `*` for everybody else. */
  readonly paragraphs: ReadonlyMap<string, readonly Paragraph[]>
  /** Values of the Sitemap lines, in order, not resolved. */
  readonly sitemaps: readonly string[]
  /**
   * Groups of the agents asked about, merged and sorted when first needed: to do it for each agent of a file that names
   * thousands over thousands of rules would take their product in time and memory.
   */
  readonly groups: Map<string, RobotsGroup>
}

/** Rules under one or more agent lines, in the order of the file. */
interface Paragraph {
  readonly rules: RobotsRule[]
  crawlDelayMs: number | undefined
}

/** What all paragraphs of an agent say together. */
export interface RobotsGroup {
  /** Most specific first, so that the first match decides. */
  readonly rules: readonly RobotsRule[]
  /** Milliseconds; the longest where there are several. undefined = none, or none that is a number. */
  readonly crawlDelayMs: number | undefined
}

export interface RobotsRule {
  readonly allows: boolean
  /** The texts between the stars in comparable form (see `comparable`); one where there is no star. */
  readonly pieces: readonly string[]
  /** Whether the last piece must be the path's end. */
  readonly isAnchored: boolean
  /** Length of the pattern in comparable form, stars included: the longest match decides. */
  readonly rank: number
}

/**
 * Reads a robots.txt. Whatever cannot be read is skipped; every input gives rules.
 *
 * @param file  bytes as received (content-encoding undone), or text
 * Cost: O(min(file, 500 KiB)), tens of milliseconds for the longest.
 */
export function parseRobots(file: Uint8Array | string): Robots {
  const reading: Reading = { paragraphs: new Map(), sitemaps: [], current: undefined, isNaming: false }
  for (const line of linesOf(typeof file === 'string' ? Buffer.from(file) : file)) readLine(reading, line)
  return { paragraphs: reading.paragraphs, sitemaps: reading.sitemaps, groups: new Map() }
}

/**
 * Whether an agent may request a path.
 *
 * @param agent  product token (`examplebot`); a version behind it (`examplebot/1.0`) does not count
 * @param path   path and query of a canonical URL, beginning with `/`
 * Cost: one comparison per rule of the agent's group. Source: RFC 9309 2.2.2, longest match, `allow` on a tie.
 */
export function isAllowed(robots: Robots, agent: string, path: string): boolean {
  if (path === '/robots.txt') return true
  const rules = groupOf(robots, agent)?.rules
  if (rules === undefined || rules.length === 0) return true
  const compared = comparable(path)
  const work = { steps: 0 }
  for (const rule of rules) {
    if (isMatch(rule, compared, work)) return rule.allows
    if (work.steps > MATCH_STEPS_MAX) return false
  }
  return true
}

/** Pause between requests that the file asks of an agent, milliseconds; undefined where it asks none. Not bounded. */
export function crawlDelayMs(robots: Robots, agent: string): number | undefined {
  return groupOf(robots, agent)?.crawlDelayMs
}

/** The group of the agent's own name, or else the one for everybody; never both (RFC 9309 2.2.1). */
function groupOf(robots: Robots, agent: string): RobotsGroup | undefined {
  const own = agent.toLowerCase().replace(/\/.*/s, '')
  const token = robots.paragraphs.has(own) ? own : '*'
  const known = robots.groups.get(token)
  const paragraphs = robots.paragraphs.get(token)
  if (known !== undefined || paragraphs === undefined) return known
  const group = merged(paragraphs)
  robots.groups.set(token, group)
  return group
}

function merged(paragraphs: readonly Paragraph[]): RobotsGroup {
  const rules = paragraphs.flatMap((paragraph) => paragraph.rules)
  const delaysMs = paragraphs.map((paragraph) => paragraph.crawlDelayMs).filter((delayMs) => delayMs !== undefined)
  return {
    rules: rules.sort((a, b) => b.rank - a.rank || Number(b.allows) - Number(a.allows)),
    crawlDelayMs: delaysMs.length === 0 ? undefined : delaysMs.reduce((a, b) => Math.max(a, b)),
  }
}

interface Reading {
  readonly paragraphs: Map<string, Paragraph[]>
  readonly sitemaps: string[]
  /** The paragraph that the lines read now belong to. */
  current: Paragraph | undefined
  /** Whether the last line that counts named an agent: another one joins it instead of beginning a paragraph. */
  isNaming: boolean
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** Lines as latin1, one character a byte: a path is compared by its octets, in whatever encoding they were written. */
function linesOf(bytes: Uint8Array): string[] {
  let start = 0
  while (start < BYTE_ORDER_MARK.length && bytes[start] === BYTE_ORDER_MARK[start]) start += 1
  const cut = bytes.subarray(start, start + ROBOTS_BYTES_MAX)
  const lines = Buffer.from(cut.buffer, cut.byteOffset, cut.byteLength)
    .toString('latin1')
    .split(/[\r\n]/)
  // Half a rule is a shorter rule, and so a wider one.
  if (start + cut.length < bytes.length) lines.pop()
  return lines
}

/** Name, colon, value. A missing colon between two words is forgiven, as by Google's parser. */
const LINE = /^[\t ]*([a-z-]+)(?:[\t ]*:[\t ]*(.*)|[\t ]+([^\t ]+))$/i

function readLine(reading: Reading, line: string): void {
  const hashAt = line.indexOf('#')
  const match = LINE.exec((hashAt < 0 ? line : line.slice(0, hashAt)).trimEnd())
  if (match === null) return
  const value = match[2] ?? match[3]
  switch (match[1].toLowerCase()) {
    case 'user-agent':
      readAgent(reading, value)
      break
    case 'allow':
      readRule(reading, true, value)
      break
    case 'disallow':
    case 'dissallow': // The misspellings that Google's parser knows: their authors meant it.
    case 'dissalow':
    case 'disalow':
    case 'diasllow':
    case 'disallaw':
      readRule(reading, false, value)
      break
    case 'crawl-delay':
      readDelay(reading, value)
      break
    case 'sitemap':
      // Stands outside the groups, and ends none (RFC 9309 2.2.4).
      if (value !== '') reading.sitemaps.push(Buffer.from(value, 'latin1').toString('utf8'))
  }
}

function readAgent(reading: Reading, value: string): void {
  if (!reading.isNaming || reading.current === undefined) reading.current = { rules: [], crawlDelayMs: undefined }
  reading.isNaming = true
  const token = tokenOf(value)
  if (token === '') return
  const paragraphs = reading.paragraphs.get(token)
  if (paragraphs === undefined) reading.paragraphs.set(token, [reading.current])
  else if (paragraphs.at(-1) !== reading.current) paragraphs.push(reading.current)
}

function readRule(reading: Reading, allows: boolean, value: string): void {
  reading.isNaming = false
  // An empty pattern matches nothing, and a path begins with a slash, so nothing else can match.
  if (value[0] !== '/' && value[0] !== '*') return
  const isAnchored = value.endsWith('$')
  const pieces = (isAnchored ? value.slice(0, -1) : value).split('*').map(comparable)
  const rank = pieces.reduce((sum, piece) => sum + piece.length + 1, Number(isAnchored))
  // Many stars in a row are one; an empty last piece is the star that the pattern ends with.
  const kept = pieces.filter((piece, i) => i === 0 || i === pieces.length - 1 || piece !== '')
  reading.current?.rules.push({ allows, pieces: kept, isAnchored, rank })
}

function readDelay(reading: Reading, value: string): void {
  reading.isNaming = false
  if (!/^(?:\d+\.?\d*|\.\d+)$/.test(value)) return
  const { current } = reading
  if (current !== undefined)
    current.crawlDelayMs = Math.max(current.crawlDelayMs ?? 0, Math.round(Number(value) * 1000))
}

/** What an agent line names: `ExampleBot/2.1 (+http://…)` → `examplebot`. */
function tokenOf(agent: string): string {
  return /^[^\s/]*/.exec(agent)![0].toLowerCase()
}

/** Whatever has more than one spelling: escapes, and characters that some write plain and some escaped. */
const SPELT = /%[0-9a-f]{2}|[^!#&'()+,./0-9:;=?@A-Z[\]_a-z~-]/gi
const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * One spelling for texts that RFC 9309 2.2.2 takes as equal: escapes of unreserved characters are decoded, other escapes
 * get upper-case digits, and what is no URL character becomes an escape; so do `*` and `$`, which mean themselves here.
 */
function comparable(text: string): string {
  return text.replace(SPELT, (spelt) => {
    if (spelt.length < 3) return escaped(spelt)
    const character = String.fromCharCode(Number.parseInt(spelt.slice(1), 16))
    return UNRESERVED.test(character) ? character : spelt.toUpperCase()
  })
}

/** Characters of the file are bytes; those of a path are ASCII, but a raw letter must not be taken for one byte. */
function escaped(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x100
    ? '%' + code.toString(16).toUpperCase().padStart(2, '0')
    : encodeURIComponent(character.toWellFormed())
}

/**
 * Whether a rule's pattern matches the beginning of a path (all of it where it is anchored).
 *
 * Each piece between stars is looked for from where the last one ended, the leftmost place being as good as any other,
 * so nothing is tried twice.
 */
function isMatch({ pieces, isAnchored }: RobotsRule, path: string, work: { steps: number }): boolean {
  const lastAt = pieces.length - 1
  if (lastAt === 0) return isAnchored ? path === pieces[0] : path.startsWith(pieces[0])
  if (!path.startsWith(pieces[0])) return false
  let at = pieces[0].length
  for (let i = 1; i < (isAnchored ? lastAt : pieces.length); i += 1) {
    const foundAt = path.indexOf(pieces[i], at)
    work.steps += ((foundAt < 0 ? path.length : foundAt) - at + 1) * pieces[i].length
    if (foundAt < 0) return false
    at = foundAt + pieces[i].length
  }
  return !isAnchored || (path.length - at >= pieces[lastAt].length && path.endsWith(pieces[lastAt]))
}
