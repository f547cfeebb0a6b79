/** Compresses sealed segments of pages beside the crawl: never while a page waits. */
import { type Shard, wake } from './shard-parts.ts'

/** Starts the next compression where a segment was sealed and none runs. */
export function sealNext(shard: Shard): void {
  const { sealing, pages, env } = shard
  noteSealed(shard)
  if (sealing.isRunning || sealing.waiting.length === 0 || shard.hasEnded) return
  const number = sealing.waiting.shift() as number
  const directory = pagesDirectory(shard)
  sealing.isRunning = true
  env.sealer.rewrite(directory, number, (error) => {
    sealing.isRunning = false
    if (shard.hasEnded) return
    // A segment that could not be compressed stays as it was: nothing is lost but space.
    if (error === undefined) pages.adopt(number)
    wake(shard)
  })
}

function pagesDirectory(shard: Shard): string {
  return `${shard.directory}/pages`
}

function noteSealed(shard: Shard): void {
  const { sealing, pages } = shard
  for (; sealing.next < pages.segment; sealing.next++) sealing.waiting.push(sealing.next)
}
