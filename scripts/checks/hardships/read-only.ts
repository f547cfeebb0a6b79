/** A DIR that may only be read: readers work, writers say what is wrong. */
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../program.ts'
import type { Hardship } from './case.ts'

const NOBODY = 65_534
/** As a user who owns nothing here; without capabilities, so that modes count. */
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--']

export const readOnly: Hardship = {
  title: 'read-only DIR',
  run: async (bench) => {
    const isRoot = process.getuid?.() === 0
    bench.expectCode(await bench.start('crawl', '--max-pages', '40'), 3, 'a crawl with work left')
    const dir = bench.path('crawl')
    chmodAll(bench.folder, isRoot)
    const options = isRoot ? { before: AS_NOBODY } : {}
    const before = listing(dir)
    for (const args of [['status'], ['verify'], ['urls'], ['replay'], ['explain', bench.web.seeds[0]]]) {
      bench.expectCode(await runProgram([...args, dir], options), 0, args[0])
    }
    bench.expectCode(await runProgram(['get', bench.web.seeds[0], dir, '--title'], options), 0, 'get')
    bench.expectCode(await runProgram(['resume', dir], options), 1, 'resume', /permission|EACCES/i)
    const inside = ['start', bench.web.seeds[0], '--dir', join(dir, 'new')]
    bench.expectCode(await runProgram(inside, options), 1, 'start where nothing may be made', /permission|EACCES/i)
    bench.expect(listing(dir) === before, 'no file has changed', listing(dir) === before ? 'none has' : 'some have')
    chmodAll(bench.folder, isRoot, 0o755, 0o644)
  },
}

function chmodAll(directory: string, isRoot: boolean, directoryMode = 0o555, fileMode = 0o444): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (isRoot) chownSync(path, 0, 0)
    chmodSync(path, entry.isDirectory() ? directoryMode : fileMode)
  }
  chmodSync(directory, 0o755)
}

function listing(directory: string): string {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return names
    .map((name) => `${name} ${statSync(join(directory, name)).size} ${statSync(join(directory, name)).mtimeMs}`)
    .join('\n')
}
