/** The real world: the `env` of a running crawl, made of adapters. */
import { createClock } from '../adapters/clock.ts'
import { decodeContent } from '../adapters/content.ts'
import { nodeDisk } from '../adapters/disk.ts'
import { createRandom } from '../adapters/random.ts'
import { createResolver } from '../adapters/resolver.ts'
import { createSealer } from '../adapters/sealer.ts'
import { createWeb } from '../adapters/web.ts'
import type { Settings } from '../core/settings.ts'
import type { Env } from '../env/env.ts'

export interface RealEnv extends Env {
  /** Ends look-ups and waits for the compression under way. */
  close(): Promise<void>
}

export function createEnv(settings: Settings): RealEnv {
  const clock = createClock()
  const resolver = createResolver({ servers: settings.dnsServers, clock })
  const sealer = createSealer()
  return {
    clock,
    random: createRandom(),
    disk: nodeDisk,
    web: createWeb({ socketsMax: settings.concurrency, insecure: settings.insecure }),
    resolver,
    decodeContent,
    sealer,
    close: async () => {
      resolver.stop()
      await sealer.close()
    },
  }
}
