/** The program itself, run as a user runs it, and small sites on loopback for it to crawl. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

export interface Running {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when standard error has said something that matches. */
  said(pattern: RegExp): Promise<void>
}

/** Starts the program; the test ends it with `ended` or a signal. */
export function startCrawler(args: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...options.env } })
  let stdout = ''
  let stderr = ''
  const listeners: Array<() => void> = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    for (const listener of listeners) listener()
  })
  child.stdin.end(options.stdin ?? '')
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (pattern.test(stderr)) resolve()
      }
      listeners.push(look)
      look()
    })
  return { process: child, ended, said }
}

export function crawler(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startCrawler(args, options).ended
}

/** What a command printed as JSON, a value per line. */
export function linesOf(ended: Ended): Array<Record<string, unknown>> {
  return ended.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** A new directory name in the temp folder, gone after the test. */
export function newDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'crawler-cli-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'crawl')
}

export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The answer is kept back until this resolves. */
  readonly after?: Promise<void>
}

export interface Site {
  readonly origin: string
  readonly host: string
  /** Paths asked for, in order. */
  readonly asked: readonly string[]
}

/** Serves pages by path (with query) on 127.0.0.1; everything else is 404, robots.txt too. */
export async function serve(t: TestContext, pages: Readonly<Record<string, Answer | string>>): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request, response) => void answer(request, response, pages, asked))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, asked }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  pages: Readonly<Record<string, Answer | string>>,
  asked: string[],
): Promise<void> {
  const path = request.url ?? '/'
  asked.push(path)
  const found = pages[path] ?? { status: 404, body: 'no such page' }
  const { status = 200, headers = {}, body = '', after } = typeof found === 'string' ? { body: found } : found
  await after
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers })
  response.end(body)
}

/** A page with links. */
export function linking(...hrefs: readonly string[]): string {
  return `<!doctype html><title>A page</title><p>Hello</p>${hrefs.map((href) => `<a href="${href}">${href}</a>`).join('\n')}`
}

/** Options that make a crawl quick. */
export const QUICK = ['--delay', '0', '--retries', '0', '--min-free', '0'] as const
