import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOST, HOST_FLAG } from '../../src/core/hosts.ts'
import { createState, type State } from '../../src/core/state.ts'
import { imageBytesOf, readImage, writeImage } from '../../src/shard/image.ts'
import { seeded } from '../log/given.ts'
import { SimulatedDisk } from '../sim/disk.ts'
import { describeState } from './describe-state.ts'
import { applyStep, createHistory, type History } from './history.ts'

const PLACE = {
  shard: 3,
  generation: 2,
  position: { segment: 7, position: 4711 },
  sequence: 812,
  timeMs: 1_700_000_000_123,
}
const PATH = '/images/812.img'

function given(seed: number, events: number): History {
  const history = createHistory(seeded(seed))
  history.run(events)
  return history
}

/** The state that is read when this one was written. */
function throughImage(state: State, disk = new SimulatedDisk()): State {
  writeImage(state, disk, PATH, PLACE)
  const read = readImage(disk, PATH)
  assert.equal(read.kind, 'image')
  return (read as Extract<typeof read, { kind: 'image' }>).state
}

test('a state read from its image is the state written: digest, queues and lists in order, strings, cursors', () => {
  for (let seed = 1; seed <= 8; seed++) {
    const { state } = given(seed, 100 * seed)
    assert.deepEqual(describeState(throughImage(state)), describeState(state))
  }
})

test('histories reach what an image must hold', () => {
  const { state } = given(4, 3000)
  const described = describeState(state) as { suspects: string[]; relinks: number[]; seeds: unknown[] }
  assert.ok(described.suspects.length > 1)
  assert.ok(described.relinks.length > 4)
  assert.ok(state.waiting.count > described.suspects.length)
  assert.ok(described.seeds.length > 2)
})

test('the state of an image goes on as the one written does: the same events make the same state', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const history = given(seed, 400)
    const read = throughImage(history.state)
    const from = history.steps.length
    history.run(800)
    for (const step of history.steps.slice(from)) applyStep(read, step)
    assert.deepEqual(describeState(read), describeState(history.state))
  }
})

test('the image of a state read from an image is that image, byte for byte', () => {
  const disk = new SimulatedDisk()
  const { state } = given(5, 1000)
  writeImage(state, disk, '/images/1.img', PLACE)
  writeImage(throughImage(state), disk, '/images/2.img', PLACE)
  assert.deepEqual(disk.peek('/images/2.img'), disk.peek('/images/1.img'))
})

test('an empty state has an image', () => {
  assert.deepEqual(describeState(throughImage(createState())), describeState(createState()))
})

test('schedule is not in an image: nothing is in flight, looked up or contacted there', () => {
  const { state } = given(6, 300)
  state.hosts.set(1, HOST.inFlight, 2)
  state.hosts.setMs(1, HOST.contactMs, 12_345.5)
  state.hosts.setFlag(1, HOST_FLAG.lookingUp, true)
  const { hosts } = throughImage(state)
  assert.equal(hosts.get(1, HOST.inFlight), 0)
  assert.equal(hosts.getMs(1, HOST.contactMs), 0)
  assert.equal(hosts.hasFlag(1, HOST_FLAG.lookingUp), false)
  assert.equal(state.hosts.get(1, HOST.inFlight), 2)
})

test('addresses that nothing points to any more stay behind', () => {
  const { state } = given(7, 50)
  for (let i = 0; i < 1000; i++) state.hosts.setAddresses(1, [`192.0.2.${i % 256}`, String(i)])
  const read = throughImage(state)
  assert.deepEqual(read.hosts.addresses(1), ['192.0.2.231', '999'])
  assert.ok(read.hosts.strings.count < 100)
})

test('the facts say where the state stands and what it comes to', () => {
  const disk = new SimulatedDisk()
  const { state } = given(8, 200)
  const facts = writeImage(state, disk, PATH, PLACE)
  assert.deepEqual(facts, {
    ...PLACE,
    crawlId: state.crawlId,
    digest: state.digest.toHex(),
    bytes: disk.peek(PATH)?.length,
    checksum: facts.checksum,
  })
  const read = readImage(disk, PATH)
  assert.ok(read.kind === 'image')
  assert.deepEqual(read.facts, facts)
  const estimated = imageBytesOf(state)
  assert.ok(estimated > facts.bytes / 4 && estimated < facts.bytes * 10)
})

test('an image is durable under its name as soon as it is written, and not there before', () => {
  const disk = new SimulatedDisk()
  const random = seeded(9)
  const { state } = given(9, 200)
  writeImage(state, disk, PATH, PLACE)
  disk.powerLoss(() => random.uint32())
  assert.equal(readImage(disk, PATH).kind, 'image')
  assert.deepEqual(disk.list('/images'), ['812.img'])
})

test('a full disk costs the image and leaves nothing of it, nor harms the one before', () => {
  const disk = new SimulatedDisk()
  const { state } = given(10, 300)
  writeImage(state, disk, PATH, PLACE)
  const before = disk.peek(PATH)
  disk.budgetBytes = disk.usedBytes() + 1000
  assert.throws(() => writeImage(state, disk, PATH, PLACE), { code: 'DISK_FULL' })
  assert.deepEqual(disk.list('/images'), ['812.img'])
  assert.deepEqual(disk.peek(PATH), before)
})

test('damage is noticed wherever it is: one bit, a cut, bytes behind the end', () => {
  const disk = new SimulatedDisk()
  const { state } = given(11, 120)
  writeImage(state, disk, PATH, PLACE)
  const whole = disk.peek(PATH) as Uint8Array
  const random = seeded(11)
  const damaged = (bytes: Uint8Array) => {
    disk.poke(PATH, bytes)
    return readImage(disk, PATH)
  }
  for (let at = 0; at < whole.length; at += 1 + (random.uint32() % 2000)) {
    const bytes = whole.slice()
    bytes[at] ^= 1 << (random.uint32() % 8)
    assert.equal(damaged(bytes).kind, 'unusable', `bit at ${at}`)
    assert.equal(damaged(whole.slice(0, at)).kind, 'unusable', `cut at ${at}`)
  }
  assert.equal(damaged(Uint8Array.of(...whole, 0)).kind, 'unusable')
  assert.equal(damaged(new Uint8Array(whole.length)).kind, 'unusable')
  assert.equal(damaged(whole).kind, 'image')
})

test('parts of two images do not make a third', () => {
  const disk = new SimulatedDisk()
  const history = given(12, 120)
  writeImage(history.state, disk, '/images/1.img', PLACE)
  writeImage(history.state, disk, '/images/2.img', { ...PLACE, sequence: 813 })
  const [first, second] = ['/images/1.img', '/images/2.img'].map((path) => disk.peek(path) as Uint8Array)
  assert.equal(first.length, second.length)
  // The facts of one before the rest of the other: each part is whole by itself.
  disk.poke(PATH, Uint8Array.of(...first.subarray(0, 400), ...second.subarray(400)))
  const read = readImage(disk, PATH)
  assert.deepEqual(read, { kind: 'unusable', why: 'its parts do not belong together' })
})

test('an image of another version, and a missing one, is said to be that', () => {
  const disk = new SimulatedDisk()
  writeImage(createState(), disk, PATH, PLACE)
  const bytes = disk.peek(PATH) as Uint8Array
  bytes[4] = 9
  disk.poke(PATH, bytes)
  assert.deepEqual(readImage(disk, PATH), { kind: 'unusable', why: 'it is of version 9, not 2' })
  assert.equal(readImage(disk, '/images/1.img').kind, 'unusable')
})
