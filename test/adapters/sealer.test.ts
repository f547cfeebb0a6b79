import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeContent } from '../../src/adapters/content.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { createSealer } from '../../src/adapters/sealer.ts'
import { keyOf } from '../../src/base/md5.ts'
import type { PageRef } from '../../src/core/event.ts'
import { PAGES_LOG } from '../../src/log/pages.ts'
import { openLog } from '../../src/log/recover.ts'
import type { LogWriter } from '../../src/log/writer.ts'
import { appendPage, readPage } from '../../src/shard/pages.ts'
import { CRAWL_ID, seeded } from '../log/given.ts'

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

interface Given {
  readonly directory: string
  readonly writer: LogWriter
  readonly refs: readonly PageRef[]
  readonly bodies: readonly Buffer[]
}

/** Pages of a kilobyte and more in segments of 64 KiB: the first is sealed. */
function given(): Given {
  const directory = join(mkdtempSync(join(tmpdir(), 'sealer-')), 'pages')
  folders.push(join(directory, '..'))
  const identity = { crawlId: CRAWL_ID, shard: 0, generation: 0 }
  const start = { random: seeded(1), identity, timeMs: 1000, segmentBytesMax: 65_536 }
  const writer = openLog(nodeDisk, directory, { ...PAGES_LOG, mode: 'write' }).startWriter(start)
  const bodies = Array.from({ length: 60 }, (_, i) => Buffer.from(`<p>page ${i} `.repeat(100 + i)))
  const refs = bodies.map((body, i) => {
    const sha256 = createHash('sha256').update(body).digest('binary')
    const headers: Array<readonly [string, string]> = [['content-type', 'text/html']]
    const page = {
      key: keyOf(`http://a.test/${i}`),
      flags: 0,
      status: 200,
      sha256,
      headers,
      body,
      elsewhere: undefined,
    }
    return appendPage(writer, page, 1000 + i)
  })
  writer.write()
  writer.syncNow()
  return { directory, writer, refs, bodies }
}

function rewritten(
  sealer: ReturnType<typeof createSealer>,
  directory: string,
  number: number,
): Promise<Error | undefined> {
  return new Promise((resolve) => sealer.rewrite(directory, number, resolve))
}

function assertPages({ writer, refs, bodies }: Given): void {
  for (const [i, ref] of refs.entries()) {
    const page = readPage(writer, ref, decodeContent)
    assert.deepEqual(page && Buffer.from(page.body), bodies[i])
    assert.equal(page?.key, keyOf(`http://a.test/${i}`))
  }
}

test('a sealed segment becomes much smaller, and every page of it reads as before, in this process and the next', async () => {
  const pages = given()
  const sealer = createSealer()
  const path = join(pages.directory, '000001.val')
  const before = statSync(path).size
  assert.equal(await rewritten(sealer, pages.directory, 1), undefined)
  assert.equal(statSync(path).size, before, 'nothing changes before it is adopted')
  pages.writer.adopt(1)
  assert.ok(statSync(path).size < before / 5)
  assertPages(pages)
  pages.writer.close()
  const opened = openLog(nodeDisk, pages.directory, { ...PAGES_LOG, mode: 'read' })
  assert.deepEqual(opened.findings, [])
  assert.deepEqual(Buffer.from(readPage(opened, pages.refs[3], decodeContent)?.body ?? []), pages.bodies[3])
  await sealer.close()
})

test('a segment that cannot be rewritten is an error of ours and stays as it was, and the next is rewritten all the same', async () => {
  const pages = given()
  const sealer = createSealer()
  const path = join(pages.directory, '000001.val')
  const sound = readFileSync(path)
  const damaged = Buffer.from(sound)
  damaged[5000] ^= 1
  writeFileSync(path, damaged)
  const error = await rewritten(sealer, pages.directory, 1)
  assert.equal((error as { code?: string }).code, 'LOG_CORRUPT')
  assert.deepEqual(readFileSync(path), damaged)
  assert.deepEqual(
    readdirSync(pages.directory).filter((name) => name.endsWith('.tmp')),
    [],
  )
  assert.equal((await rewritten(sealer, join(pages.directory, 'none'), 1)) instanceof Error, true)
  writeFileSync(path, sound)
  assert.equal(await rewritten(sealer, pages.directory, 1), undefined)
  pages.writer.adopt(1)
  assertPages(pages)
  pages.writer.close()
  await sealer.close()
})

test('done is called later, never before rewrite returns, and close waits for it', async () => {
  const pages = given()
  const sealer = createSealer()
  const calls: string[] = []
  sealer.rewrite(pages.directory, 1, () => calls.push('first'))
  sealer.rewrite(pages.directory, 1, () => calls.push('second'))
  calls.push('returned')
  await sealer.close()
  assert.deepEqual(calls, ['returned', 'first', 'second'])
  pages.writer.close()
})

test('a sealer that had nothing to do closes at once', async () => {
  await createSealer().close()
})
