/** The demo web in a process of its own, as a crawl that is killed needs it: it lives on and remembers every request. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type ExpectedUrl, walk } from '../demo/expected.ts'
import { buildSites } from '../demo/site.ts'
import type { LoggedRequest } from '../demo/web.ts'
import { ROOT } from './program.ts'

export interface WebSizes {
  readonly seed: string
  readonly pages: number
  readonly hosts: number
}

export interface ServedWeb {
  readonly port: number
  /** One request a line, as JSON, while it runs. */
  readonly logFile: string
  readonly seeds: readonly string[]
  /** What a crawl from all seeds must come to. */
  readonly expected: readonly ExpectedUrl[]
  /** Ends the process. @returns all requests it got, in order */
  stop(): Promise<LoggedRequest[]>
}

/** @param port  0 = any; the bytes of the pages depend on it */
export async function serveDemoWeb(sizes: WebSizes, logFile: string, port = 0): Promise<ServedWeb> {
  const { seed, pages, hosts } = sizes
  const script = join(ROOT, 'scripts', 'demo', 'web.ts')
  const options = ['--seed', seed, '--pages', String(pages), '--hosts', String(hosts), '--port', String(port)]
  const child: ChildProcess = spawn(process.execPath, [script, ...options, '--log', logFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.stdout === null) throw new Error('the web has no stdout')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const told = JSON.parse(line) as { port: number; seeds: string[] }
  const origins = told.seeds.map((url) => url.replace(/\/$/, ''))
  return {
    ...told,
    logFile,
    expected: walk(buildSites(sizes), origins),
    stop: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      const lines = readFileSync(logFile, 'utf8').split('\n')
      return lines.filter((text) => text !== '').map((text) => JSON.parse(text) as LoggedRequest)
    },
  }
}
