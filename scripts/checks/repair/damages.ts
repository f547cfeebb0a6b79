/** Random damages of the files of a DIR: bits flipped, ranges overwritten or zeroed, files cut or removed. */
import type { SimulatedDisk } from '../../../test/sim/disk.ts'
import { LAYOUT, pathsIn, ROOT } from './samples.ts'

export type Uint32 = () => number

const KINDS = ['flip', 'overwrite', 'zero', 'cut', 'remove'] as const
/** What is damaged, the more often the more often it stands here. */
const TARGETS = [
  'log.val',
  'log.val',
  'log.val',
  'pages.val',
  'pages.val',
  'log.key',
  'pages.key',
  'img',
  'MANIFEST',
] as const

/** Damages a copy of a disk in one to three places. @returns what was done, for people; undefined where it came to nothing */
export function damage(disk: SimulatedDisk, uint32: Uint32): string | undefined {
  const done: string[] = []
  for (let left = 1 + (uint32() % 3); left > 0; left--) {
    const path = pick(filesOf(disk, pick(TARGETS, uint32)), uint32)
    const before = path === undefined ? undefined : disk.peek(path)
    if (path === undefined || before === undefined) continue
    const kind = pick(KINDS, uint32) as (typeof KINDS)[number]
    const said = hurt(disk, path, before, kind, uint32)
    if (said !== undefined) done.push(`${path.slice(ROOT.length + 1)} ${said}`)
  }
  return done.length > 0 ? done.join(', ') : undefined
}

function filesOf(disk: SimulatedDisk, target: (typeof TARGETS)[number] | undefined): string[] {
  if (target === 'MANIFEST') return [LAYOUT.manifest]
  const [log, half] = (target ?? '').split('.')
  return pathsIn(disk, ROOT).filter((path) => {
    const rest = path.slice(ROOT.length + 1)
    if (target === 'img') return rest.startsWith('images/')
    return rest.endsWith(`.${half}`) && (log === 'log' ? rest.startsWith('log') : rest.startsWith('pages/'))
  })
}

function hurt(
  disk: SimulatedDisk,
  path: string,
  before: Uint8Array,
  kind: (typeof KINDS)[number],
  uint32: Uint32,
): string | undefined {
  if (kind === 'remove') {
    disk.remove(path)
    return 'removed'
  }
  if (before.length === 0) return undefined
  const at = uint32() % before.length
  if (kind === 'cut') {
    disk.poke(path, before.subarray(0, at))
    return `cut at ${at} of ${before.length}`
  }
  const after = before.slice()
  const length = kind === 'flip' ? 1 : Math.min(before.length - at, 1 + (uint32() % (uint32() % 2 === 0 ? 64 : 6000)))
  for (let i = at; i < at + length; i++) {
    if (kind === 'flip') after[i] ^= 1 << (uint32() % 8)
    else after[i] = kind === 'zero' ? 0 : uint32()
  }
  disk.poke(path, after)
  return `${kind} ${at}+${length} of ${before.length}`
}

function pick<T>(list: readonly T[], uint32: Uint32): T | undefined {
  return list[uint32() % Math.max(1, list.length)]
}
