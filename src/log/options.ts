/** How a log is opened: what its owner knows and the log does not. */
import type { Position, Role } from './format.ts'
import type { Accepts } from './list.ts'
import type { ItemsOf } from './rebuild.ts'

export interface OpenOptions {
  readonly role: Role
  /** Kinds above this are of a newer version. */
  readonly kindMax: number
  /** The KEY items of the owner's records. */
  readonly itemsOf: ItemsOf
  /** read: changes nothing, refuses what is corrupt. write: may cut and go on. verify: collects instead of refusing. */
  readonly mode: 'read' | 'write' | 'verify'
  /** What the caller knows to have been synced: the last mark's position for pages, a checkpoint's for events. */
  readonly promised?: Position | undefined
  /** Generations that belong to the log; default all. */
  readonly accepts?: Accepts | undefined
}
