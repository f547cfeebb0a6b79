import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../src/base/md5.ts'
import { decide } from '../../src/core/decide.ts'
import { KIND } from '../../src/core/kind.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { resolveSettings, type Settings } from '../../src/core/settings.ts'
import { createState } from '../../src/core/state.ts'

const PAGE = 'http://a.test/'

/** URLs admitted, and turned away by reason, of a page with one link to follow and one not to. */
function admitted(chosen: Partial<Settings>): { readonly urls: string[]; readonly turnedAway: unknown } {
  const state = createState()
  state.settings = resolveSettings({ scope: 'any', ...chosen })
  const link = { key: keyOf(PAGE), url: PAGE, depth: 0, from: undefined, seed: true, chain: [] }
  const links = [
    { url: 'http://a.test/yes', nofollow: false },
    { url: 'http://a.test/no', nofollow: true },
  ]
  const answer = {
    kind: 'answer',
    status: 200,
    location: undefined,
    retryAfterMs: undefined,
    stored: undefined,
  } as const
  const timing = { connectMs: 0, firstByteMs: 0, totalMs: 0 }
  const result = { ...answer, links, turnedAway: [] }
  const [event] = decide(state, { kind: 'page', link, attempts: 0, address: '192.0.2.1', timing, result }, 0)
  assert(event.kind === KIND.fetched)
  return { urls: event.groups.flatMap((group) => group.links).map(({ url }) => url), turnedAway: event.turnedAway }
}

test('a link that asks not to be followed is turned away and counted', () => {
  assert.deepEqual(admitted({}), { urls: ['http://a.test/yes'], turnedAway: [[REASONS['link.nofollow'], 1]] })
})

test('where robots are not obeyed, on this host or at all, such a link is followed', () => {
  const both = { urls: ['http://a.test/yes', 'http://a.test/no'], turnedAway: [] }
  assert.deepEqual(admitted({ robots: false }), both)
  assert.deepEqual(admitted({ hosts: { 'a.test': { robots: false } } }), both)
})
