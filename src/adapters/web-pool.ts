/** The idle connections of a `Web`: found by origin, closed when there are too many or they are too old. */
import type { Connection } from './web-connection.ts'

/**
 * The idle connections.
 *
 * Invariant: holds usable connections only, each once; a host without one costs nothing here.
 * Cost: O(1), but for the idle connections of one origin, which are few. Nothing is allocated but a list per origin.
 */
export class IdlePool {
  size = 0
  private readonly byOrigin = new Map<string, Connection[]>()
  // Linked through the connections, oldest first: a Set would rebuild itself every few thousand requests.
  private oldest: Connection | null = null
  private newest: Connection | null = null

  /** The one last used: the likeliest to be still open at the other end. */
  take(origin: string, address: string): Connection | undefined {
    const same = this.byOrigin.get(origin)
    if (same === undefined) return undefined
    const at = same.findLastIndex((connection) => connection.address === address)
    if (at === -1) return undefined
    const connection = same[at]
    this.removeAt(same, at)
    return connection
  }

  put(connection: Connection): void {
    const same = this.byOrigin.get(connection.origin)
    if (same === undefined) this.byOrigin.set(connection.origin, [connection])
    else same.push(connection)
    connection.older = this.newest
    if (this.newest === null) this.oldest = connection
    else this.newest.newer = connection
    this.newest = connection
    this.size++
  }

  /** No error where it is not here. */
  remove(connection: Connection): void {
    const same = this.byOrigin.get(connection.origin)
    const at = same === undefined ? -1 : same.lastIndexOf(connection)
    if (same !== undefined && at !== -1) this.removeAt(same, at)
  }

  /** Closes the one idle for longest, if there is one. */
  dropOldest(): void {
    const { oldest } = this
    if (oldest === null) return
    this.remove(oldest)
    oldest.drop()
  }

  private removeAt(same: Connection[], at: number): void {
    const connection = same[at]
    if (same.length === 1) this.byOrigin.delete(connection.origin)
    else same.splice(at, 1)
    const { older, newer } = connection
    if (older === null) this.oldest = newer
    else older.newer = newer
    if (newer === null) this.newest = older
    else newer.older = older
    connection.older = null
    connection.newer = null
    this.size--
  }
}
