import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteWriter } from '../../src/base/bytes.ts'
import { keyOf } from '../../src/base/md5.ts'
import { AT, KIND } from '../../src/log/format.ts'
import { CONTINUED } from '../../src/log/pages.ts'
import { RecordView, viewOf } from '../../src/log/record.ts'
import { type Compress, createPageTransform } from '../../src/shard/page-transform.ts'
import { PART_ZSTD } from '../../src/shard/pages.ts'

const KEY = keyOf('http://a.test/')

/** A record with this body behind the key. */
function record(value: Uint8Array, flags = 0, kind: number = KIND.value): RecordView {
  const bytes = Buffer.alloc(AT.body + KEY.length + value.length)
  bytes.writeUInt32LE(bytes.length - 4, 0)
  bytes[AT.kind] = kind
  bytes.writeUInt16LE(flags, AT.flags)
  bytes.write(KEY, AT.body, 'latin1')
  bytes.set(value, AT.body + KEY.length)
  return new RecordView(bytes).set(bytes, viewOf(bytes), 0, 0)
}

/** The value of a page as pages.ts writes it. */
function value(headers: ReadonlyArray<readonly [string, string]>, bodyBytes: number): Uint8Array {
  const out = new ByteWriter()
  out.u8(0)
  out.u16(200)
  out.rawBytes(new Uint8Array(32))
  out.varint(headers.length)
  for (const [name, text] of headers) {
    out.latin1(name)
    out.latin1(text)
  }
  out.varint(bodyBytes)
  out.rawBytes(new Uint8Array(bodyBytes).fill(97))
  return new Uint8Array(out.written())
}

const HTML = [['content-type', 'text/html']] as const
const GZIP = [...HTML, ['content-encoding', 'gzip']] as const

/** Which of the records are changed. */
function changed(records: readonly RecordView[], compress: Compress = () => Buffer.from('small')): boolean[] {
  const transform = createPageTransform(compress)
  return records.map((one) => transform(one) !== undefined)
}

test('a part is compressed as a whole behind its key, and its record says so beside the flags it had', () => {
  const bytes = value(HTML, 2000)
  const seen: Uint8Array[] = []
  const transform = createPageTransform((part) => {
    seen.push(new Uint8Array(part))
    return Buffer.from('small')
  })
  const change = transform(record(bytes, CONTINUED))
  assert.deepEqual(seen, [bytes])
  assert.equal(change?.flags, CONTINUED | PART_ZSTD)
  assert.equal(Buffer.from(change?.body ?? []).toString('latin1'), `${KEY}small`)
})

test('short parts, parts compressed already and records of other kinds stay', () => {
  const long = value(HTML, 2000)
  const records = [record(value(HTML, 400)), record(long, PART_ZSTD), record(long, 0, KIND.segment), record(long)]
  assert.deepEqual(changed(records), [false, false, false, true])
})

test('a part that would not get smaller by a twentieth stays', () => {
  const bytes = value(HTML, 2000)
  const to = (ratio: number) => changed([record(bytes)], () => new Uint8Array(Math.ceil(bytes.length * ratio)))
  assert.deepEqual([to(0.96), to(0.95), to(0.94)], [[false], [false], [true]])
})

test('what the wire compressed stays, in all parts of its value; identity is no coding', () => {
  const rest = new Uint8Array(3000)
  const identity = [...HTML, ['content-encoding', 'identity']] as const
  assert.deepEqual(
    changed([
      record(value(GZIP, 2000), CONTINUED),
      record(rest, CONTINUED),
      record(rest),
      record(value(HTML, 2000), CONTINUED),
      record(rest),
      record(value(GZIP, 2000)),
      record(value(identity, 2000)),
    ]),
    [false, false, false, true, true, false, true],
  )
})

test('the rest of a value that began in the segment before is judged by what compressing it gives', () => {
  const rest = new Uint8Array(3000).fill(0xff)
  assert.deepEqual(changed([record(rest)]), [true])
  assert.deepEqual(
    changed([record(rest)], (part) => part),
    [false],
  )
})
