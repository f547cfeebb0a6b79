/** What a replay has to do, and how long that takes: the measure by which checkpoints are made and `status` reckons. */

export interface ReplayWork {
  /** KEY items applied. */
  items: number
  /** Records opened for them, since they carry more than their item: addresses, robots.txt, due times. */
  records: number
}

/** KEY items that replay applies in a millisecond. */
const ITEMS_PER_MS = 3000
/** Records of VAL that replay opens in a millisecond. */
const RECORDS_PER_MS = 100
/** Bytes of an image that are read in a millisecond, from a disk that has to turn to it. */
const IMAGE_BYTES_PER_MS = 500_000

/** How long a replay is reckoned to take, milliseconds. */
export function replayMsOf({ items, records }: Readonly<ReplayWork>): number {
  return items / ITEMS_PER_MS + records / RECORDS_PER_MS
}

/** How long reading an image is reckoned to take, milliseconds. */
export function imageReadMsOf(bytes: number): number {
  return bytes / IMAGE_BYTES_PER_MS
}

export function workSince(now: Readonly<ReplayWork>, then: Readonly<ReplayWork>): ReplayWork {
  return { items: now.items - then.items, records: now.records - then.records }
}
