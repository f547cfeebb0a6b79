/** A file of zeros in a log's directory, removed when the disk is full, so that the log's last record still fits. */
import { CrawlError } from '../base/errors.ts'
import type { LogFiles } from './files.ts'

const RESERVE_NAME = 'reserve'

/** Keeps `sizeBytes` aside. A disk too full for it is found out soon enough: no error here. */
export function fillReserve(files: LogFiles, sizeBytes: number): void {
  const file = files.disk.open(files.path(RESERVE_NAME), 'create')
  try {
    if (file.sizeBytes() < sizeBytes) file.write(new Uint8Array(sizeBytes), 0)
  } catch (error) {
    if (!(error instanceof CrawlError)) throw error
  } finally {
    file.close()
  }
}

/** Its space is free once the directory is synced. */
export function releaseReserve(files: LogFiles): void {
  files.disk.remove(files.path(RESERVE_NAME))
}
