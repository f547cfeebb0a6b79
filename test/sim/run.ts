/**
 * A whole crawl of one seed: processes that die at random moments, one after the other, until the crawl is finished; and
 * what must hold all the while.
 *
 * Invariants checked: FETCHED BEFORE CLAIMED (politeness.ts), digests and times of the log (audit.ts), accounting
 * (accounts.ts), what was written or synced is still there (here), and the end is that of a plain walk (walk.ts).
 */
import assert from 'node:assert/strict'
import { zstdCompressSync } from 'node:zlib'
import { CrawlError } from '../../src/base/errors.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { statedGeneration, writeManifest } from '../../src/crawl/manifest.ts'
import { comparePositions, NOWHERE, type Position } from '../../src/log/format.ts'
import { loadCheckpoint, saveCheckpoint } from '../../src/shard/checkpoint.ts'
import { compactShard } from '../../src/shard/compacting.ts'
import { generationIn, logDirectory } from '../../src/shard/generations.ts'
import { openShard, openShardLogs } from '../../src/shard/opening.ts'
import { isFinished, strandedHosts } from '../../src/shard/shard.ts'
import { type Shard, wake } from '../../src/shard/shard-parts.ts'
import { abandonShard, closeShard } from '../../src/shard/stopping.ts'
import { checkAccounts, checkReplay } from './accounts.ts'
import { Audit } from './audit.ts'
import { Chance } from './chance.ts'
import { SimulatedCheckpoints } from './checkpoints.ts'
import { Death, type DeathKind } from './death.ts'
import { SimulatedDisk } from './disk.ts'
import { checkEnd, checkLimit } from './ending.ts'
import { createEnv, type World } from './env.ts'
import { drawFate, drawKind, type Fate, longLife, meetFate, NEVER, shortLife } from './fate.ts'
import { isSame, keptBytes } from './kept.ts'
import { type CrawlPlan, planCrawl } from './plan.ts'
import { Politeness } from './politeness.ts'
import { VirtualTime, Wall } from './scheduler.ts'
import { Servers } from './server.ts'
import { walk } from './walk.ts'
import { generateWeb, PAGES_MIN, type WebPlan, withMoreSeeds } from './web.ts'

export const DIRECTORY = '/crawl/shards/0'
const LAYOUT = layoutOf('/crawl')
/** Between two lives the crawl is compacted, so many times in a hundred. */
const COMPACTIONS_PERCENT = 25
const DEATHS_MIN = 5
/** URLs of a crawl, at least: scopes and depths leave out much of a web, which is made larger then. */
const URLS_MIN = 200
/** By so much at a time, twice; then pages are made seeds. */
const GROWTH = 1.25
/** More lives than any seed needs: a crawl that never ends is a failure. */
const LIVES_MAX = 80
const STEPS_MAX = 400_000
/** Flag of a host in the audit. */
const ANSWERED = 1
const MANIFEST = { version: 1, crawlId: '', shards: 1, generation: 0, horizonMs: 0, horizonSequence: 0 } as const
const IDENTITY = { crawlId: new Uint8Array(16).fill(7), shard: 0, generation: 0 }

export interface Figures {
  readonly seed: number
  readonly hosts: number
  readonly pages: number
  readonly urls: number
  /** URLs that a plain walk of the web finds: what the crawl must come to, where no limit ends it before. */
  readonly expected: number
  readonly requests: number
  readonly records: number
  readonly deaths: number
  readonly stops: number
  /** Openings that began with a checkpoint. */
  readonly checkpoints: number
  readonly compactions: number
  readonly steps: number
  readonly virtualMs: number
}

/** Runs one seed. Errors: AssertionError with the seed, the virtual time and the step where something does not hold. */
export function runSeed(seed: number): Figures {
  const simulation = new Simulation(seed)
  try {
    return simulation.run()
  } catch (error) {
    const { time, lives } = simulation
    const message = error instanceof Error ? error.message : String(error)
    const where = `seed ${seed}, process ${lives}, ${time.nowMs} ms, step ${time.steps}`
    throw new Error(`${where}: ${message}\n  again: npm run sim -- --seed ${seed}`, { cause: error })
  }
}

