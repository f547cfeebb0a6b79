/** A full disk: a tmpfs too small for the crawl. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { factsOfCrawl } from '../crawl-facts.ts'
import { runProgram } from '../program.ts'
import type { Hardship } from './case.ts'

export const fullDisk: Hardship = {
  title: 'full disk',
  run: async (bench) => {
    if (process.getuid?.() !== 0) return bench.skip('only root can mount a small disk')
    const disk = bench.path('disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'tmpfs', disk])
    try {
      const run = await bench.start('disk/crawl')
      bench.expectCode(run, 6, 'a crawl that fills the disk', /full/)
      const facts = factsOfCrawl(bench.path('disk/crawl'))
      bench.expect(
        facts.closes === facts.opens,
        'a `close` from the reserve, so that it is no death',
        `${facts.opens} opens, ${facts.closes} closes`,
      )
      bench.expectCode(await runProgram(['verify', bench.path('disk/crawl')]), 0, 'verify on the full disk')
      bench.expectCode(await bench.resume('disk/crawl'), 6, 'resume on the full disk', /full/)
      execFileSync('mount', ['-o', 'remount,size=64m', disk])
      bench.expectCode(await bench.resume('disk/crawl'), 0, 'resume with room again')
      await bench.expectWhole('disk/crawl')
      const deaths = [...factsOfCrawl(bench.path('disk/crawl')).urls.values()].filter((url) => url.deaths > 0)
      bench.expect(deaths.length === 0, 'no URL counts a death', `${deaths.length} do`)
      bench.expectCode(
        await bench.start('disk/second', '--min-free', '1GiB'),
        6,
        'a disk with less room than --min-free',
        /min-free/,
      )
    } finally {
      execFileSync('umount', [disk])
    }
  },
}
