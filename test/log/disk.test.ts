/** One suite for every disk; then what only the simulated one promises. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { CrawlError } from '../../src/base/errors.ts'
import type { Disk, File } from '../../src/env/disk.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { seeded } from './given.ts'

interface Given {
  readonly disk: Disk
  readonly root: string
  readonly remove: () => void
}

function simulated(): Given {
  return { disk: new SimulatedDisk(setImmediate), root: '/root', remove: () => {} }
}

function real(): Given {
  const root = mkdtempSync(join(tmpdir(), 'disk-'))
  return { disk: nodeDisk, root, remove: () => rmSync(root, { recursive: true }) }
}

function text(file: File): string {
  const bytes = new Uint8Array(file.sizeBytes())
  assert.equal(file.read(bytes, 0), bytes.length)
  return Buffer.from(bytes).toString()
}

for (const [name, given] of [
  ['simulated', simulated],
  ['real', real],
] as const) {
  test(`${name} disk: what is written at a position is read there, and a hole reads as zeros`, () => {
    const { disk, root, remove } = given()
    const file = disk.open(`${root}/a`, 'create')
    file.write(Buffer.from('hello'), 0)
    file.write(Buffer.from('world'), 7)
    assert.equal(text(file), 'hello\0\0world')
    const target = new Uint8Array(100)
    assert.equal(file.read(target, 9), 3)
    assert.equal(file.read(target, 12), 0)
    assert.equal(file.read(target, 50), 0)
    file.close()
    remove()
  })

  test(`${name} disk: a second name is the same file, also for who writes to it; a directory moves with its files`, () => {
    const { disk, root, remove } = given()
    disk.makeDirectory(`${root}/one`)
    disk.makeDirectory(`${root}/two.tmp`)
    const file = disk.open(`${root}/one/a`, 'create')
    file.write(Buffer.from('hello'), 0)
    disk.link(`${root}/one/a`, `${root}/two.tmp/a`)
    assert.throws(() => disk.link(`${root}/one/a`, `${root}/two.tmp/a`), CrawlError)
    assert.throws(() => disk.link(`${root}/one/none`, `${root}/two.tmp/b`), CrawlError)
    file.write(Buffer.from('!'), 5)
    file.close()
    disk.rename(`${root}/two.tmp`, `${root}/two`)
    disk.removeDirectory(`${root}/one`)
    disk.removeDirectory(`${root}/never`)
    assert.deepEqual(disk.list(root), ['two'])
    const linked = disk.open(`${root}/two/a`, 'read')
    assert.equal(text(linked), 'hello!')
    linked.close()
    remove()
  })

  test(`${name} disk: truncating cuts, and growing again shows zeros, not what was cut`, () => {
    const { disk, root, remove } = given()
    const file = disk.open(`${root}/a`, 'create')
    file.write(Buffer.from('hello'), 0)
    file.truncate(2)
    file.truncate(4)
    assert.equal(text(file), 'he\0\0')
    file.close()
    remove()
  })

  test(`${name} disk: a missing file is DISK_MISSING, unless it is to be made; making keeps what is there`, () => {
    const { disk, root, remove } = given()
    assert.throws(() => disk.open(`${root}/a`, 'read'), { code: 'DISK_MISSING' })
    assert.throws(() => disk.open(`${root}/a`, 'write'), { code: 'DISK_MISSING' })
    assert.equal(disk.exists(`${root}/a`), false)
    const file = disk.open(`${root}/a`, 'create')
    file.write(Buffer.from('x'), 0)
    file.close()
    assert.equal(disk.exists(`${root}/a`), true)
    for (const mode of ['create', 'write', 'read'] as const) {
      const again = disk.open(`${root}/a`, mode)
      assert.equal(text(again), 'x')
      again.close()
    }
    remove()
  })

  test(`${name} disk: a file opened for reading cannot be written`, () => {
    const { disk, root, remove } = given()
    disk.open(`${root}/a`, 'create').close()
    const file = disk.open(`${root}/a`, 'read')
    assert.throws(() => file.write(Buffer.from('x'), 0), CrawlError)
    file.close()
    remove()
  })

  test(`${name} disk: names are listed sorted; renaming replaces; removing what is not there is no error`, () => {
    const { disk, root, remove } = given()
    disk.makeDirectory(`${root}/d/e`)
    disk.makeDirectory(`${root}/d/e`)
    for (const each of ['b', 'a', 'c']) {
      const file = disk.open(`${root}/d/e/${each}`, 'create')
      file.write(Buffer.from(each), 0)
      file.close()
    }
    assert.deepEqual(disk.list(`${root}/d/e`), ['a', 'b', 'c'])
    assert.deepEqual(disk.list(`${root}/none`), [])
    const reader = disk.open(`${root}/d/e/b`, 'read')
    disk.rename(`${root}/d/e/a`, `${root}/d/e/b`)
    assert.equal(text(reader), 'b', 'an open file stays what it was')
    reader.close()
    disk.remove(`${root}/d/e/c`)
    disk.remove(`${root}/d/e/c`)
    assert.deepEqual(disk.list(`${root}/d/e`), ['b'])
    assert.equal(text(disk.open(`${root}/d/e/b`, 'read')), 'a')
    assert.throws(() => disk.rename(`${root}/none`, `${root}/d/e/b`), { code: 'DISK_MISSING' })
    disk.syncDirectory(`${root}/d/e`)
    remove()
  })

  test(`${name} disk: a sync calls back once, later, without an error`, async () => {
    const { disk, root, remove } = given()
    const file = disk.open(`${root}/a`, 'create')
    file.write(Buffer.from('x'), 0)
    let calls = 0
    const error = await new Promise((resolve) => {
      file.sync((failure) => {
        calls++
        resolve(failure)
      })
      assert.equal(calls, 0)
    })
    assert.deepEqual([error, calls], [undefined, 1])
    file.syncNow()
    file.close()
    assert(disk.freeBytes(root) > 0)
    remove()
  })
}

test('real disk: what may not be opened is DISK_DENIED', { skip: process.getuid?.() === 0 }, () => {
  const { disk, root, remove } = real()
  disk.open(`${root}/a`, 'create').close()
  chmodSync(`${root}/a`, 0)
  assert.throws(() => disk.open(`${root}/a`, 'read'), { code: 'DISK_DENIED' })
  remove()
})

test('real disk: a directory that cannot be made is an error at once', { skip: process.platform !== 'linux' }, () => {
  for (const path of ['/proc/none/below', '/dev/null/below']) {
    assert.throws(
      () => nodeDisk.makeDirectory(path),
      (error) => error instanceof CrawlError && error.code.startsWith('DISK_'),
    )
  }
})

test('real disk: a device without space is DISK_FULL', { skip: process.platform !== 'linux' }, () => {
  const file = nodeDisk.open('/dev/full', 'write')
  assert.throws(() => file.write(Buffer.from('x'), 0), { code: 'DISK_FULL' })
  file.close()
})

test('simulated disk: a full one takes what fits, and then fails', () => {
  const disk = new SimulatedDisk()
  disk.budgetBytes = 10
  const file = disk.open('/d/a', 'create')
  file.write(new Uint8Array(7), 0)
  assert.throws(() => file.write(new Uint8Array(7).fill(1), 7), { code: 'DISK_FULL' })
  assert.equal(file.sizeBytes(), 10)
  file.write(new Uint8Array(10).fill(2), 0)
})

test('simulated disk: a loss of power keeps synced bytes and names, and of the rest any part', () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= 400; seed++) {
    const disk = new SimulatedDisk()
    const file = disk.open('/d/a', 'create')
    file.write(new Uint8Array(8192).fill(1), 0)
    file.syncNow()
    disk.syncDirectory('/d')
    file.write(new Uint8Array(8192).fill(2), 4096)
    disk.open('/d/b', 'create').write(new Uint8Array(3), 0)
    disk.powerLoss(seeded(seed).uint32)
    assert.throws(() => file.sizeBytes(), /dead/)
    const bytes = disk.peek('/d/a')
    assert(bytes)
    assert.deepEqual([...new Set(bytes.subarray(0, 4096))], [1])
    outcomes.add(`${bytes[4096]} ${bytes[8192]} ${disk.exists('/d/b')}`)
  }
  const expected = ['1', '2'].flatMap((second) =>
    ['undefined', '0', '2'].flatMap((third) => [`${second} ${third} false`, `${second} ${third} true`]),
  )
  assert.deepEqual([...outcomes].sort(), expected.sort())
})

test('simulated disk: truncations, renames and removals that were not synced survive or not, each on its own', () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= 400; seed++) {
    const disk = new SimulatedDisk()
    for (const name of ['a', 'b', 'c']) disk.poke(`/d/${name}`, Buffer.from(name))
    disk.open('/d/a', 'write').truncate(0)
    disk.rename('/d/b', '/d/n')
    disk.remove('/d/c')
    disk.powerLoss(seeded(seed).uint32)
    outcomes.add(`${disk.peek('/d/a')?.length} ${disk.exists('/d/b')} ${disk.exists('/d/n')} ${disk.exists('/d/c')}`)
  }
  const each = ['0', '1'].flatMap((size) =>
    ['true false', 'false true'].flatMap((rename) => [`${size} ${rename} true`, `${size} ${rename} false`]),
  )
  assert.deepEqual([...outcomes].sort(), each.sort())
})

test('simulated disk: the death of a process keeps all it wrote, and its syncs never call back', () => {
  const pending: (() => void)[] = []
  const disk = new SimulatedDisk((run) => pending.push(run))
  const file = disk.open('/d/a', 'create')
  file.write(Buffer.from('x'), 0)
  file.sync(() => assert.fail('a dead process is called back'))
  disk.processDeath()
  for (const run of pending) run()
  assert.deepEqual(disk.peek('/d/a'), new Uint8Array([120]))
  assert.throws(() => file.write(Buffer.from('x'), 1), /dead/)
})
