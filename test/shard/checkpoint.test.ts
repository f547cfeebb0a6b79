import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CrawlError } from '../../src/base/errors.ts'
import type { Key } from '../../src/base/md5.ts'
import type { Link } from '../../src/core/event.ts'
import { createState, type State } from '../../src/core/state.ts'
import type { Env } from '../../src/env/env.ts'
import type { Position } from '../../src/log/format.ts'
import { apply } from '../../src/shard/applying.ts'
import { loadCheckpoint, saveCheckpoint } from '../../src/shard/checkpoint.ts'
import { checkpointsToKeep } from '../../src/shard/kept-checkpoints.ts'
import { openShard, openShardLogs, type ShardOptions } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import type { Shard } from '../../src/shard/shard-parts.ts'
import { abandonShard, closeShard } from '../../src/shard/stopping.ts'
import { checkpointAt } from '../adapters/checkpoint-stores.ts'
import { CRAWL_ID, seeded } from '../log/given.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { describeState } from './describe-state.ts'
import { continueHistory, SETTINGS } from './history.ts'

const DIRECTORY = '/shards/0'
const OPTIONS: ShardOptions = {
  identity: { crawlId: CRAWL_ID, shard: 0, generation: 0 },
  version: '0',
  pid: 1,
  shardCount: 1,
  settings: JSON.stringify(SETTINGS),
  act: 'resume',
  segmentBytesMax: 65_536,
}

/** A crawl on a simulated disk, its checkpoints, and the links its events name. */
class Crawl {
  disk = new SimulatedDisk()
  readonly store = new SimulatedCheckpoints()
  private readonly links = new Map<Key, Link>()
  private lives = 0
  private nowMs = 1_700_000_000_000

  /** What the world is to a shard that fetches nothing. */
  private env(): Env {
    const clock = { wallMs: () => this.nowMs++, monotonicMs: () => this.nowMs, after: () => () => {} }
    const web = { fetch: () => {}, stop: () => {} }
    const random = seeded(this.lives)
    return { disk: this.disk, clock, web, random } as Partial<Env> as Env
  }

  open(): Shard {
    const opened = openShardLogs(this.disk, DIRECTORY, 'write')
    const checkpoint = loadCheckpoint(this.disk, DIRECTORY, opened, this.store, 0)
    return openShard(this.env(), DIRECTORY, opened, { ...OPTIONS, ...(checkpoint && { checkpoint }) })
  }

  /** One process: opens, lets so many events happen, stops in order. */
  live(events: number): Shard {
    const shard = this.open()
    this.lives++
    const now = shard.clock.now()
    const history = continueHistory(seeded(100 + this.lives), shard.state, this.links, (event) =>
      apply(shard, event, now),
    )
    if (this.links.size === 0) history.addSeeds()
    history.run(events)
    closeShard(shard, 'stopped')
    this.disk.processDeath()
    return shard
  }

  /** The same, and a checkpoint. */
  liveAndSave(events: number): Shard {
    const shard = this.live(events)
    assert.equal(saveCheckpoint(shard, this.store).kind, 'saved')
    return shard
  }

  /** What is loaded, and what was said. */
  load(until?: Position, setsAside = false) {
    const messages: string[] = []
    const opened = openShardLogs(this.disk, DIRECTORY, 'read')
    const onMessage = (message: string) => messages.push(message)
    const options = { onMessage, setsAside, ...(until && { until }) }
    const loaded = loadCheckpoint(this.disk, DIRECTORY, opened, this.store, 0, options)
    return { loaded, messages }
  }

  /** The state at the end of the log, by replay from a checkpoint or from the start. */
  replayed(from: { readonly state: State; readonly from: Position } | undefined): State {
    const opened = openShardLogs(this.disk, DIRECTORY, 'read')
    const state = from?.state ?? createState()
    replay(state, opened.events, from === undefined ? {} : { from: from.from })
    return state
  }

  /** Flips a bit of the newest image. */
  damageNewest(): void {
    const path = `${DIRECTORY}/${this.store.newestCheckpoint(0)?.path}`
    const bytes = this.disk.peek(path) as Uint8Array
    bytes[bytes.length >> 1] ^= 4
    this.disk.poke(path, bytes)
  }
}

function assertSame(first: State, second: State): void {
  assert.deepEqual(describeState(first, false), describeState(second, false))
}

test('with a checkpoint a log comes to the same state as without, in the same order, from nothing but its end', () => {
  const crawl = new Crawl()
  crawl.liveAndSave(1500)
  const { loaded, messages } = crawl.load()
  assert.deepEqual(messages, [])
  assert.deepEqual(loaded?.from, openShardLogs(crawl.disk, DIRECTORY, 'read').end)
  assertSame(crawl.replayed(loaded), crawl.replayed(undefined))
})

test('a checkpoint and the log behind it come to the same state too, through several lives', () => {
  const crawl = new Crawl()
  for (let life = 0; life < 4; life++) {
    const { digest } = crawl.liveAndSave(300).state
    crawl.live(300)
    const { loaded } = crawl.load()
    assert.equal(loaded?.state.digest.toHex(), digest.toHex())
    assertSame(crawl.replayed(loaded), crawl.replayed(undefined))
  }
})

