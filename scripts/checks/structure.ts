/**
 * Checks what a reader may rely on: imports go downwards and never round, the outside world is met in `adapters` and `cli`
 * only, every file says what it is, and nothing is exported that nobody uses (knip).
 *
 * Prints offenders as `src/path.ts:line: what`, and exits 1 where there are any.
 * Our own scanner for layers and purity: it knows the layers by name, takes 0.2 s, and works on any copy of `src`.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { findCycles, findUpwardImports } from './layers.ts'
import { findImpurities } from './purity.ts'
import { type Offence, readSources, type Source } from './sources.ts'

/** Everything wrong with a `src` directory, but for unused exports, which concern scripts and tests too. */
export function checkSources(src: string): Offence[] {
  const sources = readSources(src)
  return [
    ...findUpwardImports(sources),
    ...findCycles(sources),
    ...findImpurities(sources),
    ...findUnexplained(sources),
  ]
}

/** Files that do not open with a docstring. */
function findUnexplained(sources: readonly Source[]): Offence[] {
  const unexplained = sources.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text))
  return unexplained.map(({ path }) => ({ path, line: 1, message: 'does not open with a docstring' }))
}

/** Runs knip over the whole project; true where it found nothing. */
function hasNoUnused(root: string): boolean {
  const knip = join(root, 'node_modules', 'knip', 'bin', 'knip.js')
  return spawnSync(process.execPath, [knip, '--no-progress'], { cwd: root, stdio: 'inherit' }).status === 0
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..', '..')
  const offences = checkSources(join(root, 'src'))
  for (const { path, line, message } of offences) console.error(`src/${path}:${line}: ${message}`)
  const isClean = hasNoUnused(root)
  if (offences.length > 0 || !isClean) process.exitCode = 1
}
