/** What a seed stands for beside its web: the settings of the crawl, and the size of its segments. */
import { resolveSettings, type Settings } from '../../src/core/settings.ts'
import type { Chance } from './chance.ts'
import type { Rules } from './walk.ts'
import { REDIRECTS_MAX } from './web.ts'

export interface CrawlPlan {
  readonly rules: Rules
  readonly settings: Settings
  /** Settings that a later process goes on with. */
  readonly laterSettings: Settings
  readonly segmentBytesMax: number
  /** Whether the wall clock is also put forward, by hours. */
  readonly hasForwardSteps: boolean
}

/** @param checkpointChance  decides how often checkpoints are made */
export function planCrawl(chance: Chance, checkpointChance: Chance): CrawlPlan {
  const rules = planRules(chance)
  const delayMs = chance.pick([0, 0, 200, 1000])
  const settings = resolveSettings({
    ...rules,
    delayMs,
    delayMaxMs: chance.pick([10_000, 60_000]),
    delayFactor: chance.pick([0, 0, 1.5]),
    order: chance.pick(['breadth', 'breadth', 'depth', 'random', 'priority'] as const),
    prefer: ['/dir/', 'x='],
    concurrency: chance.pick([2, 8, 32, 256]),
    retriesMax: chance.between(2, 3),
    redirectsMax: REDIRECTS_MAX,
    durabilityMs: chance.pick([0, 20, 100, 400]),
    graph: chance.percent(80),
    keepRefused: chance.percent(20),
    pagesMax: chance.percent(8) ? chance.between(20, 120) : null,
    hosts: chance.percent(30) ? { 'h12.test': { delayMs: 700 }, '*.h13.test': { delayMs: 400, perHost: 1 } } : {},
    timeoutMs: 5000,
    connectTimeoutMs: 2000,
    checkpointAfterMs: checkpointChance.pick([0, 1, 3, 1000]),
    checkpointBytesMax: checkpointChance.pick([0, 1_000_000, 1_000_000_000]),
    freeBytesMin: 0,
  })
  const laterSettings = chance.percent(50)
    ? settings
    : { ...settings, delayMs: chance.pick([0, 100, 1500]), perHost: 1 }
  const segmentBytesMax = chance.pick([48, 64, 128, 256]) * 1024
  return { rules, settings, laterSettings, segmentBytesMax, hasForwardSteps: chance.percent(30) }
}

function planRules(chance: Chance): Rules {
  return {
    scope: chance.pick(['any', 'any', 'any', 'host', 'host', 'domain', 'prefix'] as const),
    depthMax: chance.percent(40) ? chance.between(2, 6) : null,
    include: chance.percent(10) ? ['/p\\d', '/$'] : [],
    exclude: chance.percent(20) ? ['\\.png$', '/q\\?x=.*7'] : [],
    robots: chance.percent(85),
  }
}
