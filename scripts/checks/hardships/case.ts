/** What the hardships have in common: a small web, a folder, and a way to say what was expected and what was seen. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Status } from '../../../src/crawl/status.ts'
import { compareWithModel, urlsOf } from '../comparing.ts'
import { type Run, runProgram } from '../program.ts'
import type { ServedWeb } from '../served-web.ts'

export interface Hardship {
  readonly title: string
  run(bench: Bench): Promise<void>
}

/** Options under which the demo web is crawled in a second or two. */
export const FAST = ['--delay', '5ms', '--delay-max', '50ms', '--min-free', '0']

export class Bench {
  readonly web: ServedWeb
  /** Empty, this hardship's own. */
  readonly folder: string
  readonly wrong: string[]

  constructor(web: ServedWeb, folder: string, wrong: string[]) {
    this.web = web
    this.folder = folder
    this.wrong = wrong
    mkdirSync(folder, { recursive: true })
  }

  expect(isRight: boolean, expected: string, seen: string): void {
    console.log(
      `  ${isRight ? 'ok   ' : 'WRONG'} expected ${expected}; seen: ${seen.trim().replaceAll('\n', ' | ').slice(0, 300)}`,
    )
    if (!isRight) this.wrong.push(expected)
  }

  skip(why: string): void {
    console.log(`  skipped: ${why}`)
  }

  expectCode(run: Run, code: number, what: string, pattern = /^/): void {
    const text = `${run.stdout}${run.stderr}`
    this.expect(
      run.code === code && pattern.test(text),
      `${what}: exit ${code} ${pattern.source}`,
      `exit ${run.code} ${text}`,
    )
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  /** A crawl of the web into `name`. */
  start(name: string, ...options: string[]): Promise<Run> {
    return runProgram(['start', ...this.web.seeds, '--dir', this.path(name), '--quiet', ...FAST, ...options])
  }

  resume(name: string, ...options: string[]): Promise<Run> {
    return runProgram(['resume', this.path(name), '--quiet', ...options])
  }

  async status(name: string): Promise<Status> {
    return JSON.parse((await runProgram(['status', this.path(name), '--json'])).stdout) as Status
  }

  /** The crawl came to its end, whole and right. */
  async expectWhole(name: string): Promise<void> {
    this.expectCode(await runProgram(['verify', this.path(name)]), 0, 'verify afterwards')
    const strange = compareWithModel(await urlsOf(this.path(name)), this.web.expected)
    this.expect(
      strange.length === 0,
      'each URL ends as in the model',
      strange.length === 0 ? 'all do' : strange.slice(0, 3).join(' '),
    )
  }
}
