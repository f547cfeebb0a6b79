/**
 * The files of `src`, parsed, for the checks of the structure.
 *
 * oxc-parser, the parser under knip, because text search takes comments and strings for code, and the compiler has no
 * interface for scripts since version 7.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type ParseResult, parseSync } from 'oxc-parser'

export interface Source {
  /** Path below `src`, with slashes. */
  readonly path: string
  readonly text: string
  readonly program: ParseResult['program']
  readonly imports: readonly Import[]
}

export interface Import {
  readonly specifier: string
  /** Path below `src` where the specifier is relative. */
  readonly target: string | undefined
  /** Names imported, as the other module calls them; a namespace or default import has none. */
  readonly names: readonly string[]
  readonly line: number
}

/** One thing wrong, for people: `src/core/x.ts:12: …`. */
export interface Offence {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** Reads and parses all of a `src` directory, in the order of the paths. A file that does not parse is an error. */
export function readSources(src: string): Source[] {
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' })
  const paths = names.map((name) => name.split('\\').join('/')).filter((name) => name.endsWith('.ts'))
  return paths.sort().map((path) => readSource(src, path))
}

/** Line of a position in a text, from 1. */
export function lineOf(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

function readSource(src: string, path: string): Source {
  const file = join(src, path)
  const text = readFileSync(file, 'utf8')
  const { program, module, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  const found: Array<{ specifier: string; names: string[]; at: number }> = []
  for (const { moduleRequest, entries, start } of module.staticImports) {
    const names = entries.map((entry) => entry.importName.name ?? '').filter((name) => name !== '')
    found.push({ specifier: moduleRequest.value, names, at: start })
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, start } of entries) {
      if (moduleRequest) found.push({ specifier: moduleRequest.value, names: [], at: start })
    }
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const specifier = /^['"`](.*)['"`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1]
    if (specifier !== undefined) found.push({ specifier, names: [], at: start })
  }
  const imports = found.map(({ specifier, names, at }) => {
    const target = specifier.startsWith('.') ? posix.join(dirname(path), specifier) : undefined
    return { specifier, target, names, line: lineOf(text, at) }
  })
  return { path, text, program, imports }
}
