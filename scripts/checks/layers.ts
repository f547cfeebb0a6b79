/** Imports go downwards only, and never round. */
import type { Offence, Source } from './sources.ts'

/** From top to bottom. A file may import its own layer and those below it. */
export const LAYERS = [
  'cli',
  'serve',
  'crawl',
  'adapters',
  'shard',
  'core',
  'html',
  'log',
  'tables',
  'env',
  'base',
] as const

/** The package's public face: may import all, and nobody imports it. */
const FACE = 'index.ts'

/** First folder of a path below `src`; undefined for files outside the layers. */
export function layerOf(path: string): (typeof LAYERS)[number] | undefined {
  const folder = path.split('/')[0]
  return LAYERS.find((layer) => layer === folder)
}

/** Upward imports, imports of files that are not there, and files that lie in no layer. */
export function findUpwardImports(sources: readonly Source[]): Offence[] {
  const known = new Set(sources.map((source) => source.path))
  const offences: Offence[] = []
  for (const { path, imports } of sources) {
    const layer = layerOf(path)
    if (path === FACE) continue
    if (layer === undefined)
      offences.push({ path, line: 1, message: `lies in none of the layers ${LAYERS.join(', ')}` })
    for (const { target, specifier, line } of imports) {
      if (target === undefined) continue
      const below = layerOf(target)
      const isUp = below === undefined || (layer !== undefined && LAYERS.indexOf(below) < LAYERS.indexOf(layer))
      if (isUp) offences.push({ path, line, message: `imports upwards: ${specifier}` })
      else if (!known.has(target))
        offences.push({ path, line, message: `imports a file that is not there: ${specifier}` })
    }
  }
  return offences
}

/** Import cycles, types included: each is told once, at the file that the search met first. */
export function findCycles(sources: readonly Source[]): Offence[] {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const done = new Set<string>()
  const trail: string[] = []
  const offences: Offence[] = []
  function visit(path: string): void {
    trail.push(path)
    for (const { target, line } of byPath.get(path)?.imports ?? []) {
      if (target === undefined || done.has(target)) continue
      const metAt = trail.indexOf(target)
      if (metAt < 0) visit(target)
      else offences.push({ path, line, message: `closes a cycle: ${[...trail.slice(metAt), target].join(' → ')}` })
    }
    trail.pop()
    done.add(path)
  }
  for (const { path } of sources) if (!done.has(path)) visit(path)
  return offences
}
