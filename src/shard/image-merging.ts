/**
 * The large tables of a state, of which a checkpoint being built holds only a part: the entries that the log behind the
 * image before speaks of. They are picked out as that image is read; as the next is written they are merged into what it
 * has, one partition at a time.
 *
 * Invariant: the image is byte for byte the one that the whole table would have given. No entry is ever removed from
 * these tables, or a merge could not tell.
 */
import { CrawlError } from '../base/errors.ts'
import type { ReadImage, WriteImage } from '../tables/image.ts'
import { OrderedTable } from '../tables/ordered.ts'

/**
 * Fills a table with those entries of an image that `wanted` has a key of.
 *
 * @returns false where the image is damaged. Cost: one pass over the image; memory for one partition beside the table.
 */
export function readWanted(table: OrderedTable, wanted: OrderedTable, read: ReadImage): boolean {
  const piece = new OrderedTable({ valueWords: table.valueWords })
  if (!piece.readHeader(read)) return false
  for (let partition = 0; partition < piece.partitionCount; partition++) {
    if (!piece.readPartition(partition, read)) return false
    wanted.forEachOf(partition, (key) => copyEntry(wanted, key, piece, table))
    piece.clearPartition(partition)
  }
  return true
}

function copyEntry(wanted: OrderedTable, key: number, from: OrderedTable, into: OrderedTable): void {
  const [k0, k1, k2, k3] = [
    wanted.keyWord(key, 0),
    wanted.keyWord(key, 1),
    wanted.keyWord(key, 2),
    wanted.keyWord(key, 3),
  ]
  const found = from.find(k0, k1, k2, k3)
  if (found < 0) return
  copyValues(from, found, into, into.insert(k0, k1, k2, k3))
}

/**
 * Writes the image of a table: what the image before has, with the table's entries in their place and added.
 *
 * Errors: DISK_FAILED where the image before, which was read already, cannot be read any more.
 * Cost: one pass over both images; memory for one partition beside the table.
 */
export function writeMerged(table: OrderedTable, readBefore: ReadImage, write: WriteImage): void {
  const piece = new OrderedTable({ valueWords: table.valueWords })
  if (!piece.readHeader(readBefore)) throw changed()
  piece.writeHeader(write)
  for (let partition = 0; partition < piece.partitionCount; partition++) {
    if (!piece.readPartition(partition, readBefore)) throw changed()
    table.forEachOf(partition, (entry) => {
      const [k0, k1, k2, k3] = [
        table.keyWord(entry, 0),
        table.keyWord(entry, 1),
        table.keyWord(entry, 2),
        table.keyWord(entry, 3),
      ]
      copyValues(table, entry, piece, piece.insert(k0, k1, k2, k3))
    })
    piece.writePartition(partition, write)
    piece.clearPartition(partition)
  }
}

function copyValues(from: OrderedTable, source: number, into: OrderedTable, target: number): void {
  for (let i = 0; i < from.valueWords; i++) into.setWord(target, i, from.word(source, i))
}

function changed(): CrawlError {
  return new CrawlError('DISK_FAILED', 'the image of the checkpoint before changed while it was read')
}
