/** The log of events as the bare log (log/) needs to know it: its role, its kinds, and the KEY items of its records. */
import { word } from '../base/md5.ts'
import { decodeEvent } from '../core/decode.ts'
import { itemsOf } from '../core/items.ts'
import { KIND_MAX } from '../core/kind.ts'
import { ROLE } from '../log/format.ts'
import type { ItemsOf } from '../log/rebuild.ts'

/** KEY items of a record of events, for rebuilding KEY from VAL. */
const itemsOfRecord: ItemsOf = (record, emit) => {
  const event = decodeEvent(record.reader(), record.kind, record.flags)
  if (event === undefined) return
  itemsOf(event, (key, kind, arg) => emit(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
}

export const EVENTS_LOG = { role: ROLE.events, kindMax: KIND_MAX, itemsOf: itemsOfRecord } as const
