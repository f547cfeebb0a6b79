/**
 * KEY of the last segment, always made from VAL: at once for who goes on writing, for a reader when it is asked for, since
 * the past that is read may end before this segment.
 */
import type { LogFiles } from './files.ts'
import { type ReadContext, scanSegment } from './reader.ts'
import type { KeyBuilder } from './rebuild.ts'
import type { RecordView } from './record.ts'

export class TailKey {
  private readonly builder: KeyBuilder
  private readonly isLate: boolean
  private made: Uint32Array<ArrayBuffer> | undefined

  /** @param isLate  `see` does nothing, and `words` scans VAL itself */
  constructor(builder: KeyBuilder, isLate: boolean) {
    this.builder = builder
    this.isLate = isLate
  }

  /** Whether its items are known without another scan. */
  get isMade(): boolean {
    return !this.isLate || this.made !== undefined
  }

  /** Takes each record of the segment in order, while the tail is scanned. */
  see(record: RecordView): void {
    if (!this.isLate) this.builder.add(record)
  }

  /** The items of the records before `end`. Cost: none; the first time for a reader, a scan of VAL. Errors: LOG_CORRUPT. */
  words(files: LogFiles, end: number, context: ReadContext): Uint32Array<ArrayBuffer> {
    if (this.made === undefined) {
      if (this.isLate) {
        scanSegment(files.val(context.segment), 0, end, context, (record) => this.builder.add(record))
      }
      this.made = this.builder.words()
    }
    return this.made
  }
}
