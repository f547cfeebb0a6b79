/** robots.txt: the suite of RFC 9309 and cases from the wild (`data/robots-*`), limits, and hostile files. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { crawlDelayMs, isAllowed, parseRobots, ROBOTS_BYTES_MAX } from '../../src/core/robots.ts'

interface Part {
  readonly s: string
  readonly n?: number
}

interface Source {
  readonly robots?: string
  readonly robotsB64?: string
  readonly robotsParts?: readonly Part[]
}

interface Row extends Source {
  readonly id: string
  readonly fact: string
  readonly scope: 'rfc' | 'google'
  readonly agent: string
  readonly token?: string
  readonly url: string
  readonly allowed: boolean
  readonly rfcAllowed?: boolean
  readonly sitemaps?: readonly string[]
}

interface Case {
  readonly id: string
  readonly symptom: string
  readonly input: Source & {
    readonly checks: ReadonlyArray<readonly [string, string | { readonly parts: readonly Part[] }]>
  }
  readonly expected: {
    readonly allowed: readonly boolean[]
    readonly crawlDelay?: Readonly<Record<string, number | null>>
    readonly sitemaps?: readonly string[]
  }
}

const data = join(import.meta.dirname, 'data')
const suite = JSON.parse(readFileSync(join(data, 'robots-suite.json'), 'utf8')) as { readonly rows: readonly Row[] }
const cases = readFileSync(join(data, 'robots-cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case)

/** Rows beyond the RFC that we do not follow: an empty URL, `index.html` for its folder, raw letters in a URL. */
const NOT_FOLLOWED = new Set(['s003', 's068', 's081'])

function joined(parts: readonly Part[]): string {
  return parts.map(({ s, n = 1 }) => s.repeat(n)).join('')
}

function fileOf(source: Source): Uint8Array | string {
  if (source.robotsB64 !== undefined) return Buffer.from(source.robotsB64, 'base64')
  return source.robotsParts === undefined ? (source.robots ?? '') : joined(source.robotsParts)
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

for (const row of suite.rows.filter(({ id }) => !NOT_FOLLOWED.has(id))) {
  test(`${row.fact} (${row.id}: ${row.token ?? row.agent} ${row.url})`, () => {
    const robots = parseRobots(fileOf(row))
    assert.equal(isAllowed(robots, row.token ?? row.agent, pathOf(row.url)), row.rfcAllowed ?? row.allowed)
    if (row.sitemaps !== undefined) assert.deepEqual(robots.sitemaps, row.sitemaps)
  })
}

for (const { id, symptom, input, expected } of cases) {
  test(`does not happen: ${symptom} (${id})`, () => {
    const robots = parseRobots(fileOf(input))
    const paths = input.checks.map(
      ([agent, path]) => [agent, typeof path === 'string' ? path : joined(path.parts)] as const,
    )
    assert.deepEqual(
      paths.map(([agent, path]) => isAllowed(robots, agent, path)),
      expected.allowed,
    )
    for (const [agent, seconds] of Object.entries(expected.crawlDelay ?? {})) {
      assert.equal(crawlDelayMs(robots, agent), seconds === null ? undefined : seconds * 1000, agent)
    }
    if (expected.sitemaps !== undefined) assert.deepEqual(robots.sitemaps, expected.sitemaps)
  })
}

test('robots.txt itself may always be requested', () => {
  assert.equal(isAllowed(parseRobots('User-agent: *\nDisallow: /\n'), 'examplebot', '/robots.txt'), true)
})

test('a rule cut by the size limit is dropped, because its beginning would forbid more', () => {
  const head = 'User-agent: *\nDisallow: /x\n'
  const rule = 'Disallow: /long/path'
  const padding = '#'.repeat(ROBOTS_BYTES_MAX - head.length - 'Disallow: /'.length - 1) + '\n'
  const robots = parseRobots(head + padding + rule)
  assert.deepEqual(
    ['/x', '/', '/long/path'].map((path) => isAllowed(robots, 'examplebot', path)),
    [false, true, true],
  )
})

test('a rule written in latin1 is compared by its bytes', () => {
  const robots = parseRobots(Buffer.from('User-agent: *\nDisallow: /caf\xe9\n', 'latin1'))
  assert.equal(isAllowed(robots, 'examplebot', '/caf%E9'), false)
  assert.equal(isAllowed(robots, 'examplebot', '/caf%C3%A9'), true)
})

test('a dollar inside a rule, and an escaped one at its end, mean themselves', () => {
  const robots = parseRobots('User-agent: *\nDisallow: /a$b\nDisallow: /c%24\n')
  assert.deepEqual(
    ['/a$b/x', '/a', '/c$x', '/c'].map((path) => isAllowed(robots, 'examplebot', path)),
    [false, true, false, true],
  )
})

test('the pieces of a rule with an end may not overlap', () => {
  const robots = parseRobots('User-agent: *\nDisallow: /ab*ba$\n')
  assert.deepEqual(
    ['/aba', '/abba', '/abxba', '/abxbax'].map((path) => isAllowed(robots, 'examplebot', path)),
    [true, false, false, true],
  )
})

test('the work for a path grows with the file, not with its stars', () => {
  const rule = 'Disallow: /' + '*a'.repeat(900) + '*b\n'
  const robots = parseRobots('User-agent: *\n' + rule.repeat(250))
  assert.equal(isAllowed(robots, 'examplebot', '/' + 'a'.repeat(2000)), true)
})

test('a file whose rules would stop the crawler refuses the path instead', () => {
  const rules = Array.from({ length: 20_000 }, (_, i) => `Disallow: /*aaaaab${i}\n`)
  const robots = parseRobots('User-agent: *\n' + rules.join(''))
  assert.equal(isAllowed(robots, 'examplebot', '/' + 'a'.repeat(2000)), false)
  assert.equal(isAllowed(robots, 'examplebot', '/a/page?q=1'), true)
})

test('thousands of agents over thousands of rules cost their sum, not their product', () => {
  const agents = Array.from({ length: 15_000 }, (_, i) => `User-agent: a${i}\n`).join('')
  const robots = parseRobots(agents + 'Disallow: /x\n'.repeat(15_000) + agents.slice(0, 9000) + '\nDisallow: /y\n')
  assert.deepEqual(
    ['/x', '/y', '/z'].map((path) => isAllowed(robots, 'A7', path)),
    [false, false, true],
  )
})

test('a pattern matches as the plain definition of its stars says', () => {
  const text = (letters: string) =>
    fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((all) => '/' + all.join(''))
  fc.assert(
    fc.property(text('ab*'), fc.boolean(), text('ab'), (pattern, isAnchored, path) => {
      const expression = new RegExp('^' + pattern.replaceAll('*', '.*') + (isAnchored ? '$' : ''))
      const robots = parseRobots(`User-agent: *\nDisallow: ${pattern}${isAnchored ? '$' : ''}\n`)
      assert.equal(isAllowed(robots, 'examplebot', path), !expression.test(path))
    }),
  )
})

test('no file makes the reader throw', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('User-agent: *', 'Disallow: /', 'Allow', 'Crawl-delay: 1', '\r', '%', ':'),
  )
  fc.assert(
    fc.property(fc.array(line), fc.webPath(), (lines, path) => {
      isAllowed(parseRobots(lines.join('\n')), 'examplebot', '/' + path)
    }),
  )
  fc.assert(fc.property(fc.uint8Array(), (bytes) => parseRobots(bytes).groups.size >= 0))
})
