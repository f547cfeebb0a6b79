/**
 * Checkpoints while crawling: when a replay would have become long, the next one is built beside the turns
 * (`building.ts`, in a thread), and its row is written here.
 *
 * Invariants: a checkpoint stands behind a mark that is durable, so no loss of power takes the log from under it. One
 * build at a time; the row comes last. Live tables are neither read nor copied, and whatever goes wrong, the crawl goes
 * on as it would without.
 */
import { CrawlError } from '../base/errors.ts'
import type { CheckpointBuild } from '../env/checkpointer.ts'
import type { Checkpoint } from '../env/checkpoints.ts'
import { forgetSuperfluous, hasRoomFor } from './checkpoint.ts'
import { imageBytesOf } from './image.ts'
import { imageReadMsOf, type ReplayWork, replayMsOf, workSince } from './replay-work.ts'
import type { Checkpointing, CheckpointKeeping, NotedMark, Shard } from './shard-parts.ts'

/** By so much less than reading the image may a replay of what lies behind it take. */
const TAIL_OF_IMAGE = 1 / 2

/** @param newest  the checkpoint that the shard was opened with */
export function createCheckpointing(keeping: CheckpointKeeping, newest: Checkpoint | undefined): Checkpointing {
  return {
    ...keeping,
    newest,
    coveredAt: { items: 0, records: 0 },
    triedAt: { items: 0, records: 0 },
    latestMark: undefined,
    durableMark: undefined,
    isBuilding: false,
    hasFailed: false,
    whenIdle: undefined,
  }
}

/** To be called with each mark, right after it. The one before is durable now: the sync that this one tells of began later. */
export function noteMark(shard: Shard, sequence: number, timeMs: number): void {
  const { checkpointing, events, state, work } = shard
  work.items += ITEMS_PER_MARK
  if (checkpointing === undefined) return
  const { generation } = events
  const place = { shard: events.header.shard, generation, segment: events.segment, position: events.position }
  const mark = { ...place, sequence, timeMs, digest: state.digest.toHex() }
  checkpointing.durableMark = checkpointing.latestMark
  checkpointing.latestMark = { mark, work: { ...work } }
}

const ITEMS_PER_MARK = 2

/**
 * After a compaction the log lies elsewhere, and only its own checkpoint is left.
 * @param work  what had been recorded when the horizon was
 */
export function goOnFrom(shard: Shard, newest: Checkpoint | undefined, work: Readonly<ReplayWork>): void {
  const { checkpointing } = shard
  if (checkpointing === undefined) return
  checkpointing.newest = newest
  checkpointing.coveredAt = work
  checkpointing.triedAt = work
  checkpointing.latestMark = undefined
  checkpointing.durableMark = undefined
}

/** Begins the next checkpoint where it is due and none is being built. Cost: nothing where it is not. */
export function checkpointNext(shard: Shard): void {
  const { checkpointing } = shard
  if (checkpointing?.durableMark === undefined || checkpointing.isBuilding || shard.hasEnded) return
  if (isDue(shard, checkpointing, checkpointing.durableMark)) begin(shard, checkpointing, checkpointing.durableMark)
}

function isDue(shard: Shard, { newest, triedAt, store }: Checkpointing, { work }: NotedMark): boolean {
  const behind = workSince(work, triedAt)
  const distanceMs = Math.max(shard.state.settings.checkpointAfterMs, imageReadMsOf(newest?.bytes ?? 0) * TAIL_OF_IMAGE)
  return store.isLasting && behind.items > 0 && replayMsOf(behind) >= distanceMs
}

function begin(shard: Shard, checkpointing: Checkpointing, noted: NotedMark): void {
  const { env, directory, state } = shard
  const { mark } = noted
  checkpointing.triedAt = noted.work
  try {
    if (!hasRoomFor(env.disk, directory, state, imageBytesOf(state)))
      return fail(checkpointing, 'the disk is nearly full')
    const known = checkpointing.store.checkpointsBefore(mark.shard, mark.segment, mark.position)
    const startedMs = env.clock.monotonicMs()
    checkpointing.isBuilding = true
    env.checkpointer.build({ directory, mark, known }, (built) => {
      const ms = Math.round(env.clock.monotonicMs() - startedMs)
      checkpointing.isBuilding = false
      const superfluous = settle(shard, checkpointing, noted, built, ms)
      checkpointing.whenIdle?.()
      return superfluous
    })
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    fail(checkpointing, error.message)
  }
}

/** @returns paths of files to remove */
function settle(
  shard: Shard,
  checkpointing: Checkpointing,
  noted: NotedMark,
  built: CheckpointBuild,
  ms: number,
): readonly string[] {
  const { tell } = checkpointing
  // A compaction has taken the log from under it meanwhile: it names places that are no more.
  if (noted.mark.generation !== shard.events.generation) return []
  const { work } = noted
  if (built.kind !== 'built') {
    if (built.kind === 'failed') fail(checkpointing, built.why)
    else tell('error', `The log does not give the state that the crawl has: ${built.why} Run \`crawler verify\`.`)
    return []
  }
  for (const message of built.messages) tell('warn', message)
  const checkpoint = { ...built.checkpoint, createdMs: shard.env.clock.wallMs() }
  if (!writeRow(checkpointing, checkpoint)) return []
  checkpointing.coveredAt = work
  checkpointing.newest = checkpoint
  checkpointing.hasFailed = false
  const { sequence, bytes } = checkpoint
  tell('info', 'checkpoint', { sequence, bytes, ms, items: built.items })
  return forgetOlder(shard, checkpointing, checkpoint)
}

function writeRow(checkpointing: Checkpointing, checkpoint: Checkpoint): boolean {
  try {
    checkpointing.store.addCheckpoint(checkpoint)
    return true
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    // Its image has no row: it goes with the next tidying.
    fail(checkpointing, error.message)
    return false
  }
}

function forgetOlder({ env, directory, state }: Shard, { store, tell }: Checkpointing, newest: Checkpoint): string[] {
  try {
    return forgetSuperfluous(env.disk, directory, store, newest, state.settings.checkpointBytesMax)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    tell('warn', `Older checkpoints could not be forgotten: ${error.message}.`)
    return []
  }
}

/** Said once, until one is made again. */
function fail(checkpointing: Checkpointing, why: string): void {
  if (!checkpointing.hasFailed)
    checkpointing.tell('warn', `No checkpoint could be made: ${why}. The crawl goes on; it is tried again later.`)
  checkpointing.hasFailed = true
}

/** Resolves when no checkpoint is being built, at the latest after `msMax` milliseconds. */
export function untilBuilt({ checkpointing, env }: Shard, msMax: number): Promise<void> {
  if (!checkpointing?.isBuilding) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = env.clock.after(msMax, resolve)
    checkpointing.whenIdle = () => {
      cancel()
      resolve()
    }
  })
}
