/**
 * The schema of crawl.db: `migrations/NNN-name.sql`, applied in the order of their numbers, each once.
 *
 * Invariant: `user_version` of the database is the number of the last one applied; both change in one transaction.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'

/** From `src/adapters` and from `dist/adapters` alike it is two up. */
const DIRECTORY = join(import.meta.dirname, '..', '..', 'migrations')
const NAME = /^(\d{3})-[a-z0-9-]+\.sql$/

interface Migration {
  readonly number: number
  readonly sql: string
}

/**
 * Brings the schema up to date.
 * @returns its version; unchanged where a newer program made it, which the caller must ask about (`newestSchema`)
 * Errors: SqliteError; the schema is as the last whole migration left it then.
 */
export function migrate(database: Database, directory = DIRECTORY): number {
  for (const { number, sql } of readMigrations(directory)) {
    // Asked within the transaction: another process may have done it meanwhile.
    const apply = database.transaction(() => {
      if (schemaOf(database) >= number) return
      database.exec(sql)
      database.pragma(`user_version = ${number}`)
    })
    if (schemaOf(database) < number) apply.immediate()
  }
  return schemaOf(database)
}

function schemaOf(database: Database): number {
  return database.pragma('user_version', { simple: true }) as number
}

/** The version that `migrate` leads to. */
export function newestSchema(directory = DIRECTORY): number {
  return readMigrations(directory).at(-1)?.number ?? 0
}

function readMigrations(directory: string): Migration[] {
  const names = readdirSync(directory).filter((name) => NAME.test(name))
  return names.sort().map((name) => ({
    number: Number(name.slice(0, 3)),
    sql: readFileSync(join(directory, name), 'utf8'),
  }))
}
