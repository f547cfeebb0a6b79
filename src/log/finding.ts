/** What an opening or a verification found wrong, as data: printed by `verify`, thrown by everything else. */
import { CrawlError } from '../base/errors.ts'

export interface Finding {
  /** corrupt: refused. syncedLost, torn: cut. key: rebuilt from VAL. */
  readonly what: 'corrupt' | 'syncedLost' | 'torn' | 'key'
  readonly segment: number
  /** In VAL (in KEY where `what` is key): start of the damaged record, or of what is missing. */
  readonly offset: number
  /** Length of the damaged range, up to the next valid record or the end; 0 where bytes are missing. */
  readonly bytes: number
  readonly message: string
}

/** Throws what is corrupt; the rest has a treatment and is no error. */
export function refuse(finding: Finding, directory: string): void {
  if (finding.what !== 'corrupt') return
  const { segment, offset, bytes } = finding
  throw new CrawlError('LOG_CORRUPT', finding.message, { path: directory, segment, offset, bytes })
}
