/** Two processes that want the same DIR. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readOwner } from '../../../src/adapters/lock.ts'
import { runProgram, startProgram } from '../program.ts'
import type { Hardship } from './case.ts'

export const owners: Hardship = {
  title: 'two owners',
  run: async (bench) => {
    const dir = bench.path('crawl')
    const first = startProgram([
      'start',
      ...bench.web.seeds,
      '--dir',
      dir,
      '--quiet',
      '--delay',
      '2s',
      '--min-free',
      '0',
    ])
    while (readOwner(dir)?.pid !== first.pid && !first.hasEnded()) await sleep(10)
    await sleep(1000)
    const pid = new RegExp(String(first.pid))
    bench.expectCode(await bench.resume('crawl'), 5, 'resume beside a running crawl names its process', pid)
    bench.expectCode(await bench.start('crawl'), 5, 'start beside a running crawl names its process', pid)
    bench.expectCode(await runProgram(['status', dir]), 0, 'status beside it asks that process', pid)
    for (const command of ['verify', 'urls', 'replay']) {
      bench.expectCode(await runProgram([command, dir]), 0, `${command} beside it needs no lock`)
    }
    bench.expect(!first.hasEnded(), 'the first is not disturbed', first.hasEnded() ? 'it has ended' : 'it runs')
    first.child.kill('SIGKILL')
    await first.ended
    const options = ['--delay', '5ms', '--delay-max', '50ms']
    bench.expectCode(
      await bench.resume('crawl', ...options),
      0,
      'resume right after SIGKILL: the lock died with its owner',
    )
    await bench.expectWhole('crawl')
    bench.expectCode(await bench.start('crawl'), 1, 'start in a DIR that holds a crawl names resume', /resume/)
  },
}
