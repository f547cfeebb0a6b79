/** SQLite lost, torn or something else: it costs time only. */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hardship } from './case.ts'

export const sqlite: Hardship = {
  title: 'lost or torn SQLite',
  run: async (bench) => {
    bench.expectCode(await bench.start('begun', '--max-pages', '60'), 3, 'a crawl with work left and a checkpoint')
    const before = await bench.status('begun')
    const damages: Record<string, (path: string) => void> = {
      'crawl.db lost': (dir) => rmSync(join(dir, 'crawl.db')),
      'crawl.db empty': (dir) => truncateSync(join(dir, 'crawl.db')),
      'crawl.db cut in the middle': (dir) => truncateSync(join(dir, 'crawl.db'), 5000),
      'crawl.db overwritten': (dir) => writeFileSync(join(dir, 'crawl.db'), 'this is no database '.repeat(1000)),
      'crawl.db with a page of zeros': (dir) => {
        const bytes = readFileSync(join(dir, 'crawl.db'))
        writeFileSync(join(dir, 'crawl.db'), bytes.fill(0, 4096, 8192))
      },
      'lock.db overwritten': (dir) => writeFileSync(join(dir, 'lock.db'), 'this is no database '.repeat(1000)),
      'images lost': (dir) => rmSync(join(dir, 'shards', '0', 'images'), { recursive: true }),
    }
    for (const [what, damage] of Object.entries(damages)) {
      const name = what.replaceAll(' ', '-')
      cpSync(bench.path('begun'), bench.path(name), { recursive: true })
      damage(bench.path(name))
      const { digest } = await bench.status(name)
      bench.expect(digest === before.digest, `${what}: status gives the same digest`, digest)
      bench.expectCode(await bench.resume(name, '--max-pages', 'none'), 0, `${what}: resume`)
      await bench.expectWhole(name)
      rmSync(bench.path(name), { recursive: true })
    }
  },
}
