import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import { openCrawlDb } from '../../src/adapters/crawl-db.ts'
import { migrate, newestSchema } from '../../src/adapters/migrations.ts'
import { SimulatedCheckpoints } from '../sim/checkpoints.ts'
import { checkpointAt, testCheckpointStore } from './checkpoint-stores.ts'

const root = mkdtempSync(join(tmpdir(), 'crawl-db-'))
after(() => rmSync(root, { recursive: true }))
let folders = 0

/** The path of a database that is not there, in a folder of its own. */
function newPath(): string {
  const folder = join(root, String(folders++))
  mkdirSync(folder)
  return join(folder, 'crawl.db')
}

/** A database with one checkpoint, closed. */
function given(): string {
  const path = newPath()
  const { store } = openCrawlDb(path)
  store.meta = META
  store.addCheckpoint(checkpointAt(10, 1, 500))
  store.close()
  return path
}

const META = { crawlId: '0123456789abcdef0123456789abcdef', createdMs: 1_700_000_000_000, version: '0.1.0' }

testCheckpointStore('crawl.db', () => openCrawlDb(newPath()).store)
testCheckpointStore('the simulator’s store', () => new SimulatedCheckpoints())

test('what was added is there when the database is opened again, in one file', () => {
  const path = given()
  const { store, message } = openCrawlDb(path)
  assert.equal(message, '')
  assert.deepEqual({ ...store.newestCheckpoint(0) }, checkpointAt(10, 1, 500))
  assert.deepEqual({ ...store.meta }, META)
  store.close()
  assert.deepEqual(readdirSync(join(path, '..')), ['crawl.db'])
})

test('what was added survives the death of the process that added it', () => {
  const path = newPath()
  const code = `
    import { openCrawlDb } from ${JSON.stringify(join(import.meta.dirname, '../../src/adapters/crawl-db.ts'))}
    import { checkpointAt } from ${JSON.stringify(join(import.meta.dirname, 'checkpoint-stores.ts'))}
    openCrawlDb(${JSON.stringify(path)}).store.addCheckpoint(checkpointAt(10, 1, 500))
    process.kill(process.pid, 'SIGKILL')`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code])
  assert.equal(child.signal, 'SIGKILL')
  assert.equal(openCrawlDb(path).store.newestCheckpoint(0)?.sequence, 10)
})

test('a database that cannot be read is set aside, whole, and a new one is begun', () => {
  const sound = readFileSync(given())
  const damages: Array<[string, Uint8Array]> = [
    ['no database', Buffer.from('not a database at all, but long enough to have a header '.repeat(20))],
    ['torn', sound.subarray(0, sound.length - 4096)],
    ['torn within a page', sound.subarray(0, 5000)],
    ['a page of zeros', Buffer.concat([sound.subarray(0, 4096), Buffer.alloc(sound.length - 4096)])],
    ['a damaged head', Buffer.concat([sound.subarray(0, 100), Buffer.alloc(3996, 0xff), sound.subarray(4096)])],
  ]
  for (const [what, bytes] of damages) {
    const path = newPath()
    writeFileSync(path, bytes)
    const { store, message } = openCrawlDb(path)
    assert.match(message, /crawl\.db\.damaged-1/, what)
    assert.equal(store.newestCheckpoint(0), undefined, what)
    store.addCheckpoint(checkpointAt(11, 1, 600))
    store.close()
    assert.deepEqual(readFileSync(`${path}.damaged-1`), Buffer.from(bytes), what)
    assert.equal(openCrawlDb(path).store.newestCheckpoint(0)?.sequence, 11, what)
  }
})

test('a second damaged database is set aside beside the first, and no journal of either is left for the new one', () => {
  const path = newPath()
  for (const text of ['first', 'second']) {
    writeFileSync(path, `${text} garbage `.repeat(100))
    writeFileSync(`${path}-journal`, text)
    openCrawlDb(path).store.close()
  }
  assert.match(readFileSync(`${path}.damaged-2`, 'utf8'), /^second/)
  assert.match(readFileSync(`${path}.damaged-1`, 'utf8'), /^first/)
  assert.equal(existsSync(`${path}-journal`), false)
})