/** The seed's web, so large, and with so many seeds, that the crawl of it has URLS_MIN URLs. */
function planWeb(seed: number, { rules }: CrawlPlan): WebPlan {
  const sizes = [1, GROWTH, GROWTH ** 2].map((factor) => PAGES_MIN * factor)
  let web = generateWeb(new Chance(seed, 'web'))
  for (const pagesMin of sizes) {
    if (walk(web, rules).size >= URLS_MIN) return web
    web = generateWeb(new Chance(seed, 'web'), pagesMin)
  }
  const chance = new Chance(seed, 'seeds')
  while (walk(web, rules).size < URLS_MIN) web = withMoreSeeds(chance, web)
  return web
}

class Simulation {
  readonly time = new VirtualTime()
  lives = 0
  private readonly seed: number
  private readonly chance: Chance
  private readonly plan: WebPlan
  private readonly crawl: CrawlPlan
  private readonly world: World
  private audit: Audit
  private readonly compactions: Chance
  private compacted = 0
  private readonly checkpoints = new SimulatedCheckpoints()
  private resumedByCheckpoint = 0
  private shard: Shard | undefined
  private fate: Fate = longLife()
  private isOver = false
  /** The last process wrote its `close`: what it had in flight is not blamed. */
  private hasClosed = false
  /** The last process did not end in order. */
  private hasDied = false
  private deaths = 0
  private stops = 0
  /** What the next process must find: all records written, or after a loss of power those that were synced. */
  private kept: Position = NOWHERE
  /** Synced at least so far. */
  private promised: Position = NOWHERE
  /** Lines of the seeds that were acknowledged. */
  private acknowledged = 0
  private turnsToCheck = 0

  constructor(seed: number) {
    this.seed = seed
    this.chance = new Chance(seed, 'fate')
    this.crawl = planCrawl(new Chance(seed, 'crawl'))
    this.plan = planWeb(seed, this.crawl)
    const { time } = this
    const chance = new Chance(seed, 'world')
    const wall = new Wall(time)
    const disk = new SimulatedDisk((run) => time.after(chance.between(1, 60), run))
    const politeness = new Politeness(this.plan, time, wall, this.crawl.settings.delayMaxMs)
    this.world = { time, wall, disk, chance, politeness, servers: new Servers(this.plan, new Chance(seed, 'servers')) }
    this.compactions = new Chance(seed, 'compactions')
    writeManifest(disk, LAYOUT, MANIFEST)
    this.audit = new Audit(disk, this.log)
    disk.fault = (operation, path, change) =>
      void meetFate(this.fate, disk, this.chance, operation, path, change) as undefined
  }

  run(): Figures {
    while (!this.isOver || this.deaths < DEATHS_MIN || this.hasDied) {
      assert.ok(++this.lives <= LIVES_MAX, `the crawl is not finished after ${LIVES_MAX} processes`)
      this.live()
      if (this.compactions.percent(COMPACTIONS_PERCENT)) this.compact()
    }
    const { disk, servers } = this.world
    const expected = walk(this.plan, this.crawl.rules)
    const { pagesMax } = this.crawl.settings
    if (pagesMax !== null) checkLimit(this.audit, expected, pagesMax)
    checkEnd(disk, this.plan, this.audit, expected, servers, pagesMax === null)
    return this.figures()
  }

  private live(): void {
    this.fate = this.chooseFate()
    this.hasDied = false
    try {
      this.open()
      while (this.shard !== undefined) {
        assert.ok(this.time.steps < STEPS_MAX, 'the crawl does not come to an end')
        if (!this.time.step())
          assert.fail(`nothing is left to happen, and the crawl is not finished: ${describeWork(this.shard)}`)
      }
    } catch (error) {
      if (!(error instanceof Death)) throw error
      this.die(error.kind)
    }
    this.time.clear()
    if (this.chance.percent(50)) this.time.pass(this.chance.below(4000))
  }

  /** Directory of the events log that counts. */
  private get log(): string {
    const { disk } = this.world
    return logDirectory(DIRECTORY, generationIn(disk, DIRECTORY, statedGeneration(disk, LAYOUT)))
  }

