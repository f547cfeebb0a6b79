/**
 * A process that takes the lock of the directory it is given, says so, and holds it until it ends.
 *
 *     node lock-holder.ts DIRECTORY SOCKET [SPARE]   with a spare directory: as somebody who may do little, if it is root
 *
 * It changes its user itself, when all it needs is loaded: that user need not be able to read the repository.
 */
import { acquireLock } from '../../src/adapters/lock.ts'

const NOBODY = 65_534

const [directory, socket, spare] = process.argv.slice(2)
if (spare !== undefined && process.getuid?.() === 0) {
  acquireLock(spare, socket).release()
  process.setgid?.(NOBODY)
  process.setuid?.(NOBODY)
}
try {
  const lock = acquireLock(directory, socket)
  process.stdin.on('data', () => lock.release())
  process.stdout.write('held\n')
} catch (error) {
  process.stdout.write(`${(error as { code?: string }).code}\n`)
}
