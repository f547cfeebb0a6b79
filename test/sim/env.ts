/** The outside world of one simulated process: servers of a generated web, a disk that may die, virtual time. */
import { zstdCompressSync } from 'node:zlib'
import { decodeContent } from '../../src/adapters/content.ts'
import type { Env } from '../../src/env/env.ts'
import type { FetchRequest, FetchResult, Web } from '../../src/env/web.ts'
import { PAGES_LOG } from '../../src/log/pages.ts'
import { rewriteSegment, type Transform } from '../../src/log/rewrite.ts'
import { PART_ZSTD } from '../../src/shard/pages.ts'
import type { Chance } from './chance.ts'
import { createCheckpointer } from './checkpointer.ts'
import { Death } from './death.ts'
import type { SimulatedDisk } from './disk.ts'
import type { Politeness } from './politeness.ts'
import { ProcessClock, type VirtualTime, type Wall } from './scheduler.ts'
import type { Reply, Servers } from './server.ts'

export interface World {
  readonly time: VirtualTime
  readonly wall: Wall
  readonly disk: SimulatedDisk
  readonly servers: Servers
  readonly politeness: Politeness
  readonly chance: Chance
  /** Of what checkpoints depend on. */
  readonly checkpointChance: Chance
}

/** @param onRequest called before a request leaves */
export function createEnv(world: World, onRequest: (request: FetchRequest) => void): Env {
  const { time, wall, disk, servers, chance, checkpointChance } = world
  return {
    clock: new ProcessClock(time, wall, chance),
    random: chance,
    disk,
    web: new SimulatedWeb(world, onRequest),
    resolver: {
      resolve: (hostname, done) => {
        const answer = servers.resolve(hostname)
        time.after(chance.between(1, 400), () => done(answer))
      },
    },
    decodeContent,
    checkpointer: createCheckpointer(disk, time, checkpointChance),
    sealer: {
      rewrite: (directory, number, done) => {
        time.after(chance.between(1, 3000), () => {
          try {
            rewriteSegment(disk, directory, number, PAGES_LOG, compress)
          } catch (error) {
            if (error instanceof Death) throw error
            return done(error as Error)
          }
          done()
        })
      },
    },
  }
}

const KEY_BYTES = 16

const compress: Transform = (record) => {
  const { body } = record
  const packed = zstdCompressSync(body.subarray(KEY_BYTES))
  if (packed.length >= body.length - KEY_BYTES) return undefined
  return { flags: record.flags | PART_ZSTD, body: Buffer.concat([body.subarray(0, KEY_BYTES), packed]) }
}

class SimulatedWeb implements Web {
  readonly #world: World
  readonly #onRequest: (request: FetchRequest) => void
  readonly #inFlight = new Map<FetchRequest, (result: FetchResult) => void>()

  constructor(world: World, onRequest: (request: FetchRequest) => void) {
    this.#world = world
    this.#onRequest = onRequest
  }

  fetch(request: FetchRequest, done: (result: FetchResult) => void): void {
    const { servers, time, politeness } = this.#world
    this.#onRequest(request)
    const reply = servers.answer(request)
    this.#inFlight.set(request, done)
    time.after(reply.latencyMs, () => {
      if (!this.#inFlight.delete(request)) return
      if (reply.isDeadly) throw new Death('process')
      politeness.end(request, reply, this.#isTriedElsewhere(request, reply))
      this.#noteContinuation(request, reply)
      done(reply.result)
    })
  }

  #isTriedElsewhere({ url, address }: FetchRequest, { result }: Reply): boolean {
    return (
      result.kind === 'trouble' && !result.connected && this.#world.servers.addressAfter(url, address) !== undefined
    )
  }

  /** What may be requested next without another claim. */
  #noteContinuation(request: FetchRequest, reply: Reply): void {
    const { servers, politeness } = this.#world
    const { url, address } = request
    const { result } = reply
    if (this.#isTriedElsewhere(request, reply)) politeness.willTryAt(url, servers.addressAfter(url, address)!)
    if (result.kind === 'trouble') return
    const location = result.headers.find(([name]) => name === 'location')?.[1]
    if (/\/robots[^/]*(?:\.txt|\/[^/]*)$/.test(url) && location !== undefined)
      politeness.willFollow(url, new URL(location, url).href)
  }

  stop(): void {
    const timing = { connectMs: 0, firstByteMs: 0, totalMs: 0 }
    for (const done of this.#inFlight.values()) {
      this.#world.time.after(0, () =>
        done({ kind: 'trouble', class: 'stopped', message: 'stopped', connected: true, timing }),
      )
    }
    this.#inFlight.clear()
  }
}