  /** Compacts the crawl while nobody runs it; that process may die as well. */
  private compact(): void {
    const { disk, wall } = this.world
    const { compactions } = this
    const dies = compactions.percent(40)
    this.fate = dies
      ? { ...longLife(), death: drawKind(compactions), operations: compactions.between(1, 25) }
      : longLife()
    const wallMs = wall.ms
    try {
      const done = compactShard({ disk, random: compactions }, DIRECTORY, {
        store: this.checkpoints,
        stated: statedGeneration(disk, LAYOUT),
        keepMs: compactions.percent(25) ? wallMs - compactions.below(20_000) : undefined,
        wallMs,
        // Also so small that there are several of them.
        segmentBytesMax: compactions.percent(50) ? this.crawl.segmentBytesMax : undefined,
        compress: (bytes) => zstdCompressSync(bytes),
        commit: ({ plan: { to }, horizon: { timeMs, sequence } }) =>
          writeManifest(disk, LAYOUT, { ...MANIFEST, generation: to, horizonMs: timeMs, horizonSequence: sequence }),
      })
      if (done.kind === 'compacted') this.follow(done.written.plan.segment)
      else this.audit.advance()
    } catch (error) {
      if (error instanceof Death) this.die(error.kind)
      // The crawl died before it was one.
      else if (!(error instanceof CrawlError) || error.code !== 'DIR_NO_CRAWL') throw error
    }
    this.fate = longLife()
    this.time.clear()
  }

  /** What was compacted is the same crawl: for who has read it all along, and for who reads it from its start. */
  private follow(segment: number): void {
    this.compacted++
    const afresh = new Audit(this.world.disk, this.log)
    afresh.advance()
    // After a death nobody may have read it yet.
    if (this.audit.records === 0) this.audit = afresh
    this.audit.follow(this.log, segment)
    this.audit.advance()
    assert.equal(afresh.digestHex, this.audit.digestHex, 'what was compacted is another crawl')
    assert.equal(afresh.urls.size, this.audit.urls.size, 'URLs are lost by a compaction')
    this.kept = this.audit.position
    this.promised = this.audit.promised
  }

  private chooseFate(): Fate {
    const hasToDie = this.deaths < DEATHS_MIN
    if (this.isOver) return hasToDie ? shortLife(this.chance) : longLife()
    return hasToDie || this.chance.percent(60) ? drawFate(this.chance) : longLife()
  }

  private open(): void {
    const { disk } = this.world
    const before = keptBytes(disk, this.log, this.kept)
    const opened = openShardLogs(disk, DIRECTORY, 'write', undefined, statedGeneration(disk, LAYOUT))
    assert.equal(opened.isLossy, false, `synced records are lost: ${opened.messages.join(' ')}`)
    assert.ok(
      comparePositions(opened.end, this.promised) >= 0,
      `the log ends at ${opened.end.segment}:${opened.end.position}, before ${this.promised.segment}:${this.promised.position}, which was synced. ${opened.messages.join(' ')}`,
    )
    const settings = JSON.stringify(this.lives > 4 ? this.crawl.laterSettings : this.crawl.settings)
    const env = createEnv(this.world, (request) => {
      this.audit.advance()
      this.world.politeness.begin(request, this.audit)
      this.countRequest()
    })
    const checkpoint = loadCheckpoint(disk, DIRECTORY, opened, this.checkpoints, IDENTITY.shard, { setsAside: true })
    if (checkpoint !== undefined) this.resumedByCheckpoint++
    const options = { identity: IDENTITY, version: 'sim', pid: this.lives, shardCount: 1, settings, act: 'resume' }
    const shard = openShard(env, DIRECTORY, opened, {
      ...{ ...options, segmentBytesMax: this.crawl.segmentBytesMax },
      ...(checkpoint === undefined ? {} : { checkpoint }),
    })
    assert.ok(isSame(keptBytes(disk, this.log, this.kept), before), 'opening changed what was written or synced before')
    this.promised = shard.events.synced
    const { deathVoids } = this.audit
    this.audit.advance()
    if (this.hasClosed) assert.equal(this.audit.deathVoids, deathVoids, 'an end that wrote `close` is no death')
    this.hasClosed = false
    assert.equal(this.audit.digestHex, shard.state.digest.toHex(), 'the state after opening is that of the log')
    checkAccounts(shard, this.audit)
    for (const host of this.audit.hosts.values()) if (host.flags & ANSWERED) this.world.servers.answered.add(host.name)
    this.begin(shard)
  }