test('a shard opened with its checkpoint goes on as one opened without', () => {
  const [one, other] = [new Crawl(), new Crawl()]
  const shards = [one, other].map((crawl) => {
    crawl.liveAndSave(800)
    if (crawl === other) crawl.store.dropCheckpoint(0, crawl.store.newestCheckpoint(0)?.sequence ?? 0)
    return crawl.live(500)
  })
  assertSame(shards[0].state, shards[1].state)
})

test('a damaged image is said and passed over for the one before, and without that for none', () => {
  const crawl = new Crawl()
  const first = crawl.liveAndSave(300).state.digest.toHex()
  crawl.liveAndSave(300)
  crawl.damageNewest()
  const { loaded, messages } = crawl.load()
  assert.equal(loaded?.state.digest.toHex(), first)
  assert.match(messages[0], /^Checkpoint \d+ of shard 0 is not used: .*damaged\.$/)
  assertSame(crawl.replayed(loaded), crawl.replayed(undefined))
  const { path } = crawl.store.checkpointsBefore(0, 99, 0)[1]
  crawl.disk.remove(`${DIRECTORY}/${path}`)
  assert.equal(crawl.load().loaded, undefined)
  crawl.live(10)
})

test('a row that says something else than its image or the log is passed over', () => {
  const crawl = new Crawl()
  crawl.liveAndSave(300)
  const row = crawl.store.newestCheckpoint(0)
  assert.ok(row)
  const changes = [
    { digest: '00'.repeat(16) },
    { position: row.position - 1 },
    { position: row.position + 1 },
    { segment: row.segment + 1 },
    { segment: row.segment - 1 },
    { bytes: row.bytes - 1 },
    { checksum: row.checksum ^ 1 },
    { path: 'images/../../../etc/passwd' },
  ]
  for (const change of changes) {
    crawl.store.addCheckpoint({ ...row, ...change })
    assert.equal(crawl.load().loaded, undefined, JSON.stringify(change))
  }
  crawl.store.addCheckpoint(row)
  assert.ok(crawl.load().loaded)
})

test('an image of another crawl, shard, generation or number is passed over, though its row fits the log', () => {
  const [crawl, other] = [new Crawl(), new Crawl()]
  crawl.liveAndSave(300)
  const shard = other.liveAndSave(300)
  const row = crawl.store.newestCheckpoint(0)
  assert.ok(row)
  for (const change of [{ generation: 1 }, { shard: 1 }]) {
    Object.assign(shard.events.header, change)
    assert.equal(saveCheckpoint(shard, other.store).kind, 'saved')
    crawl.disk.poke(`${DIRECTORY}/${row.path}`, other.disk.peek(`${DIRECTORY}/${row.path}`) as Uint8Array)
    const { messages } = crawl.load()
    assert.match(messages[0], new RegExp(`its image has another ${Object.keys(change)[0]}`))
    Object.assign(shard.events.header, { generation: 0, shard: 0 })
  }
})

test('a checkpoint that knows more than the log holds is not used, and set aside by who will write', () => {
  const crawl = new Crawl()
  crawl.liveAndSave(200)
  const before = crawl.disk.clone()
  const { sequence } = crawl.store.newestCheckpoint(0) ?? { sequence: 0 }
  crawl.liveAndSave(200)
  const images = crawl.disk.list(`${DIRECTORY}/images`)
  for (const name of images) before.poke(`${DIRECTORY}/images/${name}`, crawl.disk.peek(`${DIRECTORY}/images/${name}`)!)
  crawl.disk = before
  assert.ok(crawl.load().loaded)
  assert.equal(crawl.store.checkpointsBefore(0, 99, 0).length, 2)
  const { messages } = crawl.load(undefined, true)
  assert.match(messages[0], /know more than its log holds: 1, set aside/)
  assert.equal(crawl.store.newestCheckpoint(0)?.sequence, sequence)
})

test('for an instant of the past the last checkpoint before it is loaded', () => {
  const crawl = new Crawl()
  crawl.liveAndSave(200)
  const first = crawl.store.newestCheckpoint(0)
  crawl.liveAndSave(200)
  const second = crawl.store.newestCheckpoint(0)
  assert.ok(first && second)
  assert.equal(
    crawl.load({ segment: second.segment, position: second.position - 1 }).loaded?.from.position,
    first.position,
  )
  assert.equal(crawl.load({ segment: first.segment, position: first.position - 1 }).loaded, undefined)
})

