/** What SQLite says, as an error of ours. */
import Database from 'better-sqlite3'
import { CrawlError, type ErrorCode } from '../base/errors.ts'

const CODES: Readonly<Record<string, ErrorCode>> = {
  SQLITE_FULL: 'DISK_FULL',
  SQLITE_READONLY: 'DISK_DENIED',
  SQLITE_PERM: 'DISK_DENIED',
  SQLITE_CANTOPEN: 'DISK_DENIED',
}

/** Whether another connection holds the database, and will let go of it. */
export function isBusy(error: unknown): boolean {
  const code = primaryCodeOf(error)
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED'
}

/** Whether the file is something else than a database, or damaged. */
export function isNoDatabase(error: unknown): boolean {
  const code = primaryCodeOf(error)
  return code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT'
}

/** `SQLITE_READONLY` of `SQLITE_READONLY_DIRECTORY`; undefined for errors that are not SQLite's. */
function primaryCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined
  return /^SQLITE_[A-Z]+/.exec(error.code)?.[0]
}

/** A CrawlError for one of SQLite's; others are returned as they are. */
export function sqliteError(error: unknown, path: string): unknown {
  const code = primaryCodeOf(error)
  if (code === undefined) return error
  return new CrawlError(CODES[code] ?? 'DISK_FAILED', `${path}: ${(error as Error).message}`, { path, cause: code })
}
