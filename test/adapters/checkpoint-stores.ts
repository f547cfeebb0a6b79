/** The suite of `env/checkpoints.ts`: what every store of checkpoints does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Checkpoint, CheckpointStore } from '../../src/env/checkpoints.ts'

export function checkpointAt(sequence: number, segment: number, position: number, shard = 0): Checkpoint {
  return {
    shard,
    segment,
    position,
    sequence,
    timeMs: 1_700_000_000_000 + sequence,
    digest: '00112233445566778899aabbccddeeff',
    path: `images/${sequence}.img`,
    bytes: 2 ** 33 + sequence,
    checksum: 0xfedcba98,
    createdMs: 1_700_000_001_000,
  }
}

/** @param open a store without checkpoints, new each time */
export function testCheckpointStore(name: string, open: () => CheckpointStore): void {
  const given = (...checkpoints: Checkpoint[]): CheckpointStore => {
    const store = open()
    for (const checkpoint of checkpoints) store.addCheckpoint(checkpoint)
    return store
  }
  const [first, second, third] = [checkpointAt(10, 1, 500), checkpointAt(20, 1, 900), checkpointAt(30, 2, 96)]
  const elsewhere = checkpointAt(25, 1, 800, 1)

  test(`${name}: the newest checkpoint of a shard is the one with the greatest number, as it was added`, () => {
    const store = given(second, third, first, elsewhere)
    assert.deepEqual({ ...store.newestCheckpoint(0) }, third)
    assert.deepEqual({ ...store.newestCheckpoint(1) }, elsewhere)
    assert.equal(store.newestCheckpoint(2), undefined)
  })

  test(`${name}: those at or before a place come newest first`, () => {
    const store = given(first, second, third, elsewhere)
    const numbers = (segment: number, position: number) =>
      store.checkpointsBefore(0, segment, position).map((checkpoint) => checkpoint.sequence)
    assert.deepEqual(numbers(2, 96), [30, 20, 10])
    assert.deepEqual(numbers(2, 95), [20, 10])
    assert.deepEqual(numbers(1, 899), [10])
    assert.deepEqual(numbers(1, 0), [])
  })

  test(`${name}: one of the same shard and number replaces the one before`, () => {
    const store = given(first, { ...first, bytes: 7 })
    assert.deepEqual(
      store.checkpointsBefore(0, 9, 0).map((checkpoint) => checkpoint.bytes),
      [7],
    )
  })

  test(`${name}: one that is dropped is gone, and its neighbours are not`, () => {
    const store = given(first, second, { ...elsewhere, sequence: 20 })
    store.dropCheckpoint(0, 20)
    store.dropCheckpoint(0, 99)
    assert.equal(store.newestCheckpoint(0)?.sequence, 10)
    assert.equal(store.newestCheckpoint(1)?.sequence, 20)
  })

  test(`${name}: those that know more than the log are out of use, until one of their number is made again`, () => {
    const store = given(first, second, third, elsewhere)
    assert.equal(store.setAsideBeyond(0, 1, 899), 2)
    assert.equal(store.setAsideBeyond(0, 1, 899), 0)
    assert.equal(store.newestCheckpoint(0)?.sequence, 10)
    assert.equal(store.newestCheckpoint(1)?.sequence, 25)
    store.addCheckpoint(second)
    assert.deepEqual({ ...store.newestCheckpoint(0) }, second)
  })

  test(`${name}: pruning forgets what is not kept and what is set aside, and names their images`, () => {
    const store = given(first, second, third, elsewhere)
    store.setAsideBeyond(0, 1, 900)
    assert.deepEqual(store.prune(0, new Set([20, 30])).sort(), ['images/10.img', 'images/30.img'])
    assert.deepEqual(
      store.checkpointsBefore(0, 9, 0).map((checkpoint) => checkpoint.sequence),
      [20],
    )
    assert.equal(store.newestCheckpoint(1)?.sequence, 25)
  })
}