test('loss of power after a save keeps the checkpoint; within it, the log is as it was and the crawl goes on', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const crawl = new Crawl()
    const random = seeded(seed)
    const { state } = crawl.liveAndSave(100)
    crawl.disk.powerLoss(() => random.uint32())
    assert.equal(crawl.load().loaded?.state.digest.toHex(), state.digest.toHex())
    const shard = crawl.live(100)
    let operations = random.uint32() % 6
    crawl.disk.fault = () => (operations-- > 0 ? undefined : new Error('the machine died'))
    // A death is no error of ours: it passes through.
    try {
      saveCheckpoint(shard, crawl.store)
    } catch (error) {
      assert.match(String(error), /the machine died/)
    }
    crawl.disk.fault = () => undefined
    crawl.disk.powerLoss(() => random.uint32())
    const { loaded } = crawl.load()
    assertSame(crawl.replayed(loaded), crawl.replayed(undefined))
    crawl.live(10)
  }
})

test('a checkpoint that cannot be saved is skipped, with the reason, and its image is gone after the next', () => {
  const crawl = new Crawl()
  const shard = crawl.live(200)
  const images = () => crawl.disk.list(`${DIRECTORY}/images`)
  assert.match(String(Object.values(saveCheckpoint(shard, crawl.store, { saveMsMax: 0 }))), /too long/)
  crawl.disk.budgetBytes = crawl.disk.usedBytes() + 1000
  assert.match(String(Object.values(saveCheckpoint(shard, crawl.store))), /nearly full/)
  crawl.disk.budgetBytes = Number.POSITIVE_INFINITY
  crawl.disk.fault = (operation) => (operation === 'sync' ? new CrawlError('DISK_FAILED', 'EIO') : undefined)
  assert.deepEqual(saveCheckpoint(shard, crawl.store), { kind: 'skipped', why: 'EIO' })
  crawl.disk.fault = () => undefined
  assert.deepEqual(images(), [])
  crawl.store.fault = () => new CrawlError('DISK_FAILED', 'database is locked')
  assert.deepEqual(saveCheckpoint(shard, crawl.store), { kind: 'skipped', why: 'database is locked' })
  assert.equal(images().length, 1)
  crawl.store.fault = () => undefined
  crawl.liveAndSave(50)
  assert.equal(images().length, 1)
  assert.ok(crawl.load().loaded)
})

test('a shard that did not end in order saves nothing: its memory may be ahead of its log', () => {
  const crawl = new Crawl()
  crawl.live(100)
  const shard = crawl.open()
  assert.equal(saveCheckpoint(shard, crawl.store).kind, 'skipped')
  abandonShard(shard, 'a failure')
  assert.equal(saveCheckpoint(shard, crawl.store).kind, 'skipped')
})

test('of many checkpoints the newest two stay and a series each about twice as far back', () => {
  const crawl = new Crawl()
  for (let life = 0; life < 12; life++) crawl.liveAndSave(20)
  const kept = crawl.store.checkpointsBefore(0, 99, 0)
  assert.ok(kept.length >= 4 && kept.length <= 6, String(kept.length))
  assert.deepEqual(crawl.disk.list(`${DIRECTORY}/images`).sort(), kept.map(({ sequence }) => `${sequence}.img`).sort())
})

test('however long a crawl runs the series reaches back to its start, with a step per doubling', () => {
  let kept = [checkpointAt(100, 1, 100)]
  for (let sequence = 200; sequence <= 100_000; sequence += 100) {
    kept = checkpointsToKeep([checkpointAt(sequence, 1, sequence), ...kept], Number.POSITIVE_INFINITY)
    const distances = kept.map((checkpoint) => sequence - checkpoint.sequence)
    assert.equal(distances[0], 0)
    assert.equal(distances[1], 100)
    for (let i = 2; i < distances.length; i++) assert.ok(distances[i] <= 4 * distances[i - 1])
    assert.ok((distances.at(-1) as number) >= (sequence - 100) / 2)
    assert.ok(kept.length <= 3 + Math.log2(sequence / 100))
  }
})

test('images beyond the bytes allowed are given up, the farthest first, but never the newest two', () => {
  const checkpoints = [80, 79, 76, 70, 50].map((sequence) => ({ ...checkpointAt(sequence, 1, sequence), bytes: 10 }))
  const numbers = (bytesMax: number) => checkpointsToKeep(checkpoints, bytesMax).map(({ sequence }) => sequence)
  assert.deepEqual(numbers(100), [80, 79, 76, 70, 50])
  assert.deepEqual(numbers(39), [80, 79, 76])
  assert.deepEqual(numbers(0), [80, 79])
})

test('a row that promises more than its image knows is no witness against the log', () => {
  const crawl = new Crawl()
  crawl.liveAndSave(300)
  const row = crawl.store.newestCheckpoint(0)
  assert.ok(row)
  const { messages, isLossy } = openShardLogs(crawl.disk, DIRECTORY, 'read', { ...row, position: row.position + 64 })
  assert.deepEqual({ messages, isLossy }, { messages: [], isLossy: false })
  const cut = crawl.disk.clone()
  const { end } = openShardLogs(cut, DIRECTORY, 'read')
  const path = `${DIRECTORY}/log/${String(end.segment).padStart(6, '0')}.val`
  cut.poke(path, (cut.peek(path) as Uint8Array).slice(0, -1))
  assert.equal(openShardLogs(cut, DIRECTORY, 'read', row).isLossy, true)
})
