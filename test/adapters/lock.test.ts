import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { acquireLock, readOwner } from '../../src/adapters/lock.ts'
import { CrawlError } from '../../src/base/errors.ts'

const HOLDER = join(import.meta.dirname, 'lock-holder.ts')
const SOCKET = '/tmp/some.sock'
const folders: string[] = []
const children: ChildProcess[] = []
after(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'))
  folders.push(folder)
  return folder
}

/** Another process that holds the lock. */
async function held(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, folder, SOCKET], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const [said] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  assert.equal(String(said), 'held\n')
  return child
}

test('a lock that another process holds is refused, naming that process, and can be had when it lets go', async () => {
  const folder = newFolder()
  const child = await held(folder)
  assert.throws(
    () => acquireLock(folder, SOCKET),
    (error) => {
      assert.ok(error instanceof CrawlError && error.code === 'DIR_IN_USE')
      assert.equal(error.facts.pid, child.pid)
      assert.equal(error.facts.socket, SOCKET)
      assert.match(error.message, new RegExp(`Process ${child.pid}, since \\d{4}-\\d\\d-\\d\\dT.*Z`))
      return true
    },
  )
  assert.equal(readOwner(folder)?.pid, child.pid)
  child.stdin?.write('release')
  child.stdin?.end()
  await once(child, 'exit')
  assert.equal(existsSync(join(folder, 'owner.json')), false)
  acquireLock(folder, SOCKET).release()
})

test('the lock dies with its owner, killed for real, and what that said of itself is not believed', async () => {
  const folder = newFolder()
  const child = await held(folder)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.ok(existsSync(join(folder, 'owner.json')))
  assert.equal(readOwner(folder), undefined)
  const lock = acquireLock(folder, SOCKET)
  assert.equal(readOwner(folder)?.pid, process.pid)
  lock.release()
})

test('one process cannot have a lock twice, and one refused takes nothing from the one held', async () => {
  const folder = newFolder()
  const lock = acquireLock(folder, SOCKET)
  assert.throws(() => acquireLock(folder, SOCKET), { code: 'DIR_IN_USE' })
  const child = spawnSync(process.execPath, [HOLDER, folder, SOCKET])
  assert.equal(String(child.stdout), 'DIR_IN_USE\n')
  assert.equal(readOwner(folder)?.pid, process.pid)
  lock.release()
  lock.release()
  const again = acquireLock(folder, SOCKET)
  // A second release of the first must not have been one of this.
  lock.release()
  assert.equal(readOwner(folder)?.pid, process.pid)
  again.release()
})

test('an owner.json that is half, or of another shape, or of a dead process names nobody', async () => {
  const folder = newFolder()
  const child = await held(folder)
  for (const text of ['', '{"pid":', '{"pid":"1"}', '[]', 'null', '{"pid":999999999,"started":"","socket":""}']) {
    writeFileSync(join(folder, 'owner.json'), text)
    assert.equal(readOwner(folder), undefined, text)
    assert.throws(() => acquireLock(folder, SOCKET), { code: 'DIR_IN_USE', message: /^Another process/ }, text)
  }
  child.kill('SIGKILL')
})

test('a lock.db that holds something else is emptied, not refused', () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'lock.db'), 'garbage '.repeat(100))
  const lock = acquireLock(folder, SOCKET)
  assert.equal(statSync(join(folder, 'lock.db')).size, 0)
  assert.throws(() => acquireLock(folder, SOCKET), { code: 'DIR_IN_USE' })
  lock.release()
})

test('a directory that is not there is DISK_MISSING', () => {
  assert.throws(() => acquireLock(join(newFolder(), 'none'), SOCKET), { code: 'DISK_MISSING' })
})

test('owner.json holds pid, start and socket, each on what it says', () => {
  const folder = newFolder()
  const lock = acquireLock(folder, SOCKET)
  const owner = JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8'))
  assert.deepEqual(Object.keys(owner), ['pid', 'started', 'socket'])
  assert.equal(new Date(owner.started).toISOString(), owner.started)
  lock.release()
})

test('a directory, or a lock.db, that may not be written is DISK_DENIED, though SQLite would open it for reading', () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'lock.db'), '')
  // Root may write everywhere, so the other process becomes nobody then.
  const spare = newFolder()
  for (const [folderMode, fileMode] of [
    [0o555, 0o666],
    [0o777, 0o444],
  ]) {
    chmodSync(join(folder, 'lock.db'), fileMode)
    chmodSync(folder, folderMode)
    const child = spawnSync(process.execPath, [HOLDER, folder, SOCKET, spare])
    assert.equal(String(child.stdout), 'DISK_DENIED\n', String(child.stderr))
  }
  chmodSync(folder, 0o777)
})
