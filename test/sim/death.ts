/** The end of a simulated process, thrown through whatever it was doing. */

/** process: what was written stays. power: what was not synced is torn. */
export type DeathKind = 'process' | 'power'

export class Death extends Error {
  readonly kind: DeathKind

  constructor(kind: DeathKind) {
    super(`death by ${kind}`)
    this.kind = kind
  }
}
