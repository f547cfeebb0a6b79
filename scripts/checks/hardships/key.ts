/** KEY files that are missing, short or damaged: all in them comes from VAL. */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../program.ts'
import type { Hardship } from './case.ts'

export const key: Hardship = {
  title: 'missing KEY',
  run: async (bench) => {
    process.env.CRAWLER_SEGMENT_BYTES = '56000'
    bench.expectCode(await bench.start('begun', '--max-pages', '190'), 3, 'a crawl of several segments with work left')
    const before = await bench.status('begun')
    const damages: Record<string, (path: string) => void> = {
      'all KEY files missing': (path) => rmSync(path),
      'all KEY files short': (path) => truncateSync(path, 30),
      'a byte of every KEY file flipped': (path) => {
        const bytes = readFileSync(path)
        if (bytes.length > 0) bytes[bytes.length >> 1] ^= 0x10
        writeFileSync(path, bytes)
      },
    }
    for (const [what, damage] of Object.entries(damages)) {
      const name = what.replaceAll(' ', '-')
      const dir = bench.path(name)
      cpSync(bench.path('begun'), dir, { recursive: true })
      // Without checkpoints, so that a replay reads all of the log.
      rmSync(join(dir, 'crawl.db'))
      for (const path of keyFiles(dir)) damage(path)
      const replayed = await runProgram(['replay', dir, '--json'])
      const { digest } = JSON.parse(replayed.stdout) as { digest: string }
      bench.expect(digest === before.digest, `${what}: replay gives the same digest`, digest)
      bench.expect(/KEY/.test(replayed.stderr), `${what}: replay says so`, replayed.stderr)
      bench.expectCode(await runProgram(['verify', dir]), 4, `${what}: verify names them`, /KEY differs/)
      bench.expectCode(await runProgram(['get', bench.web.seeds[0], dir, '--title']), 0, `${what}: get`)
      bench.expectCode(await bench.resume(name, '--max-pages', 'none'), 0, `${what}: resume`)
      await bench.expectWhole(name)
    }
    delete process.env.CRAWLER_SEGMENT_BYTES
  },
}

function keyFiles(dir: string): string[] {
  return ['log', 'pages'].flatMap((log) => {
    const folder = join(dir, 'shards', '0', log)
    return readdirSync(folder)
      .filter((name) => name.endsWith('.key'))
      .map((name) => join(folder, name))
  })
}
