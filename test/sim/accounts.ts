/** Accounting of a live shard against the audit's: three counts that are made in different ways. */
import assert from 'node:assert/strict'
import { keyFromWords } from '../../src/base/md5.ts'
import { HOST } from '../../src/core/hosts.ts'
import {
  createState,
  segmentOf,
  stateOf,
  URL_STATE,
  URL_STATE_NAMES,
  URL_WAITING,
  URL_WORD,
} from '../../src/core/state.ts'
import type { Disk } from '../../src/env/disk.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { replay, totalsAt } from '../../src/shard/replay.ts'
import type { Shard } from '../../src/shard/shard-parts.ts'
import type { Audit } from './audit.ts'

/** Counts by state, pending URLs one by one through every queued bulk, URLs in flight. Cost: a read per queued bulk. */
export function checkAccounts(shard: Shard, audit: Audit): void {
  const { state } = shard
  const counts = { '': 0, pending: 0, processing: 0, done: 0, failed: 0, refused: 0 }
  for (const entry of audit.urls.values()) counts[entry.state]++
  for (const name of ['pending', 'processing', 'done', 'failed', 'refused'] as const) {
    assert.equal(state.counts[URL_STATE_NAMES.indexOf(name)], counts[name], `URLs counted as ${name}`)
  }
  assert.equal(state.urls.count, audit.urls.size, 'URLs in the table')
  const queued = queuedKeys(shard)
  const waiting = waitingKeys(shard)
  const pending = [...audit.urls].filter(([, entry]) => entry.state === 'pending')
  for (const [key, entry] of pending) {
    const where = Number(queued.has(key)) + Number(waiting.has(key))
    assert.equal(where, 1, `${entry.url} is pending and stands in ${where} places`)
    assert.equal(waiting.has(key), entry.waiting !== undefined, `${entry.url} waits`)
  }
  assert.equal(queued.size + waiting.size, pending.length, 'what is queued or waits is pending')
  assert.equal(state.processing.count, counts.processing, 'claims without outcome')
}

/** Every link that its URL's place says is queued, met by opening every bulk. */
function queuedKeys({ state, source }: Shard): Set<string> {
  const keys = new Set<string>()
  for (let host = 1; host <= state.hosts.count; host++) {
    for (const field of [HOST.queue, HOST.queuePreferred]) {
      state.queues.forEach(state.hosts.wordsOf(host), state.hosts.rowOf(host) + field, (position, place) => {
        for (const { key, url } of source.bulk(place >>> 16, position, place & 0xffff)) {
          const handle = state.urls.findKey(key)
          const rest = state.urls.word(handle, URL_WORD.rest)
          const isHere = segmentOf(rest) === place >>> 16 && state.urls.word(handle, URL_WORD.position) === position
          if (stateOf(rest) !== URL_STATE.pending || rest & URL_WAITING || !isHere) continue
          assert.ok(!keys.has(key), `${url} is queued twice`)
          keys.add(key)
        }
      })
    }
  }
  return keys
}

function waitingKeys({ state: { waiting } }: Shard): Set<string> {
  const keys = new Set<string>()
  waiting.forEach((slot) => {
    keys.add(
      keyFromWords(
        waiting.keyWord(slot, 0),
        waiting.keyWord(slot, 1),
        waiting.keyWord(slot, 2),
        waiting.keyWord(slot, 3),
      ),
    )
  })
  return keys
}

/** What a reader makes of the log beside the running process: the live state and totals. Cost: a replay. */
export function checkReplay(shard: Shard, disk: Disk): void {
  const opened = openShardLogs(disk, shard.directory, 'read')
  const state = createState()
  replay(state, opened.events)
  assert.equal(state.digest.toHex(), shard.state.digest.toHex(), 'replay gives the live digest')
  assert.deepEqual(totalsAt(opened.events, opened.end), shard.totals, 'replay gives the live totals')
  opened.events.close()
  opened.pages.close()
}
