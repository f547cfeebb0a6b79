/**
 * The outside world comes through `env` only: no clock, random number, timer or I/O but where a layer exists for it.
 *
 * What is pure is listed, not what is impure: a new module or package is an offence until somebody has thought about it.
 */
import { Visitor } from 'oxc-parser'
import { layerOf } from './layers.ts'
import { lineOf, type Offence, type Source } from './sources.ts'

/** Layers that are the outside world, and those that may do I/O but have no clock of their own. */
const FREE: readonly string[] = ['cli', 'adapters']
const MAY_DO_IO: readonly string[] = ['crawl', 'serve']

/** Modules that only compute. */
const PURE_MODULES: ReadonlySet<string> = new Set([
  'node:assert',
  'node:assert/strict',
  'node:buffer',
  'node:crypto',
  'node:events',
  'node:path',
  'node:path/posix',
  'node:string_decoder',
  'node:url',
  'node:util',
  'node:zlib',
  'entities/decode',
  'ipaddr.js',
  'tldts',
])

/** Modules that are clocks or timers: not even where I/O is allowed. */
const CLOCK_MODULES: ReadonlySet<string> = new Set(['node:perf_hooks', 'node:timers', 'node:timers/promises'])

const TIMERS: ReadonlySet<string> = new Set(['setTimeout', 'setInterval', 'setImmediate'])
const IO_GLOBALS: ReadonlySet<string> = new Set(['fetch', 'process', 'console', 'WebSocket', 'EventSource'])
const GLOBALS: ReadonlySet<string> = new Set([...TIMERS, ...IO_GLOBALS, 'performance', 'Date', 'Math', 'crypto'])

/** Members that are a clock, a timer or chance, by their object. */
const CLOCK_MEMBERS: Readonly<Record<string, RegExp>> = {
  Date: /^now$/,
  Math: /^random$/,
  process: /^(?:hrtime|uptime)$/,
  performance: /./,
  crypto: /^(?:random|getRandom)/,
  AbortSignal: /^timeout$/,
}

/** Clocks, chance, timers and I/O in layers that must not have them. */
export function findImpurities(sources: readonly Source[]): Offence[] {
  return sources.flatMap((source) => {
    const layer = layerOf(source.path)
    if (layer === undefined || FREE.includes(layer)) return []
    const mayDoIo = MAY_DO_IO.includes(layer)
    return [...impureImports(source, mayDoIo), ...impureCode(source, mayDoIo)]
  })
}

function impureImports({ path, imports }: Source, mayDoIo: boolean): Offence[] {
  const offences: Offence[] = []
  for (const { specifier, target, names, line } of imports) {
    const chance = names.find((name) => specifier === 'node:crypto' && /^(?:random|getRandom|webcrypto)/.test(name))
    if (CLOCK_MODULES.has(specifier)) offences.push({ path, line, message: `imports a clock: ${specifier}` })
    else if (chance !== undefined) offences.push({ path, line, message: `imports chance: ${chance} of ${specifier}` })
    else if (!mayDoIo && target === undefined && !PURE_MODULES.has(specifier)) {
      offences.push({ path, line, message: `imports what is not known to be pure: ${specifier}` })
    }
  }
  return offences
}

function impureCode({ path, text, program }: Source, mayDoIo: boolean): Offence[] {
  const offences: Offence[] = []
  const report = (position: number, message: string) => offences.push({ path, line: lineOf(text, position), message })
  const use = (name: string, member: string | undefined, position: number) => {
    const isClock = TIMERS.has(name) || (member !== undefined && CLOCK_MEMBERS[name]?.test(member) === true)
    const said = member === undefined ? name : `${name}.${member}`
    if (isClock) report(position, `uses a clock, timer or chance: ${said}`)
    else if (IO_GLOBALS.has(name) && !mayDoIo) report(position, `uses the outside world: ${said}`)
  }
  new Visitor({
    CallExpression({ callee, start }) {
      if (callee.type !== 'Identifier') return
      if (callee.name === 'Date') report(start, 'uses a clock, timer or chance: Date()')
      else use(callee.name, undefined, start)
    },
    NewExpression({ callee, arguments: given, start }) {
      if (callee.type !== 'Identifier') return
      if (callee.name === 'Date' && given.length === 0) report(start, 'uses a clock, timer or chance: new Date()')
      else use(callee.name, undefined, start)
    },
    MemberExpression({ object, property, start }) {
      if (object.type !== 'Identifier' || property.type !== 'Identifier') return
      if (object.name === 'globalThis') use(property.name, undefined, start)
      else use(object.name, property.name, start)
    },
    // `const { now } = Date`, `const later = setTimeout`: a name for what the lines above look for.
    VariableDeclarator({ init, start }) {
      if (init?.type === 'Identifier' && GLOBALS.has(init.name)) report(start, `gives another name to ${init.name}`)
    },
  }).visit(program)
  return offences
}
