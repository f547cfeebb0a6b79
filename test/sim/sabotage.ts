/**
 * Sabotage: a snippet of the product is replaced as its file is loaded, and the simulation must notice. No product code
 * knows of it. Each snippet must stand in its file exactly once, so that a change which breaks a sabotage is seen.
 */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

interface Sabotage {
  /** Below `src/`. */
  readonly file: string
  readonly snippet: string
  readonly replacement: string
  /** What the failure says. */
  readonly notice: RegExp
}

export const SABOTAGES = {
  /** Requests leave before their claims are written. */
  'fetch-before-claim': {
    file: 'shard/shard.ts',
    snippet:
      '  shard.events.write() // with the operating system: survives this process, not the machine\n\n  startFetches(shard, work)',
    replacement: '  startFetches(shard, work)\n  shard.events.write()',
    notice: /requested and no written/,
  },
  /** The owner is told that its seeds are safe although they are not synced. */
  'acknowledge-before-write': {
    file: 'shard/syncing.ts',
    snippet: 'syncing.waiting.push(arrival.done)',
    replacement: 'arrival.done()',
    notice: /seeds are acknowledged before/,
  },
  /** What a page links to is a record of its own, behind the page's. */
  'links-in-a-second-record': {
    file: 'shard/applying.ts',
    snippet: 'for (const event of decide(shard.state, observation, now.shardMs)) apply(shard, event, now)',
    replacement: `for (const event of decide(shard.state, observation, now.shardMs)) {
      if (event.kind !== KIND.fetched) { apply(shard, event, now); continue }
      const { groups, attempt } = event
      const nothing = { known: [], shorter: [], turnedAway: [], turnedAwayUrls: [], scopeKeys: [] }
      apply(shard, { ...event, groups: [] }, now)
      apply(shard, { kind: KIND.relinked, link: attempt.link, groups, ...nothing }, now)
    }`,
    notice: /URLs are lost/,
  },
  /** After an opening hosts are contacted at once. */
  'no-cooldown': {
    file: 'core/frontier.ts',
    snippet: '  frontier.openedMs = now.monotonicMs\n',
    replacement: '',
    notice: /after the last answer of its host/,
  },
  /** A request that failed does not count. */
  'retry-uncounted': {
    file: 'core/decide.ts',
    snippet: 'attempts: Math.min(observation.attempts + 1, 255)',
    replacement: 'attempts: observation.attempts',
    notice: /attempts of/,
  },
  /** Until when a host is blocked is not in the digest. */
  'digest-without-delay': {
    file: 'core/digest-entries.ts',
    snippet: '    blocked % LOW,\n    Math.floor(blocked / LOW),\n',
    replacement: '    0,\n    0,\n',
    notice: /live state is that of the written log/,
  },
  /** Opening cuts the log back to the last mark. */
  'cut-past-synced': {
    file: 'shard/opening.ts',
    snippet: 'if (!isNew && comparePositions(end, eventsLog.end) < 0) eventsLog.cut(end)',
    replacement: 'if (!isNew) eventsLog.cut(eventsLog.lastMark()?.mark.synced ?? end)',
    notice: /opening changed what was written or synced before/,
  },
  /** A checkpoint stands behind the last mark, which nothing has synced yet. */
  'checkpoint-before-sync': {
    file: 'shard/checkpointing.ts',
    snippet:
      '  checkpointing.durableMark = checkpointing.latestMark\n  checkpointing.latestMark = { mark, work: { ...work } }',
    replacement:
      '  checkpointing.latestMark = { mark, work: { ...work } }\n  checkpointing.durableMark = checkpointing.latestMark',
    notice: /synced records are lost/,
  },
} as const satisfies Record<string, Sabotage>

export type SabotageName = keyof typeof SABOTAGES

export const SABOTAGE_NAMES = Object.keys(SABOTAGES) as SabotageName[]

/** From now on the file is loaded with the replacement. Call before it is imported. */
export function sabotage(name: SabotageName): void {
  const { file, snippet, replacement }: Sabotage = SABOTAGES[name]
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith(`/src/${file}`)) return loaded
      const source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
      const count = source.split(snippet).length - 1
      assert.equal(count, 1, `the snippet of sabotage ${name} stands ${count} times in src/${file}`)
      return { ...loaded, source: source.replace(snippet, () => replacement) }
    },
  })
}
