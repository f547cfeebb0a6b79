import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLE } from '../../src/log/format.ts'
import { rewriteSegment } from '../../src/log/rewrite.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { appendFact, DIRECTORY, factBody, itemsOfFacts, KIND_MAX, openEvents, seeded, startEvents } from './given.ts'

test('a record of an adopted segment is read from its new place, also while its old bytes are in memory', () => {
  const disk = new SimulatedDisk()
  const log = startEvents(openEvents(disk, 'write'), seeded(1))
  while (log.segment === 1) appendFact(log, 7, 1, 200)
  log.write()
  const options = { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfFacts }
  const short = factBody(7, 1, 10)
  rewriteSegment(disk, DIRECTORY, 1, options, ({ flags }) => ({ flags, body: short }))
  log.adopt(1)
  const items = log.readItems(1, 0, 20)
  assert.ok(items.length > 6)
  for (let at = 0; at < items.length; at += 6) {
    assert.deepEqual(Buffer.from(log.read(1, items[at + 4]).body), Buffer.from(short))
  }
})
