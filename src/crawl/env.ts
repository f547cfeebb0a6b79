/** The real world: the `env` of a running crawl, made of adapters. */
import { createCheckpointer, type ThreadedCheckpointer } from '../adapters/checkpointer.ts'
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
  readonly checkpointer: ThreadedCheckpointer
  /** Ends look-ups, gives up the checkpoint being built and waits for the compression under way. */
  close(): Promise<void>
}

export function createEnv(settings: Settings): RealEnv {
  const clock = createClock()
  const resolver = createResolver({ servers: settings.dnsServers, clock })
  const sealer = createSealer()
  const checkpointer = createCheckpointer()
  return {
    clock,
    random: createRandom(),
    disk: nodeDisk,
    web: createWeb({ socketsMax: settings.concurrency, insecure: settings.insecure }),
    resolver,
    decodeContent,
    sealer,
    checkpointer,
    close: async () => {
      resolver.stop()
      await checkpointer.close()
      await sealer.close()
    },
  }
}
