/** The documentation web (scripts/bench/docs-web.sh) for one check: a port and an access log of its own. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NotedRequest } from './comparing.ts'
import { ROOT } from './program.ts'

export interface DocsWeb {
  /** File of the seeds, one a line; of all files, for `drain.mjs`. */
  readonly seedsFile: string
  readonly urlsFile: string
  readonly hosts: readonly string[]
  /** Forgets the requests so far. */
  clear(): Promise<void>
  /** All requests since, in order. */
  requests(): Promise<NotedRequest[]>
  /** Pages answered 200 since, and how many a second from the first to the last. */
  served(): { readonly pages: number; readonly pagesPerSecond?: number }
  stop(): void
}

/** nginx writes its log at least this often. */
const FLUSH_MS = 1200

/** Starts nginx. Needs root, and what docs-web.sh installs. */
export function startDocsWeb(port: number): DocsWeb {
  const directory = mkdtempSync(join(tmpdir(), 'docs-web-'))
  const script = join(ROOT, 'scripts', 'bench', 'docs-web.sh')
  const run = (command: string): string =>
    execFileSync(script, [command], {
      env: { ...process.env, DOCS_WEB_DIR: directory, PORT: String(port) },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const { seeds, urls, accessLog } = JSON.parse(run('start')) as { seeds: string; urls: string; accessLog: string }
  const seedUrls = readFileSync(seeds, 'utf8').trim().split('\n')
  return {
    seedsFile: seeds,
    urlsFile: urls,
    hosts: seedUrls.map((url) => new URL(url).hostname),
    clear: async () => {
      await sleep(FLUSH_MS)
      truncateSync(accessLog)
    },
    requests: async () => {
      await sleep(FLUSH_MS)
      const lines = readFileSync(accessLog, 'utf8').split('\n')
      return lines.filter((line) => line !== '').map((line) => requestOf(line, port))
    },
    served: () => JSON.parse(run('served')) as { pages: number; pagesPerSecond?: number },
    stop: () => {
      run('stop')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** `$msec $server_addr $status $body_bytes_sent $sent_http_content_type $request_uri`; a type may hold a blank. */
function requestOf(line: string, port: number): NotedRequest {
  const words = line.split(' ')
  return { host: `${words[1]}:${port}`, path: words[words.length - 1], status: Number(words[2]) }
}
