/**
 * How many slots the partitions of an OrderedTable have. Layout only: nothing of it is in an image, all may be tuned.
 *
 * Partitions grow in turn, one at a time, whenever the table as a whole is fuller than LOAD. So at any moment those
 * that have had their turn are a little emptier than LOAD and the others a little fuller, an entry takes the same
 * memory at every size of the table, and no two growths come together. A partition that fills up before its turn, as
 * small ones do by chance, grows out of turn.
 *
 * The fixed order has a second use: arrays are freed in the order in which they were allocated, so the holes they leave
 * are neighbours, and the C allocator joins them for the larger ones to come. It loses 3 % so; with growth at random it
 * lost 15 to 20 %.
 */

/** Entries per home slot of the whole table. Walks lengthen as 1/(1 − load), moves as its square. */
const LOAD = 0.87

/**
 * Home slots of a partition after its turn, as a multiple of the mean. A round of turns then makes the table larger by
 * about twice the excess, 16 %, and an entry is copied six times in its life.
 */
const TURN_FACTOR = 1.08

/** The same in a table of few slots a partition: there allocations cost more than memory does. */
const SMALL_SLOTS = 256
const SMALL_TURN_FACTOR = 1.25

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
  const factor = meanCapacity < SMALL_SLOTS ? SMALL_TURN_FACTOR : TURN_FACTOR
  return Math.max(FIRST_SLOTS, Math.ceil(meanCapacity * factor))
}

/** Home slots of a partition that grows out of turn, being full with `capacity`. */
export function nextCapacity(capacity: number, meanCapacity: number): number {
  return Math.max(Math.ceil(capacity * TURN_FACTOR), turnCapacity(meanCapacity))
}

/**
 * Home slots for a partition that is filled at once with `entryCount` entries.
 *
 * @param order  its place among the partitions, 0 ≤ order < 1, the first being the next to grow
 */
export function capacityFor(entryCount: number, order: number): number {
  const slots = (entryCount / LOAD) * TURN_FACTOR ** (2 * order - 1)
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
export function tableEntriesMax(homeSlots: number): number {
  return Math.floor(homeSlots * LOAD)
}

/** Overflow slots behind the home slots, the last of them always empty. Doubled for a partition that needs more. */
export function slackSlots(capacity: number): number {
  return Math.min(SLACK_SLOTS_MAX, 4 + (capacity >> 3))
}
