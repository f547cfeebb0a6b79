/** Reading VAL in order, whole: a log that is read for people must not end at damage as if it ended there. */
import { CrawlError } from '../base/errors.ts'
import type { OpenedLog } from '../log/opened.ts'
import type { RecordView } from '../log/record.ts'

/**
 * Visits the records of a segment from `start` on; a view is valid within the call.
 * Errors: LOG_CORRUPT where a record is damaged, with its place; LOG_NEWER. Cost: see `scanSegment`.
 */
export function scanWhole(log: OpenedLog, number: number, visit: (record: RecordView) => void, start = 0): void {
  const { end } = log.scan(number, visit, start)
  if (end >= log.valBytes(number)) return
  throw new CrawlError('LOG_CORRUPT', `Segment ${number}: damaged record at offset ${end}.`, {
    segment: number,
    offset: end,
  })
}
