/**
 * Whether a KEY file that differs from VAL is damaged, or only as a crash, or a process at work, leaves it.
 *
 * The active segment's KEY is written after its VAL and never synced, and is made anew at every opening: it may be
 * short, or end in zeros, or (beside a running process) be ahead of what was read of VAL. A sealed segment's may not.
 */
import type { Disk } from '../env/disk.ts'
import type { Finding } from '../log/finding.ts'
import { keyName } from '../log/format.ts'
import { contradictsVal } from '../log/lagging-key.ts'
import type { OpenedLog } from '../log/opened.ts'

/** @param directory  of the log. Cost: for the active segment one read of its KEY. */
export function keyTrouble(disk: Disk, log: OpenedLog, finding: Finding, directory: string): boolean {
  if (finding.what !== 'key') return false
  const last = log.segments.at(-1)?.number
  if (finding.segment !== last) return true
  const path = `${directory}/${keyName(last)}`
  if (!disk.exists(path)) return false
  const words = log.key(last)
  const expected = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
  const file = disk.open(path, 'read')
  try {
    const found = new Uint8Array(file.sizeBytes())
    return contradictsVal(found.subarray(0, file.read(found, 0)), expected)
  } finally {
    file.close()
  }
}
