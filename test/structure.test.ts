/** The structure's own check: the tree passes, and a copy of it with one fault does not. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Offence } from '../scripts/checks/sources.ts'
import { checkSources } from '../scripts/checks/structure.ts'

const src = join(import.meta.dirname, '..', 'src')
const before = new Set(checkSources(src).map(said))

function said({ path, line, message }: Offence): string {
  return `${path}:${line}: ${message}`
}

/** What the check says about a copy of `src` with some files added or replaced, beyond what it says about `src`. */
function given(files: Readonly<Record<string, string>>): string[] {
  const copy = mkdtempSync(join(tmpdir(), 'structure-'))
  try {
    cpSync(src, copy, { recursive: true })
    for (const [path, text] of Object.entries(files)) writeFileSync(join(copy, path), text)
    return checkSources(copy)
      .map(said)
      .filter((offence) => !before.has(offence))
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** One file for each text, with a docstring: its code begins in line 2. */
function files(folder: string, codes: readonly string[]): Record<string, string> {
  return Object.fromEntries(codes.map((code, i) => [`${folder}/added-${i}.ts`, `/** Added. */\n${code}\n`]))
}

/** How many offences each of the texts is, as a file of its own. */
function offencesIn(folder: string, codes: readonly string[]): number[] {
  const found = given(files(folder, codes))
  return codes.map((_, i) => found.filter((offence) => offence.startsWith(`${folder}/added-${i}.ts:2:`)).length)
}

test('the tree obeys its own rules', () => {
  assert.deepEqual([...before], [])
})

test('an upward import is found, of types, on re-export and when late too', () => {
  const codes = [
    "import '../core/settings.ts'",
    "import type { Settings } from '../core/settings.ts'",
    "export { DEFAULTS } from '../core/settings.ts'",
    "export const late = () => import('../core/settings.ts')",
  ]
  const expected = codes.map((_, i) => `base/added-${i}.ts:2: imports upwards: ../core/settings.ts`)
  assert.deepEqual(given(files('base', codes)), expected)
})

test('nobody imports the package’s public face, or a file that is not there', () => {
  assert.deepEqual(given(files('core', ["import '../index.ts'", "import './missing.ts'"])), [
    'core/added-0.ts:2: imports upwards: ../index.ts',
    'core/added-1.ts:2: imports a file that is not there: ./missing.ts',
  ])
})

test('a cycle is found, and told as a whole', () => {
  const found = given({
    'core/circle-a.ts': "/** One. */\nimport './circle-b.ts'\n",
    'core/circle-b.ts': "/** Two. */\nimport './circle-c.ts'\n",
    'core/circle-c.ts': "/** Three. */\n\nimport './circle-a.ts'\n",
  })
  const circle = 'core/circle-a.ts → core/circle-b.ts → core/circle-c.ts → core/circle-a.ts'
  assert.deepEqual(found, [`core/circle-c.ts:3: closes a cycle: ${circle}`])
})

test('a clock, a timer, chance or the outside world is found in a deterministic layer', () => {
  const impure = [
    'export const now = Date.now()',
    'export const now = new Date()',
    'export const now = performance.now()',
    'export const now = process.hrtime.bigint()',
    'export const chance = Math.random()',
    'export const chance = crypto.randomUUID()',
    'setTimeout(() => {}, 1)',
    'globalThis.setImmediate(() => {})',
    'export const later = setInterval',
    'export const { now } = Date',
    "export const page = await fetch('http://a.test/')",
    "import { readFileSync } from 'node:fs'",
    "import { randomBytes } from 'node:crypto'",
    "import { setTimeout as sleep } from 'node:timers/promises'",
    "import { request } from 'undici'",
    'export const signal = AbortSignal.timeout(5)',
  ]
  assert.deepEqual(
    offencesIn('core', impure),
    impure.map(() => 1),
  )
})

test('what only looks like a clock is not one', () => {
  const pure = [
    'export const then = new Date(0).toISOString()',
    '// Date.now()',
    "export const text = 'Math.random() in a text'",
    'export const expression = /Date.now\\(\\)"/',
    "export const web = { fetch: (url: string) => url }; web.fetch('x')",
    "import { createHash } from 'node:crypto'; export const hash = createHash",
  ]
  assert.deepEqual(given(files('core', pure)), [])
})

test('the layers made for it may use the outside world, and crawl may do I/O without a clock', () => {
  const codes = ["import 'node:fs'", 'export const now = Date.now()']
  assert.deepEqual(offencesIn('adapters', codes), [0, 0])
  assert.deepEqual(offencesIn('crawl', codes), [0, 1])
})

test('a file that lies in no layer, or does not say what it is, is found', () => {
  const found = given({ 'stray.ts': '/** Stray. */\n', 'core/silent.ts': 'export const silent = 1\n' })
  assert.equal(found.length, 2)
  assert.ok(found.includes('core/silent.ts:1: does not open with a docstring'))
})
