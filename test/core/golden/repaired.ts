/** What a repair writes, fixed for ever: kind 26. */
import type { CrawlEvent } from '../../../src/core/event.ts'
import { KIND } from '../../../src/core/kind.ts'

export const REPAIRED_EVENTS: readonly CrawlEvent[] = [
  {
    kind: KIND.repaired,
    aside: 'damaged/2026-05-01T12-00-00Z',
    lost: [
      {
        ...{ log: 1, segment: 2, offset: 4711, bytes: 300, records: 3 },
        ...{ fromSequence: 812, toSequence: 814, fromMs: 1_777_636_800_000, toMs: 1_777_636_800_123 },
      },
      {
        ...{ log: 2, segment: 300, offset: 96, bytes: 0, records: undefined },
        ...{ fromSequence: 0, toSequence: 0, fromMs: 1_777_636_800_000, toMs: 0 },
      },
    ],
    counts: { urls: 1, pages: 2, forgotten: 300, hostFacts: 4, settings: 5, seeds: 6, checkpoints: 7 },
  },
]
