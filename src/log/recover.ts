/**
 * Opening a log: what is there, what counts, and where it goes on. FORMAT.md has the table of verdicts.
 *
 * `openLog` changes nothing on disk. A writer of two logs (events and pages) looks at both first, agrees on where to
 * cut, and then calls `cut` and `startWriter`, which end with everything accepted synced.
 */
import assert from 'node:assert'
import type { Disk } from '../env/disk.ts'
import { LogFiles, type Segment } from './files.ts'
import { type Finding, refuse } from './finding.ts'
import { NOWHERE } from './format.ts'
import { chainSegments, type FoundSegment, listSegments } from './list.ts'
import { OpenedLog, scanTail, type Tail } from './opened.ts'
import type { OpenOptions } from './options.ts'
import { isRewritten } from './segment.ts'
import { judgeTail, laterWitness, NO_WITNESS, type Verdict, type Witness } from './verdict.ts'

/**
 * Opens a log. An empty or missing directory, or one whose first `segment` record is torn, is an empty log.
 *
 * Errors: LOG_CORRUPT (with segment, offset and length of the damage), LOG_NEWER, DISK_DENIED, DISK_FAILED.
 * Cost: one read of 96 bytes a segment, and a scan of the last one (at most 64 MiB: well under a second).
 */
export function openLog(disk: Disk, directory: string, options: OpenOptions): OpenedLog {
  const files = new LogFiles(disk, directory, options.role)
  const findings: Finding[] = []
  const report = (finding: Finding) => {
    if (options.mode !== 'verify') refuse(finding, directory)
    findings.push(finding)
  }
  const { found, leftovers } = listSegments(disk, directory, options.accepts ?? (() => true))
  const promised: Witness = { synced: options.promised ?? NOWHERE, sequence: 0 }
  const verdicts: Verdict[] = []
  const whole = dropTornSegments(files, found, promised, verdicts, report)
  chainSegments(files, whole, report)
  const tail = judgeLast(files, options, promised, verdicts, report)
  findings.push(...verdicts.filter((verdict) => verdict.what !== 'corrupt'))
  const cuts = found.slice(whole.length).map((segment) => segment.number)
  return new OpenedLog({ files, options, tail, verdicts, findings, leftovers, cuts })
}

/** Takes off segments at the end whose `segment` record is bad: a death while rolling, unless witnesses say otherwise. */
function dropTornSegments(
  files: LogFiles,
  found: readonly FoundSegment[],
  promised: Witness,
  verdicts: Verdict[],
  report: (finding: Finding) => void,
): readonly FoundSegment[] {
  let count = found.length
  while (count > 0 && found[count - 1].header === undefined) {
    const { number, valBytes } = found[count - 1]
    const tail = { segment: number, offset: 0, sizeBytes: valBytes, salt: undefined, sequence: 0 }
    addVerdict(judgeTail(files, tail, promised), verdicts, report)
    files.forget(number)
    count--
  }
  return found.slice(0, count)
}

function addVerdict(verdict: Verdict | undefined, verdicts: Verdict[], report: (finding: Finding) => void): void {
  if (verdict === undefined) return
  verdicts.unshift(verdict)
  if (verdict.what === 'corrupt') report(verdict)
}

function judgeLast(
  files: LogFiles,
  options: OpenOptions,
  promised: Witness,
  verdicts: Verdict[],
  report: (finding: Finding) => void,
): Tail | undefined {
  const last = files.last
  if (last === undefined) {
    if (promised.synced.segment > 0 && verdicts.length === 0) verdicts.push(allLost(promised))
    return undefined
  }
  const sizeBytes = last.valBytes
  const tail = scanTail(files, last, sizeBytes, options)
  const marked: Witness =
    tail.lastMark === undefined
      ? NO_WITNESS
      : { synced: tail.lastMark.mark.synced, sequence: tail.lastMark.mark.sequence }
  const bad = {
    segment: last.number,
    offset: tail.end,
    sizeBytes,
    salt: last.header.salt,
    sequence: tail.sequence,
  }
  addVerdict(judgeTail(files, bad, laterWitness(asRewritten(promised, last), marked)), verdicts, report)
  last.valBytes = tail.end
  assert(last.key === undefined)
  return tail
}

/**
 * A segment that was rewritten was synced whole, and says how long it is; places in it that were told of before are none
 * of its new VAL.
 */
function asRewritten(witness: Witness, { number, header }: Segment): Witness {
  if (!isRewritten(header) || witness.synced.segment > number) return witness
  return { ...witness, synced: { segment: number, position: header.ownValBytes } }
}

function allLost(promised: Witness): Verdict {
  const { segment } = promised.synced
  const message = `No segment is left of a log that had been synced up to segment ${segment}.`
  return { what: 'syncedLost', segment: 1, offset: 0, bytes: 0, message, records: 0 }
}
