/** A process that takes the lock of the directory it is given, says so, and holds it until it ends. */
import { acquireLock } from '../../src/adapters/lock.ts'

const [directory, socket] = process.argv.slice(2)
try {
  const lock = acquireLock(directory, socket)
  process.stdin.on('data', () => lock.release())
  process.stdout.write('held\n')
} catch (error) {
  process.stdout.write(`${(error as { code?: string }).code}\n`)
}
