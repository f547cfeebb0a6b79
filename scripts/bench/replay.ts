/**
 * Replay from spawn to digest: `node scripts/bench/replay.ts [--items N] [--rounds N] [--dir DIR] [--keep]`.
 *
 * A log of 10 million KEY items (long-log.ts), without checkpoints, is replayed by the program itself in a process of its
 * own, checksums of KEY and digests of marks checked; once after the log's files were dropped from the page cache. Beside
 * it, from the same run, the denominators: reading the KEY files, and an empty start of Node.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { layoutOf } from '../../src/crawl/layout.ts'
import { logDirectory } from '../../src/shard/generations.ts'
import { makeLongLog } from './long-log.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts')

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '10000000' },
    rounds: { type: 'string', default: '5' },
    dir: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
})

const root = values.dir ?? mkdtempSync(join(tmpdir(), 'replay-'))
const log = makeLongLog(root, Number(values.items))
const layout = layoutOf(root)
rmSync(layout.database, { force: true })
rmSync(join(layout.shard(0), 'images'), { recursive: true, force: true })
const directory = logDirectory(layout.shard(0), 0)

/** Takes a file's pages out of the page cache, where the system has a command for it; false where not. */
function dropFromCache(path: string): boolean {
  const fd = openSync(path, 'r')
  try {
    return (
      spawnSync('dd', ['of=' + path, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']).status === 0
    )
  } finally {
    closeSync(fd)
  }
}

function timed(act: () => void): number {
  const startedMs = performance.now()
  act()
  return performance.now() - startedMs
}

function replayOnce(): number {
  return timed(() => {
    const run = spawnSync(process.execPath, [MAIN, 'replay', root, '--json'], { encoding: 'utf8' })
    if (run.status !== 0) throw new Error(run.stderr)
    const { digest } = JSON.parse(run.stdout) as { digest: string }
    if (digest !== log.digest) throw new Error('replay gives another digest')
  })
}

const median = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
const names = readdirSync(directory)
const isCold = names.map((name) => dropFromCache(join(directory, name))).every(Boolean)
const coldMs = replayOnce()
const rounds = Number(values.rounds)
const warm: number[] = []
const keys: number[] = []
const starts: number[] = []
for (let round = 0; round < rounds; round++) {
  warm.push(replayOnce())
  keys.push(
    timed(() => names.filter((name) => name.endsWith('.key')).map((name) => readFileSync(join(directory, name)))),
  )
  starts.push(timed(() => spawnSync(process.execPath, ['-e', '0'])))
}
if (!values.keep && values.dir === undefined) rmSync(root, { recursive: true, force: true })
const rateOf = (ms: number): string => `${((log.items / ms) * 1e-3).toFixed(2)} M items/s`
console.log(
  JSON.stringify({
    bench: 'replay',
    node: process.version,
    items: log.items,
    records: log.records,
    cold: isCold ? { ms: Math.round(coldMs), rate: rateOf(coldMs) } : 'not to be had here',
    warm: {
      ms: Math.round(median(warm)),
      rate: rateOf(median(warm)),
      spreadMs: [Math.min(...warm), Math.max(...warm)].map(Math.round),
    },
    readingKeyMs: Math.round(median(keys)),
    startOfNodeMs: Math.round(median(starts)),
  }),
)
