/**
 * How many slots the partitions of an OrderedTable have. Layout only: nothing of it is in an image, all may be tuned.
 *
 * Partitions grow in turn, one at a time, whenever the table as a whole is fuller than its load. So at any moment those
 * that have had their turn are a little emptier than that and the others a little fuller, an entry takes the same
 * memory at every size of the table, and no two growths come together. A partition that fills up before its turn, as
 * small ones do by chance, grows out of turn.
 *
 * The fixed order has a second use: arrays are freed in the order in which they were allocated, so the holes they leave
 * are neighbours, and the C allocator joins them for the larger ones to come. It loses 3 % so; with growth at random it
 * lost 15 to 20 %.
 */

interface Fill {
  /** Entries per home slot of the whole table. Walks lengthen as 1/(1 − load), moves as its square. */
  readonly load: number
  /**
   * Home slots of a partition after its turn, as a multiple of the mean. A round of turns then makes the table larger
   * by about twice the excess, and an entry is copied about 1 / excess times, halved, in its life.
   */
  readonly turnFactor: number
}

/** While partitions have fewer home slots than this on average, the table is roomy: 3 to 4 million entries in 1,024. */
const ROOMY_SLOTS = 4096
/** Time before memory: an insert takes 0.45 µs instead of 0.65 (measured at 2 million), an entry about 33 bytes. */
const ROOMY: Fill = { load: 0.75, turnFactor: 1.3 }
/** Memory before time: 27.7 bytes for an entry of 24; a growth moves it six times in its life. */
const DENSE: Fill = { load: 0.87, turnFactor: 1.08 }

function fillAt(meanCapacity: number): Fill {
  return meanCapacity < ROOMY_SLOTS ? ROOMY : DENSE
}

/** Entries per home slot at which a partition does not wait for its turn. */
const LOAD_MAX = 0.98

const FIRST_SLOTS = 8

/** A partition with less than this part of the entries it may have shrinks; far below, so that it does not flutter. */
const SHRINK_BELOW = 0.35

const SLACK_SLOTS_MAX = 64

/**
 * Home slots of a partition that grows in its turn: not a multiple of those it has, so that all stay in step.
 *
 * @param meanCapacity  home slots of the table by partitions; the result is larger
 */
export function turnCapacity(meanCapacity: number): number {
  return Math.max(FIRST_SLOTS, Math.ceil(meanCapacity * fillAt(meanCapacity).turnFactor))
}

/** Home slots of a partition that grows out of turn, being full with `capacity`. */
export function nextCapacity(capacity: number, meanCapacity: number): number {
  return Math.max(Math.ceil(capacity * fillAt(meanCapacity).turnFactor), turnCapacity(meanCapacity))
}

/**
 * Home slots for a partition that is filled at once with `entryCount` entries.
 *
 * @param order  its place among the partitions, 0 ≤ order < 1, the first being the next to grow
 */
export function capacityFor(entryCount: number, order: number): number {
  const { load, turnFactor } = fillAt(entryCount / ROOMY.load)
  const slots = (entryCount / load) * turnFactor ** (2 * order - 1)
  return Math.max(FIRST_SLOTS, Math.ceil(slots), Math.ceil(entryCount / LOAD_MAX))
}

/** Entries a partition of so many home slots takes at most. */
export function entriesMax(capacity: number): number {
  return Math.floor(capacity * LOAD_MAX)
}

/** Entries below which a partition of so many home slots shrinks. */
export function entriesMin(capacity: number): number {
  return capacity <= 2 * FIRST_SLOTS ? 0 : Math.floor(capacity * SHRINK_BELOW)
}

/** Entries that a table of so many home slots takes before the partition whose turn it is grows. */
export function tableEntriesMax(homeSlots: number, partitionCount: number): number {
  return Math.floor(homeSlots * fillAt(homeSlots / partitionCount).load)
}

/** Overflow slots behind the home slots, the last of them always empty. Doubled for a partition that needs more. */
export function slackSlots(capacity: number): number {
  return Math.min(SLACK_SLOTS_MAX, 4 + (capacity >> 3))
}
