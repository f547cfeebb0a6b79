/**
 * The one door to the outside world. Two implementations: the real one (`crawl/`, made of `adapters/`) and the
 * simulator's, which runs whole crawls in virtual time from a seed.
 */
import type { Checkpointer } from './checkpointer.ts'
import type { Clock } from './clock.ts'
import type { DecodeContent } from './content.ts'
import type { Disk } from './disk.ts'
import type { Random } from './random.ts'
import type { Resolver } from './resolver.ts'
import type { Sealer } from './sealer.ts'
import type { Web } from './web.ts'

export interface Env {
  readonly clock: Clock
  readonly random: Random
  readonly disk: Disk
  readonly web: Web
  readonly resolver: Resolver
  readonly decodeContent: DecodeContent
  readonly sealer: Sealer
  readonly checkpointer: Checkpointer
}
