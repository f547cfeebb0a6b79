/**
 * DIR/crawl.db: checkpoints and metadata, by better-sqlite3. Nothing is in it alone, so whatever happens to it costs
 * time only: a damaged file is set aside and a new one begun, one that is locked is done without.
 *
 * The journal is a rollback journal, not WAL: a few rows in a crawl's life need no more, it leaves one file, and it can
 * be read where nothing may be written.
 */
import { existsSync, renameSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Checkpoint, CheckpointStore } from '../env/checkpoints.ts'
import { migrate, newestSchema } from './migrations.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'

/** How long another connection is waited for, milliseconds: beyond that the loop would pause for too long. */
const BUSY_MS_MAX = 200

/** SQLite's name for a database without a file. */
const IN_MEMORY = ':memory:'

/** Files that SQLite keeps beside a database; a journal left behind would be played back into the next one. */
const COMPANIONS = ['', '-journal', '-wal', '-shm'] as const

export interface OpenedCrawlDb {
  readonly store: CrawlDb
  /** What was wrong, one sentence; '' where all is well. */
  readonly message: string
}

export interface CrawlMeta {
  /** 32 hexadecimal digits. */
  readonly crawlId: string
  /** Milliseconds since 1970. */
  readonly createdMs: number
  /** Of the program that created it. */
  readonly version: string
}

/**
 * Opens the database of a crawl, with the newest schema; makes it where there is none.
 *
 * Never throws: a file that is damaged, no database, or of a newer schema becomes `crawl.db.damaged-N`, and a new one is
 * begun; where that cannot be, or the file is locked, the database is one in memory.
 *
 * @param mode  read: nothing on disk is changed; what cannot be read counts as empty
 */
export function openCrawlDb(path: string, mode: 'read' | 'write' = 'write'): OpenedCrawlDb {
  if (mode === 'read' && !existsSync(path)) return { store: inMemory(), message: '' }
  try {
    return { store: open(path, mode), message: '' }
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    if (mode === 'read' || isBusy(error)) return { store: inMemory(), message: `${path} cannot be used now: ${what}.` }
    return beginAnew(path, what)
  }
}

function beginAnew(path: string, what: string): OpenedCrawlDb {
  try {
    const aside = setAside(path)
    return { store: open(path, 'write'), message: `${path} could not be read (${what}); it is ${aside} now.` }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { store: inMemory(), message: `${path} can neither be used nor made anew: ${why}.` }
  }
}

function setAside(path: string): string {
  let number = 1
  while (existsSync(`${path}.damaged-${number}`)) number++
  const aside = `${path}.damaged-${number}`
  for (const companion of COMPANIONS) {
    if (existsSync(path + companion)) renameSync(path + companion, aside + companion)
  }
  return aside
}

function inMemory(): CrawlDb {
  const database = new Database(IN_MEMORY)
  migrate(database)
  return new CrawlDb(database, IN_MEMORY)
}

function open(path: string, mode: 'read' | 'write'): CrawlDb {
  const database = new Database(path, { timeout: BUSY_MS_MAX, readonly: mode === 'read' })
  try {
    database.pragma('synchronous = FULL')
    const damage = database.pragma('integrity_check(1)', { simple: true })
    if (damage !== 'ok') throw new Error(String(damage))
    const schema = mode === 'read' ? newestSchema() : migrate(database)
    if (schema > newestSchema()) throw new Error(`its schema ${schema} is of a newer version`)
    return new CrawlDb(database, path)
  } catch (error) {
    database.close()
    throw error
  }
}

/** A checkpoint as SQLite gives it, in the words of env/checkpoints.ts. */
const COLUMNS = `shard, segment, position, sequence, time_ms AS timeMs, digest, path, bytes, checksum, created_ms AS createdMs`

export class CrawlDb implements CheckpointStore {
  private readonly database: Database.Database
  private readonly path: string
  private readonly statements: ReturnType<typeof prepare>

  /** Errors: SqliteError where the schema is not what it should be. */
  constructor(database: Database.Database, path: string) {
    this.database = database
    this.path = path
    this.statements = prepare(database)
  }

  get isLasting(): boolean {
    return this.path !== IN_MEMORY
  }

  /** Undefined in a new database. */
  get meta(): CrawlMeta | undefined {
    return this.attempt(() => this.statements.meta.get())
  }

  set meta(meta: CrawlMeta) {
    this.attempt(() => this.statements.setMeta.run(meta.crawlId, meta.createdMs, meta.version))
  }

  newestCheckpoint(shard: number): Checkpoint | undefined {
    return this.attempt(() => this.statements.newest.get(shard))
  }

  checkpointsBefore(shard: number, segment: number, position: number): Checkpoint[] {
    return this.attempt(() => this.statements.before.all(shard, segment, position))
  }

  addCheckpoint(checkpoint: Checkpoint): void {
    this.attempt(() => this.statements.add.run(checkpoint))
  }

  dropCheckpoint(shard: number, sequence: number): void {
    this.attempt(() => this.statements.drop.run(shard, sequence))
  }

  setAsideBeyond(shard: number, segment: number, position: number): number {
    return this.attempt(() => this.statements.setAside.run(shard, segment, position).changes)
  }

  prune(shard: number, keep: ReadonlySet<number>): string[] {
    const superfluous = (row: { sequence: number; isAside: number }) => row.isAside === 1 || !keep.has(row.sequence)
    const act = this.database.transaction(() => {
      const dropped = this.statements.all.all(shard).filter(superfluous)
      for (const { sequence } of dropped) this.statements.drop.run(shard, sequence)
      return dropped.map((row) => row.path)
    })
    return this.attempt(() => act.immediate())
  }

  close(): void {
    this.database.close()
  }

  private attempt<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error, this.path)
    }
  }
}

function prepare(database: Database.Database) {
  return {
    meta: database.prepare<[], CrawlMeta>('SELECT crawl_id AS crawlId, created_ms AS createdMs, version FROM meta'),
    setMeta: database.prepare<[string, number, string]>('INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?)'),
    newest: database.prepare<[number], Checkpoint>(
      `SELECT ${COLUMNS} FROM checkpoints WHERE shard = ? AND NOT is_aside ORDER BY sequence DESC LIMIT 1`,
    ),
    before: database.prepare<[number, number, number], Checkpoint>(
      `SELECT ${COLUMNS} FROM checkpoints
       WHERE shard = ? AND NOT is_aside AND (segment, position) <= (?, ?) ORDER BY sequence DESC`,
    ),
    all: database.prepare<[number], { sequence: number; path: string; isAside: number }>(
      'SELECT sequence, path, is_aside AS isAside FROM checkpoints WHERE shard = ?',
    ),
    add: database.prepare<[Checkpoint]>(
      `INSERT OR REPLACE INTO checkpoints
       (shard, sequence, segment, position, time_ms, digest, path, bytes, checksum, created_ms)
       VALUES (@shard, @sequence, @segment, @position, @timeMs, @digest, @path, @bytes, @checksum, @createdMs)`,
    ),
    drop: database.prepare<[number, number]>('DELETE FROM checkpoints WHERE shard = ? AND sequence = ?'),
    setAside: database.prepare<[number, number, number]>(
      'UPDATE checkpoints SET is_aside = 1 WHERE shard = ? AND NOT is_aside AND (segment, position) > (?, ?)',
    ),
  }
}
