/** Checkpoints in memory: a second implementation of `env/checkpoints.ts`. What it holds survives what its owner lets it. */
import type { Checkpoint, CheckpointStore } from '../../src/env/checkpoints.ts'

export class SimulatedCheckpoints implements CheckpointStore {
  /** Asked before every change; an error returned is thrown. */
  fault: () => Error | undefined = () => undefined
  readonly isLasting = true
  private rows: Array<Checkpoint & { isAside: boolean }> = []

  newestCheckpoint(shard: number): Checkpoint | undefined {
    return this.checkpointsBefore(shard, Number.POSITIVE_INFINITY, 0)[0]
  }

  checkpointsBefore(shard: number, segment: number, position: number): Checkpoint[] {
    return this.rows
      .filter((row) => row.shard === shard && !row.isAside && !isBeyond(row, segment, position))
      .sort((a, b) => b.sequence - a.sequence)
      .map(({ isAside, ...checkpoint }) => checkpoint)
  }

  addCheckpoint(checkpoint: Checkpoint): void {
    this.dropCheckpoint(checkpoint.shard, checkpoint.sequence)
    this.rows.push({ ...checkpoint, isAside: false })
  }

  dropCheckpoint(shard: number, sequence: number): void {
    this.throwFault()
    this.rows = this.rows.filter((row) => row.shard !== shard || row.sequence !== sequence)
  }

  setAsideBeyond(shard: number, segment: number, position: number): number {
    this.throwFault()
    const beyond = this.rows.filter((row) => row.shard === shard && !row.isAside && isBeyond(row, segment, position))
    for (const row of beyond) row.isAside = true
    return beyond.length
  }

  prune(shard: number, keep: ReadonlySet<number>): string[] {
    this.throwFault()
    const isKept = (row: Checkpoint & { isAside: boolean }) =>
      row.shard !== shard || (!row.isAside && keep.has(row.sequence))
    const dropped = this.rows.filter((row) => !isKept(row))
    this.rows = this.rows.filter(isKept)
    return dropped.map((row) => row.path)
  }

  private throwFault(): void {
    const error = this.fault()
    if (error !== undefined) throw error
  }
}

function isBeyond(row: Checkpoint, segment: number, position: number): boolean {
  return row.segment > segment || (row.segment === segment && row.position > position)
}
