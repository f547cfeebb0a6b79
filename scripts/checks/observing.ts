/**
 * What becomes of a damaged crawl: read as `replay` does, verified as `verify` does, opened to go on as `resume` does.
 * An outcome is data; anything thrown that is no CrawlError is a crash and passes through.
 */
import { decodeContent } from '../../src/adapters/content.ts'
import { CrawlError } from '../../src/base/errors.ts'
import { closeLogs, readCrawl } from '../../src/crawl/reading.ts'
import type { Trouble } from '../../src/crawl/trouble.ts'
import { verifyCrawl } from '../../src/crawl/verifying.ts'
import type { SimulatedDisk } from '../../test/sim/disk.ts'
import { createSampleEnv, LAYOUT, openSample } from './sample-crawl.ts'

export interface Refusal {
  readonly code: string
  readonly segment: number
  readonly offset: number
}

export type Outcome<T> = { readonly done: T } | { readonly refused: Refusal }

export function attempt<T>(run: () => T): Outcome<T> {
  try {
    return { done: run() }
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
    return {
      refused: { code: error.code, segment: Number(error.facts['segment']), offset: Number(error.facts['offset']) },
    }
  }
}

export interface ReadCrawl {
  readonly sequence: number
  readonly digest: string
  readonly messages: readonly string[]
  readonly isLossy: boolean
}

/** The crawl as of its end, or of record `sequence`. */
export function read(disk: SimulatedDisk, sequence?: number): ReadCrawl {
  const until = sequence === undefined ? ({ kind: 'end' } as const) : ({ kind: 'sequence', sequence } as const)
  const past = readCrawl(disk, LAYOUT, until, undefined, true)
  closeLogs(past.logs)
  return {
    sequence: past.cut.sequence,
    digest: past.status.digest,
    messages: past.messages,
    isLossy: past.logs.isLossy,
  }
}

/** What `verify` says. */
export function verify(disk: SimulatedDisk): readonly Trouble[] {
  return verifyCrawl(disk, LAYOUT, decodeContent).troubles
}

/** Opens to go on, and dies at once. Returns the live digest; `disk` is then as `resume` left it. */
export function resume(disk: SimulatedDisk): string {
  const shard = openSample(createSampleEnv(disk))
  const digest = shard.state.digest.toHex()
  disk.processDeath()
  return digest
}
