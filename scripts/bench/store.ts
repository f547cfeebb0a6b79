/**
 * What the bare store does, beside what its parts cost in the same run. Prints one line of JSON.
 *
 *   node scripts/bench/store.ts [keys, default 2,000,000] [directory, default a new one under the temp folder]
 *
 * Every figure stands beside its denominator: the loop that only asks Node for the md5 of each URL, the same
 * bytes written raw and synced, the same checks asked of a JS Set. `perSecond` is by the clock; `perCpuSecond` by the processor time of this
 * process, all its threads: what an idle machine would show at the least, where others compete for this one.
 */
import assert from 'node:assert'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nodeDisk } from '../../src/adapters/disk.ts'
import { type Key, keyOf, word } from '../../src/base/md5.ts'
import type { Disk, File } from '../../src/env/disk.ts'
import { Store } from '../../src/log/store.ts'

const COUNT = Number(process.argv[2] ?? 2_000_000)
const DIRECTORY = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'bench-store-'))
const URL_LENGTH = 75
/** Puts between two turns of the event loop, so that syncs can return. */
const PUTS_PER_TURN = 1000
const GETS = 20_000
/** A step that visits all indexes in an order unrelated to that of the puts. */
const STRIDE = 1_000_003
const RECORD_BYTES = 20 + 16 + URL_LENGTH
const BATCH_BYTES = 256 * 1024

const counters = { reads: 0, syncs: 0 }

function urlOf(i: number): string {
  return `https://host-${i % 5003}.example.org/a/path/of/some/length/and/a/page/${i}?q=`.padEnd(URL_LENGTH, 'x')
}

/** URLs as a scanner gives them: flat strings, not ropes, made before the clock runs. */
function urlsFrom(first: number): string[] {
  return Array.from({ length: PUTS_PER_TURN }, (_, i) => Buffer.from(urlOf(first + i), 'latin1').toString('latin1'))
}

/** The real disk, with reads and syncs counted at the door. */
const countingDisk: Disk = { ...nodeDisk, open: (path, mode) => counted(nodeDisk.open(path, mode)) }

function counted(file: File): File {
  return {
    path: file.path,
    sizeBytes: () => file.sizeBytes(),
    read: (target, position) => {
      counters.reads++
      return file.read(target, position)
    },
    write: (source, position) => file.write(source, position),
    truncate: (sizeBytes) => file.truncate(sizeBytes),
    sync: (done) => {
      counters.syncs++
      file.sync(done)
    },
    syncNow: () => {
      counters.syncs++
      file.syncNow()
    },
    close: () => file.close(),
  }
}

function openStore(): Store {
  return new Store({
    disk: countingDisk,
    directory: join(DIRECTORY, 'store'),
    clock: { wallMs: () => Date.now() },
    random: { uint32: () => randomInt(2 ** 32) },
  })
}

interface Rate {
  readonly perSecond: number
  readonly perCpuSecond: number
}

interface Start {
  readonly atMs: number
  readonly cpu: NodeJS.CpuUsage
}

function startNow(): Start {
  return { atMs: performance.now(), cpu: process.cpuUsage() }
}

function rate(count: number, start: Start): Rate {
  const { user, system } = process.cpuUsage(start.cpu)
  const seconds = (performance.now() - start.atMs) / 1000
  return { perSecond: Math.round(count / seconds), perCpuSecond: Math.round((count * 1e6) / (user + system)) }
}

function residentMiB(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return Math.round(process.memoryUsage.rss() / 2 ** 20)
}

/** Work done in slices, each on URLs that are made beforehand: `perSecond` is of the slices alone. */
async function overUrls(work: (url: string) => void, finish: () => Promise<void>): Promise<Rate> {
  const spent = { ms: 0, cpuUs: 0 }
  async function timed(slice: () => void | Promise<void>): Promise<void> {
    const { atMs, cpu } = startNow()
    await slice()
    const { user, system } = process.cpuUsage(cpu)
    spent.ms += performance.now() - atMs
    spent.cpuUs += user + system
  }
  for (let first = 0; first < COUNT; first += PUTS_PER_TURN) {
    const urls = urlsFrom(first)
    await timed(async () => {
      for (const url of urls) work(url)
      await nextTurn()
    })
  }
  await timed(finish)
  return {
    perSecond: Math.round((COUNT * 1000) / spent.ms),
    perCpuSecond: Math.round((COUNT * 1e6) / spent.cpuUs),
  }
}

/** md5 of every URL by Node's own hash. */
async function nativeMd5(): Promise<Rate> {
  let sum = 0
  const made = await overUrls(
    (url) => {
      sum += keyOf(url).charCodeAt(3)
    },
    async () => {},
  )
  assert(sum > 0)
  return made
}

