/** The thread that builds checkpoints, on files of a real crawl. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createCheckpointer } from '../../src/adapters/checkpointer.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import type { CheckpointBuild, CheckpointJob } from '../../src/env/checkpointer.ts'
import { loadFirstOf } from '../../src/shard/checkpoint.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { crawl } from '../shard/small-crawl.ts'

/** A small crawl's files in a folder, and the job of a checkpoint behind its last mark. */
function given(t: TestContext): { readonly job: CheckpointJob; readonly digest: string } {
  const origin = 'http://a.test'
  const pages = { [`${origin}/`]: { body: '<a href="/one">1</a><a href="/two">2</a>' } }
  const { shard, disk } = crawl({ pages, seeds: [`${origin}/`] })
  const directory = mkdtempSync(join(tmpdir(), 'checkpointer-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  for (const half of ['log', 'pages']) {
    for (const name of disk.list(`/crawl/${half}`)) {
      const path = join(directory, half, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, disk.peek(`/crawl/${half}/${name}`) as Uint8Array)
    }
  }
  const digest = shard.state.digest.toHex()
  const { segment, position } = shard.events.synced
  const sequence = shard.events.sequence - 1
  const mark = { shard: 0, generation: 0, segment, position, sequence, timeMs: shard.clock.lastRecordMs, digest }
  return { job: { directory, mark, known: [] }, digest }
}

function built(checkpointer: ReturnType<typeof createCheckpointer>, job: CheckpointJob): Promise<CheckpointBuild> {
  return new Promise((resolve) => {
    checkpointer.build(job, (result) => {
      resolve(result)
      return []
    })
  })
}

test('a thread builds the checkpoint at a mark and ends; another builds the next from it', async (t) => {
  const { job, digest } = given(t)
  const checkpointer = createCheckpointer()
  const first = await built(checkpointer, job)
  assert.equal(first.kind, 'built')
  assert.ok(first.kind === 'built' && first.items > 0)
  const row = { ...first.checkpoint, createdMs: 1 }
  const { events } = openShardLogs(nodeDisk, job.directory, 'read')
  const loaded = loadFirstOf([row], nodeDisk, job.directory, events, assert.fail)
  assert.equal(loaded?.state.digest.toHex(), digest)
  const second = await built(checkpointer, { ...job, known: [row] })
  assert.ok(second.kind === 'built' && second.items === 0)
  assert.deepEqual(second.checkpoint, first.checkpoint)
  await checkpointer.close()
})

test('files that are superfluous then are removed by the thread', async (t) => {
  const { job } = given(t)
  const checkpointer = createCheckpointer()
  const path = join(job.directory, 'old.img')
  writeFileSync(path, 'old')
  await new Promise<void>((resolve) => {
    checkpointer.build(job, () => {
      resolve()
      return [path, join(job.directory, 'never.img')]
    })
  })
  while (existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 5))
  await checkpointer.close()
})

test('what the thread cannot do is told: a missing log, another digest, a job that makes it die', async (t) => {
  const { job } = given(t)
  const checkpointer = createCheckpointer()
  assert.equal((await built(checkpointer, { ...job, directory: join(job.directory, 'none') })).kind, 'failed')
  const other = { ...job, mark: { ...job.mark, digest: '00'.repeat(16) } }
  assert.equal((await built(checkpointer, other)).kind, 'differs')
  const died = await built(checkpointer, { ...job, known: undefined as unknown as [] })
  assert.ok(died.kind === 'failed' && died.why !== '')
  assert.equal((await built(checkpointer, job)).kind, 'built')
  await checkpointer.close()
})

test('done is called later, and after close not at all', async (t) => {
  const { job } = given(t)
  const checkpointer = createCheckpointer()
  let calls = 0
  checkpointer.build(job, () => {
    calls++
    return []
  })
  assert.equal(calls, 0)
  await checkpointer.close()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(calls, 0)
})