test('an empty file, and none, is a new database', () => {
  const path = newPath()
  writeFileSync(path, '')
  const { store, message } = openCrawlDb(path)
  assert.equal(message, '')
  assert.equal(store.newestCheckpoint(0), undefined)
  assert.equal(store.meta, undefined)
})

test('a database without a table it should have, or of a newer schema, is set aside', () => {
  for (const sql of ['DROP TABLE checkpoints', `PRAGMA user_version = ${newestSchema() + 1}`]) {
    const path = given()
    const database = new Database(path)
    database.exec(sql)
    database.close()
    const { store, message } = openCrawlDb(path)
    assert.match(message, /damaged-1/, sql)
    store.addCheckpoint(checkpointAt(1, 1, 96))
  }
})

test('a directory in the database’s place is set aside too', () => {
  const path = newPath()
  mkdirSync(path)
  const { store, message } = openCrawlDb(path)
  assert.match(message, /damaged-1/)
  store.addCheckpoint(checkpointAt(1, 1, 96))
})

test('where no file can be made the database is in memory, and says so', () => {
  const { store, message } = openCrawlDb(join(root, 'no', 'such', 'folder', 'crawl.db'))
  assert.match(message, /can neither be used nor made anew/)
  store.addCheckpoint(checkpointAt(1, 1, 96))
  assert.equal(store.newestCheckpoint(0)?.sequence, 1)
})

test('a reader that holds the database costs a checkpoint, with an error of ours, and nothing else', () => {
  const path = given()
  const { store, message } = openCrawlDb(path)
  assert.equal(message, '')
  const reader = new Database(path, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT * FROM checkpoints').all()
  assert.throws(() => store.addCheckpoint(checkpointAt(20, 1, 900)), { name: 'CrawlError', code: 'DISK_FAILED' })
  assert.equal(store.newestCheckpoint(0)?.sequence, 10)
  reader.exec('COMMIT')
  store.addCheckpoint(checkpointAt(20, 1, 900))
  assert.equal(store.newestCheckpoint(0)?.sequence, 20)
})

test('a database that somebody has locked is done without, and left as it is', () => {
  const path = given()
  const owner = new Database(path)
  owner.exec('BEGIN EXCLUSIVE')
  const { store, message } = openCrawlDb(path)
  assert.match(message, /cannot be used now/)
  assert.equal(store.newestCheckpoint(0), undefined)
  owner.exec('COMMIT')
  assert.deepEqual(readdirSync(join(path, '..')), ['crawl.db'])
  assert.equal(openCrawlDb(path).store.newestCheckpoint(0)?.sequence, 10)
})

test('reading changes nothing: a damaged database stays, and none is made', () => {
  const path = newPath()
  assert.deepEqual(openCrawlDb(path, 'read').store.newestCheckpoint(0), undefined)
  assert.equal(existsSync(path), false)
  writeFileSync(path, 'garbage '.repeat(100))
  const { store, message } = openCrawlDb(path, 'read')
  assert.match(message, /cannot be used now/)
  assert.equal(store.newestCheckpoint(0), undefined)
  assert.deepEqual(readdirSync(join(path, '..')), ['crawl.db'])
  assert.equal(openCrawlDb(given(), 'read').store.newestCheckpoint(0)?.sequence, 10)
})

test('migrations are applied in order, each once, and one that fails leaves the schema before it', () => {
  const folder = join(root, 'migrations')
  mkdirSync(folder)
  writeFileSync(join(folder, '002-more.sql'), 'ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES (2, 2);')
  writeFileSync(join(folder, '001-first.sql'), 'CREATE TABLE a (x); INSERT INTO a VALUES (1);')
  writeFileSync(join(folder, 'README.md'), 'no migration')
  const database = new Database(':memory:')
  assert.equal(migrate(database, folder), 2)
  assert.equal(migrate(database, folder), 2)
  writeFileSync(join(folder, '003-wrong.sql'), 'INSERT INTO a VALUES (3, 3); CREATE TABLE a (x);')
  assert.throws(() => migrate(database, folder), /already exists/)
  assert.deepEqual(database.prepare('SELECT x FROM a').pluck().all(), [1, 2])
  assert.equal(database.pragma('user_version', { simple: true }), 2)
})
