/** A log that was damaged, seen through the program: exit codes, and the place named. any-byte.ts tries every place. */
import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../program.ts'
import type { Hardship } from './case.ts'

export const damage: Hardship = {
  title: 'damaged log',
  run: async (bench) => {
    bench.expectCode(await bench.start('begun', '--max-pages', '100'), 3, 'a crawl with work left')
    const copy = (name: string, log: 'log' | 'pages'): { readonly dir: string; readonly val: string } => {
      const dir = bench.path(name)
      cpSync(bench.path('begun'), dir, { recursive: true })
      const folder = join(dir, 'shards', '0', log)
      const names = readdirSync(folder).filter((file) => file.endsWith('.val'))
      return { dir, val: join(folder, names[names.length - 1]) }
    }

    const torn = copy('torn', 'log')
    writeFileSync(torn.val, Buffer.alloc(5000), { flag: 'a' })
    bench.expectCode(await runProgram(['verify', torn.dir]), 0, 'zeros behind the end: verify notes them', /torn/)
    bench.expectCode(await runProgram(['replay', torn.dir]), 0, 'zeros behind the end: replay', /torn/)
    bench.expectCode(
      await bench.resume('torn', '--max-pages', 'none'),
      0,
      'zeros behind the end: resume cuts them',
      /cut/,
    )
    await bench.expectWhole('torn')

    const short = copy('short', 'log')
    truncateSync(short.val, readFileSync(short.val).length - 3000)
    bench.expectCode(await runProgram(['verify', short.dir]), 4, 'the end is missing: verify', /lost/)
    bench.expectCode(
      await bench.resume('short', '--max-pages', 'none'),
      0,
      'the end is missing: resume warns and goes on',
      /lost/,
    )
    await bench.expectWhole('short')

    for (const log of ['log', 'pages'] as const) {
      const flipped = copy(`flipped ${log}`, log)
      const bytes = readFileSync(flipped.val)
      bytes[bytes.length >> 1] ^= 1
      writeFileSync(flipped.val, bytes)
      const place = /Segment \d+: damaged record at offset \d+/
      bench.expectCode(await runProgram(['verify', flipped.dir]), 4, `a bit of ${log} is flipped: verify`, /offset \d+/)
      bench.expectCode(await runProgram(['replay', flipped.dir]), 4, `a bit of ${log} is flipped: replay`, place)
      bench.expectCode(await bench.resume(`flipped ${log}`), 4, `a bit of ${log} is flipped: resume`, place)
    }
  },
}
