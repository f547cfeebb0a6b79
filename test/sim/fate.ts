/**
 * How a simulated process is going to end: drawn when it begins. At a write or a sync, in the middle of a page's record,
 * or some time after a request; by itself, by a stop, or by a full disk.
 */
import { KIND } from '../../src/core/kind.ts'
import { AT, LENGTH_FIELD_BYTES } from '../../src/log/format.ts'
import type { Chance } from './chance.ts'
import { Death, type DeathKind } from './death.ts'
import type { Change, SimulatedDisk } from './disk.ts'

export interface Fate {
  readonly death: DeathKind
  readonly how: 'death' | 'stop' | 'full'
  /** It comes some time after this request. */
  readonly requests: number
  /** Dies at this write or sync. */
  operations: number
  /** Dies in the middle of writing a page's record, once so many were written. */
  pageWrites: number
}

export const NEVER = Number.POSITIVE_INFINITY

/** Lives until the crawl is finished. */
export function longLife(): Fate {
  return { death: 'process', how: 'death', requests: NEVER, operations: NEVER, pageWrites: NEVER }
}

/** Dies as it opens. */
export function shortLife(chance: Chance): Fate {
  return { ...longLife(), death: drawKind(chance), operations: chance.between(1, 12) }
}

export function drawFate(chance: Chance): Fate {
  const life = { ...longLife(), death: drawKind(chance) }
  const requests = chance.between(1, 90)
  const draw = chance.below(100)
  if (draw < 15) return { ...life, operations: chance.between(1, 20) }
  if (draw < 30) return { ...life, operations: chance.between(20, 250) }
  if (draw < 40) return { ...life, requests, how: 'stop' }
  if (draw < 46) return { ...life, requests, how: 'full' }
  if (draw < 66) return { ...life, death: 'process', pageWrites: chance.between(1, 40) }
  return { ...life, requests }
}

export function drawKind(chance: Chance): DeathKind {
  return chance.percent(50) ? 'power' : 'process'
}

/** Before every write and sync: dies here if it is to be, with part of the write done. Errors: Death. */
export function meetFate(
  fate: Fate,
  disk: SimulatedDisk,
  chance: Chance,
  operation: 'write' | 'sync',
  path: string,
  change: Change | undefined,
): void {
  const bytes = operation === 'write' ? change?.bytes : undefined
  const records = recordsIn(path, bytes)
  const isTear = records.some(({ kind }) => kind === KIND.fetched) && --fate.pageWrites <= 0
  if (--fate.operations > 0 && !isTear) return
  fate.operations = NEVER
  fate.pageWrites = NEVER
  if (bytes !== undefined && change !== undefined && (isTear || chance.percent(50))) {
    // Anywhere, or a few bytes behind one of its records.
    const isNear = records.length > 0 && chance.percent(70)
    const cut = isNear ? chance.pick(records).end + chance.below(24) : chance.below(bytes.length)
    disk.open(path, 'write').write(bytes.subarray(0, cut), change.position)
  }
  // From here on its handles are dead: no clean-up after the error reaches the disk.
  disk.processDeath()
  throw new Death(fate.death)
}

/** The records that a write to the events log holds, as ends within it by kind; [] for other writes. */
function recordsIn(
  path: string,
  bytes: Uint8Array | undefined,
): Array<{ readonly kind: number; readonly end: number }> {
  if (bytes === undefined || !/\/log\/\d+\.val$/.test(path)) return []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const records: Array<{ kind: number; end: number }> = []
  for (let at = 0; at + AT.body <= bytes.length; ) {
    const end = at + view.getUint32(at, true) + LENGTH_FIELD_BYTES
    records.push({ kind: bytes[at + AT.kind], end })
    at = end
  }
  return records
}