/** The bytes of the puts, VAL and KEY, in the store's batches, then synced. */
function rawWrites(): Rate {
  const files = ['raw.val', 'raw.key'].map((name) => nodeDisk.open(join(DIRECTORY, name), 'create'))
  const batch = Buffer.alloc(BATCH_BYTES, 'x')
  const start = startNow()
  for (const [i, bytes] of [COUNT * RECORD_BYTES, COUNT * 24].entries()) {
    for (let at = 0; at < bytes; at += BATCH_BYTES) files[i].write(batch, at)
    files[i].syncNow()
    files[i].close()
  }
  return rate(COUNT, start)
}

function syncedPuts(store: Store): Promise<Rate> {
  return overUrls(
    (url) => store.put(url, url),
    () => store.sync(),
  )
}

function wordsOf(first: number): Uint32Array {
  const words = new Uint32Array(COUNT * 4)
  for (let i = 0; i < COUNT; i++) {
    const key = keyOf(urlOf(first + i))
    for (let w = 0; w < 4; w++) words[i * 4 + w] = word(key, w)
  }
  return words
}

function checksByWords(store: Store, words: Uint32Array, expected: number): Rate {
  const start = startNow()
  let found = 0
  for (let n = 0, i = 0; n < COUNT; n++, i = (i + STRIDE) % COUNT) {
    const at = i * 4
    if (store.hasWords(words[at], words[at + 1], words[at + 2], words[at + 3])) found++
  }
  const checked = rate(COUNT, start)
  if (found !== expected) throw new Error(`${found} found, not ${expected}`)
  return checked
}

function checksByKey(has: (key: Key) => boolean, keys: readonly Key[]): Rate {
  const start = startNow()
  let found = 0
  for (let n = 0, i = 0; n < keys.length; n++, i = (i + STRIDE) % keys.length) if (has(keys[i])) found++
  if (found === 0) throw new Error('none found')
  return rate(keys.length, start)
}

function gets(store: Store): Rate & { readsPerGet: number } {
  const before = counters.reads
  const start = startNow()
  for (let n = 0; n < GETS; n++) {
    const url = urlOf((n * STRIDE) % COUNT)
    if (store.get(url)?.toString('latin1') !== url) throw new Error(`wrong value of ${url}`)
  }
  return { ...rate(GETS, start), readsPerGet: (counters.reads - before) / GETS }
}

function randomKeys(store: Store): Rate {
  const start = startNow()
  for (let i = 0; i < COUNT; i++) if (store.randomKey() === undefined) throw new Error('empty')
  return rate(COUNT, start)
}

async function deletes(store: Store, keys: readonly Key[]): Promise<Rate> {
  const start = startNow()
  for (const [i, key] of keys.entries()) {
    if (!store.deleteKey(key)) throw new Error('not there')
    if (i % PUTS_PER_TURN === 0) await nextTurn()
  }
  await store.sync()
  return rate(keys.length, start)
}

const rssBefore = residentMiB()
const store = openStore()
const puts = {
  nativeMd5: await nativeMd5(),
  rawWrites: rawWrites(),
  syncedPuts: await syncedPuts(store),
  syncs: counters.syncs,
}
const rssAfter = residentMiB()
const hit = checksByWords(store, wordsOf(0), COUNT)
const miss = checksByWords(store, wordsOf(COUNT), 0)
const got = gets(store)
const random = randomKeys(store)
store.close()
const openStart = startNow()
const reopened = openStore()
const openRate = rate(COUNT, openStart)
const gotAfterOpening = gets(reopened)
const keys = Array.from({ length: COUNT >> 1 }, (_, i) => keyOf(urlOf((i * STRIDE) % COUNT)))
const set = new Set(keys)
const checks = {
  hit,
  miss,
  byString: checksByKey((key) => reopened.hasKey(key), keys),
  set: checksByKey((key) => set.has(key), keys),
}
const deleted = await deletes(reopened, keys)
reopened.close()
rmSync(DIRECTORY, { recursive: true, force: true })
console.log(
  JSON.stringify({
    keys: COUNT,
    puts,
    checks,
    gets: got,
    getsAfterOpening: gotAfterOpening,
    randomKeys: random,
    deletes: deleted,
    openKeys: openRate,
    memory: {
      rssBeforeMiB: rssBefore,
      rssAfterPutsMiB: rssAfter,
      tableBytesPerKey: Math.round(reopened.tableBytes / COUNT),
    },
    node: process.version,
  }),
)
