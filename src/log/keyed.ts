/** Records of stores and pages: the body begins with the 16 bytes of the key, so KEY can be made from VAL alone. */
import { KEY_BYTES } from '../base/md5.ts'
import { KIND } from './format.ts'
import type { ItemsOf } from './rebuild.ts'

/** The greatest kind such a log has. */
export const KEYED_KIND_MAX = KIND.deleted

/** One item a record: `value`, or `deleted`, which has an offset of all ones. */
export const itemsOfKeyed: ItemsOf = (record, emit) => {
  if (record.kind !== KIND.value && record.kind !== KIND.deleted) return
  const reader = record.reader()
  emit(reader.u32(), reader.u32(), reader.u32(), reader.u32(), record.kind, 0)
}

/** What follows the key in a body: a view. */
export function keyedValue(body: Buffer): Buffer {
  return body.subarray(KEY_BYTES)
}

/** Whether a body begins with this key. */
export function hasKey(body: Buffer, k0: number, k1: number, k2: number, k3: number): boolean {
  return (
    body.length >= KEY_BYTES &&
    body.readUInt32LE(0) === k0 &&
    body.readUInt32LE(4) === k1 &&
    body.readUInt32LE(8) === k2 &&
    body.readUInt32LE(12) === k3
  )
}
