import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ByteReader, ByteWriter } from '../../src/base/bytes.ts'
import { keyToHex } from '../../src/base/md5.ts'
import { decodeEvent } from '../../src/core/decode.ts'
import { encodeEvent } from '../../src/core/encode.ts'
import type { CrawlEvent } from '../../src/core/event.ts'
import { itemsOf } from '../../src/core/items.ts'
import { COMPACTED } from '../../src/core/kind.ts'
import { COMPACTED_EVENTS } from './golden/compacted.ts'
import { GOLDEN_EVENTS } from './golden/events.ts'
import { REPAIRED_EVENTS } from './golden/repaired.ts'

const SETS = [
  { name: 'version 1', path: join(import.meta.dirname, 'golden', 'events-v1.json'), events: GOLDEN_EVENTS },
  { name: 'a compaction', path: join(import.meta.dirname, 'golden', 'compacted-v1.json'), events: COMPACTED_EVENTS },
  { name: 'a repair', path: join(import.meta.dirname, 'golden', 'repaired-v1.json'), events: REPAIRED_EVENTS },
]

interface Golden {
  readonly kind: number
  /** Of the record; left out where there are none. */
  readonly flags?: number
  /** Body in hexadecimal. */
  readonly body: string
  /** Items as `key kind argument`. */
  readonly items: readonly string[]
}

function goldenOf(event: CrawlEvent): Golden {
  const out = new ByteWriter()
  out.at = 20
  encodeEvent(out, 0, event)
  const items: string[] = []
  itemsOf(event, (key, kind, arg) => items.push(`${keyToHex(key)} ${kind} ${arg}`))
  const flags = 'isCompacted' in event ? { flags: COMPACTED } : {}
  return { kind: event.kind, ...flags, body: out.written().subarray(20).toString('hex'), items }
}

for (const { name, path, events } of SETS) {
  test(`the bodies and items of ${name} are written as they always were`, () => {
    const now = events.map(goldenOf)
    // Written once, when the format was made; a missing file is a mistake, except for whoever makes a new version.
    if (!existsSync(path) && process.env.MAKE_GOLDEN === '1') writeFileSync(path, `${JSON.stringify(now, null, 1)}\n`)
    assert.deepEqual(now, JSON.parse(readFileSync(path, 'utf8')))
  })

  test(`the bodies of ${name} are read as the events they were made of`, () => {
    const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden[]
    golden.forEach(({ kind, flags, body }, i) => {
      const record = Buffer.concat([Buffer.alloc(20), Buffer.from(body, 'hex')])
      const input = new ByteReader(record, 20)
      assert.deepEqual(decodeEvent(input, kind, flags), events[i])
      assert.equal(input.remaining, 0, `kind ${kind} is read to its end`)
    })
  })
}

test('there is a golden event of every kind of record that this version writes', () => {
  const kinds = GOLDEN_EVENTS.map((event) => event.kind).sort((a, b) => a - b)
  assert.deepEqual(kinds, [2, 3, 5, 8, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28])
  assert.deepEqual([...new Set(COMPACTED_EVENTS.map((event) => event.kind))], [34, 35, 12, 15, 16, 8])
})