  private begin(shard: Shard): void {
    this.shard = shard
    shard.onTurn = () => this.afterTurn(shard)
    shard.onFailure = (error) => this.fail(shard, error)
    this.repeatArrivals(shard)
    this.stepClocks()
    this.feed(shard)
    shard.isClaiming = true
    wake(shard)
  }

  /** Some observations arrive a second time, soon or much later. */
  private repeatArrivals(shard: Shard): void {
    const { inbox } = shard
    const { chance } = this
    inbox.push = (...arrivals) => {
      for (const arrival of arrivals) {
        if (arrival.kind === 'owner' || !chance.percent(10)) continue
        this.time.after(chance.pick([0, 5, 500, 20_000]), () => {
          if (shard.hasEnded) return
          Array.prototype.push.call(inbox, arrival)
          wake(shard)
        })
      }
      return Array.prototype.push.apply(inbox, arrivals)
    }
  }

  private stepClocks(): void {
    const { chance, world } = this
    const hour = 3_600_000
    for (let left = chance.below(3); left > 0; left--) {
      const isForward = this.crawl.hasForwardSteps && chance.percent(40)
      const byMs = chance.pick([100, 5000, hour, 30 * hour]) * (isForward ? 1 : -1)
      this.time.after(chance.below(30_000), () => world.wall.step(byMs))
    }
  }

  /** The owner's part: hands over the seeds, batch by batch, from where the log says that they stand. */
  private feed(shard: Shard): void {
    const { seeds } = this.plan
    const lines = shard.state.seeds[0]?.lines ?? 0
    assert.ok(
      lines >= this.acknowledged,
      `${this.acknowledged} lines of seeds were acknowledged, and ${lines} are there`,
    )
    // Opening synced what it found.
    this.acknowledged = Math.max(lines, this.acknowledged)
    let start = 0
    const batch = seeds.findIndex((urls) => {
      start += urls.length
      return start > lines
    })
    if (batch < 0) return
    const isLast = batch === seeds.length - 1
    const observation = { kind: 'seeds', source: 0, lines: start, isLast, urls: seeds[batch] } as const
    shard.inbox.push({ kind: 'owner', observation, done: () => this.acknowledge(shard, start) })
    wake(shard)
  }

  private acknowledge(shard: Shard, lines: number): void {
    const cursor = this.audit.cursors[0]
    const end = { segment: cursor?.segment ?? 0, position: cursor?.end ?? 0 }
    assert.equal(cursor?.lines, lines, 'seeds are acknowledged before they are written')
    assert.ok(comparePositions(end, shard.events.synced) <= 0, 'seeds are acknowledged before they are synced')
    this.acknowledged = lines
    if (lines < this.lines) this.time.after(this.chance.below(2000), () => this.feed(shard))
  }

  private get lines(): number {
    return this.plan.seeds.flat().length
  }

  private afterTurn(shard: Shard): void {
    this.audit.advance()
    assert.equal(shard.state.digest.toHex(), this.audit.digestHex, 'the live state is that of the written log')
    this.notePromises(shard)
    this.world.politeness.settle()
    if (--this.turnsToCheck <= 0) {
      this.turnsToCheck = this.chance.between(100, 400)
      checkAccounts(shard, this.audit)
      checkReplay(shard, this.world.disk)
    }
    assert.deepEqual(strandedHosts(shard), [], 'hosts that nothing will ever come for')
    if (!this.isWhole(shard)) return
    this.time.after(0, () => {
      if (this.shard === shard && this.isWhole(shard)) this.stop(shard, 'finished')
    })
  }

  /** Nothing is left to do, or a limit is reached. */
  private isWhole(shard: Shard): boolean {
    const { settings, pages, processing } = shard.state
    if (settings.pagesMax !== null && pages >= settings.pagesMax && processing.count === 0) return true
    return isFinished(shard) && this.acknowledged === this.lines
  }

