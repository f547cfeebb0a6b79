/**
 * The `repaired` record: what a repair found missing. It changes no state; it stands behind the log that the repair wrote
 * anew from what was left, so that the loss is part of the log's own history. Body: FORMAT-EVENTS.md.
 */
import type { ByteReader, ByteWriter } from '../base/bytes.ts'
import type { KIND } from './kind.ts'

/** A stretch of a log in which no valid record was left. */
export interface LostRange {
  /** 1 = events, 2 = pages. */
  readonly log: number
  readonly segment: number
  /** In VAL of the log as it was. */
  readonly offset: number
  /** 0 where it is not known how much is missing. */
  readonly bytes: number
  /** Undefined where it is not known. */
  readonly records: number | undefined
  /** Sequence numbers of the first and the last of them; 0 = not known. */
  readonly fromSequence: number
  readonly toSequence: number
  /** Times of the last record before and the first behind; 0 where there is none. */
  readonly fromMs: number
  readonly toMs: number
}

/** What a repair counts. In this order on disk; more may follow. */
const REPAIR_COUNTS = [
  /** URLs that had come to their end and are pending again: their outcomes or their pages are gone. */
  'urls',
  /** Outcomes whose stored page is gone. */
  'pages',
  /** URLs known only by links that are gone; found again when the pages they stood on are. */
  'forgotten',
  /** Addresses, robots.txt, delays and badness of hosts, that are asked for again. */
  'hostFacts',
  /** Records of settings behind the last that is left. */
  'settings',
  /** Records of seeds, whose lines are read again. */
  'seeds',
  /** Checkpoints given up. */
  'checkpoints',
] as const
export type RepairCounts = Readonly<Record<(typeof REPAIR_COUNTS)[number], number>>

/** `verify --repair` wrote the log before it anew, from the records that were left. */
export interface RepairedEvent {
  readonly kind: typeof KIND.repaired
  /** Where the damaged files are kept, relative to DIR. */
  readonly aside: string
  /** At most `LOST_RANGES_MAX`. */
  readonly lost: readonly LostRange[]
  readonly counts: RepairCounts
}
/** Ranges in one `repaired` record: far below the 4 MiB of a record. */
export const LOST_RANGES_MAX = 10_000

export function writeRepaired(out: ByteWriter, { aside, lost, counts }: RepairedEvent): void {
  out.utf8(aside)
  out.varint(lost.length)
  for (const range of lost) {
    out.u8(range.log)
    out.varint(range.segment)
    out.varint(range.offset)
    out.varint(range.bytes)
    out.varint(range.records === undefined ? 0 : range.records + 1)
    out.varint(range.fromSequence)
    out.varint(range.toSequence)
    out.u64(range.fromMs)
    out.u64(range.toMs)
  }
  out.varint(REPAIR_COUNTS.length)
  for (const name of REPAIR_COUNTS) out.varint(counts[name])
}

export function readLostRange(input: ByteReader): LostRange {
  const place = { log: input.u8(), segment: input.varint(), offset: input.varint(), bytes: input.varint() }
  const records = input.varint()
  const numbers = { fromSequence: input.varint(), toSequence: input.varint() }
  const times = { fromMs: input.u64(), toMs: input.u64() }
  return { ...place, records: records === 0 ? undefined : records - 1, ...numbers, ...times }
}

/** @param values  as they were written; those this version does not know are passed over */
export function repairCountsOf(values: readonly number[]): RepairCounts {
  const counts: Partial<Record<(typeof REPAIR_COUNTS)[number], number>> = {}
  for (const [i, name] of REPAIR_COUNTS.entries()) counts[name] = values[i] ?? 0
  return counts as RepairCounts
}
