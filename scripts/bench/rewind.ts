/**
 * A rewind to a random instant: `node scripts/bench/rewind.ts [--items N] [--instants N] [--dir DIR]`.
 *
 * A log of 10 million KEY items with checkpoints at doubling distances (long-log.ts; DIR may hold one already) is read as
 * of random instants, as `replay --until` reads it: logs opened, cut found, checkpoint read, tail applied, totals. Beside
 * each, from the same run, its denominator: reading the image of the checkpoint before it, and applying its tail. Each
 * instant runs in a process of its own, so that none finds another's code compiled.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openCrawlDb } from '../../src/adapters/crawl-db.ts'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { createState } from '../../src/core/state.ts'
import { layoutOf } from '../../src/crawl/layout.ts'
import { closeLogs, crawlIn, readCrawl, type Until } from '../../src/crawl/reading.ts'
import { readImage } from '../../src/shard/image.ts'
import { openShardLogs } from '../../src/shard/opening.ts'
import { replay } from '../../src/shard/replay.ts'
import { makeLongLog } from './long-log.ts'

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '10000000' },
    instants: { type: 'string', default: '15' },
    dir: { type: 'string' },
    /** Of a child: the one instant, and which half of the measurement. */
    at: { type: 'string' },
    part: { type: 'string' },
  },
})

interface Part {
  readonly ms: number
  readonly cpuMs: number
  readonly items: number
  readonly imageBytes: number
}

function measured(act: () => Omit<Part, 'ms' | 'cpuMs'>): Part {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const facts = act()
  const { user, system } = process.cpuUsage(before)
  return { ms: performance.now() - startedMs, cpuMs: (user + system) / 1000, ...facts }
}

/** What `replay --until` does, but for the start of the program. */
function rewind(root: string, until: Until): Part {
  const layout = layoutOf(root)
  return measured(() => {
    crawlIn(nodeDisk, layout)
    const past = readCrawl(nodeDisk, layout, until)
    closeLogs(past.logs)
    return { items: past.items, imageBytes: 0 }
  })
}

/** The image before an instant, and the tail behind it; the logs are open and the cut is known. */
function imageAndTail(root: string, until: Until): Part {
  const layout = layoutOf(root)
  const { store } = openCrawlDb(layout.database, 'read')
  const { cut } = readCutOnly(root, until)
  const { events } = openShardLogs(nodeDisk, layout.shard(0), 'read')
  const [checkpoint] = store.checkpointsBefore(0, cut.segment, cut.position)
  const last = events.segments.at(-1)?.number
  if (cut.segment === last) events.key(last)
  return measured(() => {
    const image = checkpoint && readImage(nodeDisk, join(layout.shard(0), checkpoint.path))
    const state = image?.kind === 'image' ? image.state : createState()
    const { items } = replay(
      state,
      events,
      checkpoint === undefined ? { until: cut } : { from: checkpoint, until: cut },
    )
    return { items, imageBytes: checkpoint?.bytes ?? 0 }
  })
}

function readCutOnly(root: string, until: Until) {
  const past = readCrawl(nodeDisk, layoutOf(root), until)
  closeLogs(past.logs)
  return { cut: past.cut.position }
}

function inChild(root: string, timeMs: number, part: string): Part {
  const args = ['--dir', root, '--at', String(timeMs), '--part', part]
  const run = spawnSync(process.execPath, [import.meta.filename, ...args], { encoding: 'utf8' })
  if (run.status !== 0) throw new Error(run.stderr)
  return JSON.parse(run.stdout) as Part
}

const median = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]

function main(): void {
  const root = values.dir ?? mkdtempSync(join(tmpdir(), 'rewind-'))
  const isThere = nodeDisk.exists(layoutOf(root).manifest)
  if (!isThere) makeLongLog(root, Number(values.items))
  const { events } = openShardLogs(nodeDisk, layoutOf(root).shard(0), 'read')
  const firstMs = events.segments[0].header.timeMs
  const lastMs = events.lastTimeMs
  const rows: Array<{ whole: Part; part: Part }> = []
  for (let i = 0; i < Number(values.instants); i++) {
    const timeMs = Math.floor(firstMs + Math.random() * (lastMs - firstMs))
    rows.push({ whole: inChild(root, timeMs, 'whole'), part: inChild(root, timeMs, 'image-and-tail') })
    const { whole, part } = rows[i]
    const times = `${whole.ms.toFixed(0)} ms against ${part.ms.toFixed(0)} ms`
    console.error(
      `${new Date(timeMs).toISOString()} ${times}, tail ${whole.items} items, image ${part.imageBytes} bytes`,
    )
  }
  if (values.dir === undefined) rmSync(root, { recursive: true, force: true })
  const ratios = rows.map(({ whole, part }) => whole.ms / part.ms)
  console.log(
    JSON.stringify({
      bench: 'rewind',
      node: process.version,
      instants: rows.length,
      wholeMs: Math.round(median(rows.map(({ whole }) => whole.ms))),
      imageAndTailMs: Math.round(median(rows.map(({ part }) => part.ms))),
      ratio: +median(ratios).toFixed(2),
      ratioMax: +Math.max(...ratios).toFixed(2),
      cpuRatio: +median(rows.map(({ whole, part }) => whole.cpuMs / part.cpuMs)).toFixed(2),
    }),
  )
}

if (values.at === undefined) main()
else {
  const until: Until = { kind: 'time', timeMs: Number(values.at) }
  const root = values.dir as string
  console.log(JSON.stringify(values.part === 'whole' ? rewind(root, until) : imageAndTail(root, until)))
}
