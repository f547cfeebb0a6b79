/** What `verify` finds wrong, as data. */
import { MalformedValue } from '../base/bytes.ts'
import { CrawlError } from '../base/errors.ts'

/** One thing wrong. */
export interface Trouble {
  /** `log`, `pages`: of that log. `references`: between them. `accounting`, `digest`: of what the log adds up to. */
  readonly where: 'log' | 'pages' | 'references' | 'accounting' | 'digest'
  /** Whether it is damage: `verify` exits 4. The rest mends itself when the crawl is next opened. */
  readonly isDamage: boolean
  readonly message: string
  readonly segment: number | null
  /** In VAL; in KEY where the message says so. */
  readonly offset: number | null
  readonly bytes: number | null
}

/** Damage that was thrown where it was met; undefined for other errors. */
export function troubleOfError(error: unknown, where: Trouble['where']): Trouble | undefined {
  if (error instanceof MalformedValue) {
    return {
      where,
      isDamage: true,
      message: `A value cannot be read: ${error.message}.`,
      segment: null,
      offset: null,
      bytes: null,
    }
  }
  if (!(error instanceof CrawlError) || error.code !== 'LOG_CORRUPT') return undefined
  const { segment, offset, bytes } = error.facts
  return {
    where,
    isDamage: true,
    message: error.message,
    segment: numberOf(segment),
    offset: numberOf(offset),
    bytes: numberOf(bytes),
  }
}

function numberOf(fact: string | number | undefined): number | null {
  return typeof fact === 'number' ? fact : null
}
