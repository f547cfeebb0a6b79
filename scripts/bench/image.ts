/**
 * What an image of a shard's state costs to write and to read.
 *
 *   node scripts/bench/image.ts [URLS] [HOSTS] [FOLDER]
 *
 * Time is CPU time, which other work on the machine disturbs least; `raw` is a plain read of the same file. Defaults:
 * 10,000,000 URLs, 200,000 hosts, the temp folder, which should not be in memory.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { HOST } from '../../src/core/hosts.ts'
import { createState, packUrl, type State, URL_STATE } from '../../src/core/state.ts'
import { readImage, writeImage } from '../../src/shard/image.ts'

const ROUNDS = 5
const PLACE = { shard: 0, generation: 0, position: { segment: 1, position: 96 }, sequence: 1, timeMs: 1 }

let seed = 88_172_645
function random(): number {
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return seed >>> 0
}

function given(urlCount: number, hostCount: number): State {
  const state = createState()
  for (let i = 0; i < urlCount; i++) {
    const handle = state.urls.insert(random(), random(), random(), random())
    state.urls.setWord(handle, 0, random())
    state.urls.setWord(handle, 1, packUrl(i % 65_536, 3, 0, URL_STATE.pending))
    if (i % 4 === 0) state.contents.insert(random(), random(), random(), random())
  }
  for (let i = 0; i < hostCount; i++) addHost(state, i)
  return state
}

/** A host with a name, an address, up to seven bulks, and every fourth with a URL that waits. */
function addHost({ hosts, queues, waiting }: State, i: number): void {
  const id = hosts.ensure(random(), random(), random(), random())
  hosts.setName(id, `www.host${i}.example`)
  hosts.setAddresses(id, ['192.0.2.1'])
  for (let bulk = 0; bulk < i % 8; bulk++) {
    queues.pushTail(hosts.wordsOf(id), hosts.rowOf(id) + HOST.queue, random(), random())
  }
  if (i % 4 === 0) waiting.add(hosts, id, random(), random(), random(), random(), 1, 0, 1_700_000_000_000 + random())
}

function cpuMs(act: () => void): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const [urlCount = 10_000_000, hostCount = 200_000] = process.argv.slice(2, 4).map(Number)
const folder = mkdtempSync(join(process.argv[4] ?? tmpdir(), 'image-'))
const path = join(folder, '1.img')
const state = given(urlCount, hostCount)
for (let round = 0; round < ROUNDS; round++) {
  let bytes = 0
  const writeMs = cpuMs(() => {
    bytes = writeImage(state, nodeDisk, path, PLACE).bytes
  })
  const rawMs = cpuMs(() => readFileSync(path))
  const readMs = cpuMs(() => {
    if (readImage(nodeDisk, path).kind !== 'image') throw new Error('the image cannot be read')
  })
  const speed = (ms: number) => `${Math.round(ms)} ms ${Math.round(bytes / ms / 1000)} MB/s`
  console.log(`${(bytes / 1e6).toFixed(0)} MB  write ${speed(writeMs)}  read ${speed(readMs)}  raw ${speed(rawMs)}`)
}
rmSync(folder, { recursive: true })
