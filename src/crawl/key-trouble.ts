/**
 * Whether a KEY file that differs from VAL is damaged, or only as a crash, or a process at work, leaves it.
 *
 * The active segment's KEY is written after its VAL and never synced, and is made anew at every opening: it may be
 * short, or end in zeros, or (beside a running process) be ahead of what was read of VAL. A sealed segment's may not.
 */
import type { Disk } from '../env/disk.ts'
import type { Finding } from '../log/finding.ts'
import { keyName } from '../log/format.ts'
import type { OpenedLog } from '../log/opened.ts'

/** @param directory  of the log. Cost: for the active segment one read of its KEY. */
export function keyTrouble(disk: Disk, log: OpenedLog, finding: Finding, directory: string): boolean {
  if (finding.what !== 'key') return false
  const last = log.segments.at(-1)?.number
  if (finding.segment !== last) return true
  const path = `${directory}/${keyName(last)}`
  if (!disk.exists(path)) return false
  if (finding.offset >= log.key(last).byteLength) return false
  const file = disk.open(path, 'read')
  try {
    const rest = new Uint8Array(Math.max(0, file.sizeBytes() - finding.offset))
    return rest.subarray(0, file.read(rest, finding.offset)).some((byte) => byte !== 0)
  } finally {
    file.close()
  }
}