  private stop(shard: Shard, reason: string): void {
    const isWhole = this.isWhole(shard)
    // Death may also come while it stops.
    if (this.fate.operations === NEVER && this.chance.percent(30)) this.fate.operations = this.chance.between(1, 6)
    try {
      closeShard(shard, reason)
      if (this.chance.percent(60)) saveCheckpoint(shard, this.checkpoints)
    } catch (error) {
      return this.fail(shard, error)
    }
    this.fate.operations = NEVER
    this.audit.advance()
    assert.equal(shard.state.digest.toHex(), this.audit.digestHex, 'the state at the end is that of the log')
    this.endInOrder()
    if (isWhole) this.isOver = true
  }

  private endProcess(isPowerLost: boolean): void {
    if (this.shard !== undefined) this.notePromises(this.shard)
    if (this.shard !== undefined) this.kept = this.audit.position
    this.shard = undefined
    this.world.politeness.cut(isPowerLost)
  }

  /** What both logs have synced: by the last mark, or by a sync that has returned and has no mark yet. */
  private notePromises({ syncing }: Shard): void {
    const promised = syncing.returned?.events ?? this.audit.promised
    if (comparePositions(promised, this.promised) > 0) this.promised = promised
  }

  private fail(shard: Shard, error: unknown): void {
    if (!(error instanceof CrawlError) || error.code !== 'DISK_FULL') throw error
    const isClosed = abandonShard(shard, 'disk full')
    assert.ok(isClosed, 'a full disk has room for the last record')
    this.endInOrder()
  }

  private endInOrder(): void {
    this.world.disk.budgetBytes = NEVER
    this.stops++
    this.hasClosed = true
    this.audit.advance()
    this.endProcess(false)
  }

  private countRequest(): void {
    const { fate, chance, world } = this
    this.requestsOfLife++
    if (this.requestsOfLife !== fate.requests) return
    this.time.after(chance.below(400), () => {
      if (fate.how === 'death') throw new Death(fate.death)
      if (fate.how === 'full') world.disk.budgetBytes = world.disk.usedBytes() + chance.below(4000)
      else if (this.shard !== undefined) this.stop(this.shard, 'stopped')
    })
  }
  private requestsOfLife = 0

  private die(kind: DeathKind): void {
    const { disk } = this.world
    const isTorn = kind === 'process' && this.shard === undefined
    this.deaths++
    this.hasDied = true
    this.hasClosed = false
    this.endProcess(kind === 'power')
    disk.budgetBytes = NEVER
    if (kind === 'process') {
      disk.processDeath()
      // A process that died while it opened may not have cut yet what a loss of power had torn: nothing to read.
      if (isTorn) this.audit = new Audit(disk, this.log)
      else this.audit.advance()
      if (!isTorn) this.kept = this.audit.position
      return
    }
    const { log } = this
    const before = keptBytes(disk, log, this.promised)
    disk.powerLoss(() => this.chance.uint32())
    // A compaction that had not come to its end may be undone.
    if (this.log === log)
      assert.ok(isSame(keptBytes(disk, log, this.promised), before), 'the disk keeps what was synced')
    this.kept = this.promised
    this.audit = new Audit(disk, this.log)
  }

  private figures(): Figures {
    const { seed, plan, audit, time, deaths, stops } = this
    const { requests } = this.world.politeness
    const urls = audit.urls.size
    return {
      ...{
        seed,
        hosts: plan.hosts.size,
        pages: plan.pages.size,
        urls,
        expected: walk(plan, this.crawl.rules).size,
        requests,
        records: audit.records,
        deaths,
        stops,
      },
      ...{
        checkpoints: this.resumedByCheckpoint,
        compactions: this.compacted,
        steps: time.steps,
        virtualMs: time.nowMs,
      },
    }
  }
}

/** What a shard has still to do. */
function describeWork({ state, frontier, inbox, lookups, isClaiming }: Shard): string {
  const { counts, processing, asking, relinks, waiting } = state
  return JSON.stringify({
    ...{ counts: [...counts], processing: processing.count, asking, relinks: relinks.count, waiting: waiting.count },
    ...{ suspects: waiting.suspectCount, due: frontier.due.size, inbox: inbox.length, lookups, isClaiming },
  })
}
