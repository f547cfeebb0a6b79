/**
 * A newcomer: clones the repository into an empty folder, runs the README's two commands, then every command of the
 * README's first page, on a machine where only Node and npm are installed.
 *
 *     node scripts/checks/newcomer.ts [--no-test]      clones what is committed; needs the npm registry
 *
 * Where the README names example.org, a small web on loopback stands in; where it names a record, one that this web's crawl has.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './program.ts'
import { type ServedWeb, serveDemoWeb } from './served-web.ts'

/** Longest any one command may take. */
const COMMAND_MS_MAX = 15 * 60_000

const { values } = parseArgs({ options: { test: { type: 'boolean', default: true } }, allowNegative: true })
const wrong: string[] = []

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'newcomer-'))
  const clone = join(folder, 'clone')
  const web = await serveDemoWeb({ seed: 'newcomer', pages: 40, hosts: 4 }, join(folder, 'requests'))
  try {
    execFileSync('git', ['clone', '--quiet', ROOT, clone])
    console.log(
      `cloned ${execFileSync('git', ['-C', clone, 'log', '-1', '--format=%h %s'], { encoding: 'utf8' }).trim()}`,
    )
    const [install, test] = twoCommands(clone)
    run(clone, install, web)
    if (values.test) run(clone, test, web)
    for (const command of firstPage(clone)) run(clone, command, web)
  } finally {
    await web.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(wrong.length === 0 ? 'Everything it says happens.' : `${wrong.length} commands fail.`)
  process.exitCode = wrong.length === 0 ? 0 : 1
}

function readmeOf(clone: string): string[] {
  return readFileSync(join(clone, 'README.md'), 'utf8').split('\n')
}

/** `npm ci && npm run demo` and `npm ci && npm test`, as the README has them. */
function twoCommands(clone: string): string[] {
  return readmeOf(clone)
    .filter((line) => line.startsWith('    npm ci && '))
    .map(withoutComment)
}

/** The commands of the README's first page, in order. */
function firstPage(clone: string): string[] {
  const lines = readmeOf(clone)
  const end = lines.findIndex((line) => line.startsWith('## What is promised'))
  return lines
    .slice(0, end)
    .filter((line) => line.startsWith('    npx crawler '))
    .map(withoutComment)
}

function withoutComment(line: string): string {
  return line.replace(/\s+#.*$/, '').trim()
}

function run(clone: string, command: string, web: ServedWeb): void {
  const page = web.expected.find(
    ({ url, state }) => state === 'done' && url.startsWith(web.seeds[0]) && url !== web.seeds[0],
  )
  const real = command
    .replaceAll('https://example.org/some/page', page?.url ?? web.seeds[0])
    .replaceAll('https://example.org/', web.seeds[0])
    .replaceAll(/@\d+/g, '@100')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, () => new Date().toISOString())
  const startedMs = performance.now()
  // Only what every machine with Node and npm has: nothing of this repository's own Node.
  const { PATH: _, ...environment } = process.env
  const result = spawnSync('bash', ['-c', real], {
    cwd: clone,
    env: { ...environment, PATH: '/usr/local/bin:/usr/bin:/bin' },
    encoding: 'utf8',
    timeout: COMMAND_MS_MAX,
    maxBuffer: 64 * 1024 * 1024,
  })
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(`${result.status === 0 ? 'ok   ' : 'WRONG'} ${command}: exit ${result.status} after ${seconds} s`)
  for (const line of lastLines(result.stdout + result.stderr, 3)) console.log(`        ${line}`)
  if (result.status === 0) return
  wrong.push(command)
  // Of a test run what failed stands before the counts.
  const failures = result.stdout.indexOf('failing tests:')
  for (const line of lastLines(failures < 0 ? result.stdout : result.stdout.slice(failures), 100))
    console.log(`        ${line}`)
}

function lastLines(text: string, count: number): string[] {
  return text.trimEnd().split('\n').slice(-count)
}

await main()
