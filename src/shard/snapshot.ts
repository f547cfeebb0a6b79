/**
 * A snapshot: the state of a shard as records, which an ordinary replay turns into that state again, digest, counts and
 * queue order alike, and on which the later segments of the log follow as if nothing had happened.
 *
 * Order: process and settings, hosts; then what the log keeps of its past, in its order (snapshot-past.ts); then what
 * only the state knows (snapshot-state.ts): links in no queue, claims, queues, seeds; then a mark.
 *
 * Invariant: each item is legal in the state machine of evolve*.ts at its place; each URL is enqueued exactly once.
 */
import { word } from '../base/md5.ts'
import { encodeEvent } from '../core/encode.ts'
import type { ControlEvent, CrawlEvent, OpenEvent } from '../core/event.ts'
import { itemsOf } from '../core/items.ts'
import { COMPACTED, KIND } from '../core/kind.ts'
import { AT, ITEM_AT, ITEM_WORDS, itemKind, type Position } from '../log/format.ts'
import type { GenerationWriter } from '../log/generation-writer.ts'
import type { OpenedLog } from '../log/opened.ts'
import { readEvent } from './link-source.ts'
import { createPlaces, type Places, writePast } from './snapshot-past.ts'
import type { SnapshotSource, WriteEvent } from './snapshot-source.ts'
import { closeOf, writeHosts, writeRest } from './snapshot-state.ts'
import { encodeTotals } from './totals.ts'

/**
 * Writes the records of a snapshot; `out.finish` is the caller's.
 *
 * @param onProgress  called with bytes of VAL read, and all there are to read
 * @returns what each URL and each body stands at, as sums, to be compared with a reading of what was written
 * Errors: LOG_CORRUPT where the old log cannot be read, LOG_FULL, DISK_FULL, DISK_FAILED.
 * Cost: one sequential read of VAL up to the place, a read per queued bulk, per URL that waits and per host.
 */
export function writeSnapshot(
  source: SnapshotSource,
  out: GenerationWriter,
  onProgress: (bytes: number, bytesMax: number) => void = () => {},
): Places {
  const { log, state, timeMs } = source
  const write: WriteEvent = (event, atMs) => appendEvent(out, event, atMs)
  const places = createPlaces()
  const firstMs = log.segments[0]?.header.timeMs ?? timeMs
  writeProcess(source, write, firstMs)
  writeHosts(source, write, firstMs)
  writePast(source, write, places, onProgress)
  const close = state.isOpen ? undefined : closeOf(source)
  writeRest(source, write)
  if (close !== undefined) write(close, timeMs)
  out.mark(timeMs, source.pagesSynced, state.digest.bytes(), encodeTotals(source.totals))
  return places
}

function appendEvent(out: GenerationWriter, event: CrawlEvent, timeMs: number): void {
  const isCompacted = 'isCompacted' in event && event.isCompacted === true
  const body = out.begin(event.kind, isCompacted ? COMPACTED : 0, timeMs)
  encodeEvent(body, body.at - AT.body, event)
  itemsOf(event, (key, kind, arg) => out.item(word(key, 0), word(key, 1), word(key, 2), word(key, 3), kind, arg))
  out.end()
}

/** The last `open`, and the last change of settings where there was one since. */
function writeProcess({ log, until, state }: SnapshotSource, write: WriteEvent, timeMs: number): void {
  const { open, control } = lastProcess(log, until)
  if (open === undefined) return
  write(open, timeMs)
  if (open.settings === state.settingsJson) return
  const act = control?.settings === state.settingsJson ? control.act : 'compact'
  write({ kind: KIND.control, act, settings: state.settingsJson }, timeMs)
}

function lastProcess(log: OpenedLog, until: Position): { open?: OpenEvent; control?: ControlEvent } {
  let control: ControlEvent | undefined
  for (const { number } of log.segments.toReversed()) {
    if (number > until.segment) continue
    const words = log.key(number)
    for (let at = words.length - ITEM_WORDS; at >= 0; at -= ITEM_WORDS) {
      const kind = itemKind(words[at + ITEM_AT.kindAndArg])
      if (kind !== KIND.open && kind !== KIND.control) continue
      const event = readEvent(log, number, words[at + ITEM_AT.position])
      if (event.kind === KIND.open) return control === undefined ? { open: event } : { open: event, control }
      if (event.kind === KIND.control) control ??= event
    }
  }
  return {}
}
