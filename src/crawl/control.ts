/**
 * The door of a running crawl: a Unix socket in DIR, one JSON request a line, one JSON answer a line.
 *
 * Requests: `{"do":"status"}`, `{"do":"add","source":N}`, `{"do":"retry",…}`, `{"do":"check","url":…}`, `{"do":"compact","keepMs":…}`. Only the owner of DIR may connect (0600).
 */

import { hash } from 'node:crypto'
import { chmodSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

/** Longest path a Unix socket may have on every system we know, bytes, with some to spare. */
const SOCKET_PATH_BYTES_MAX = 100
/** Longest request or answer, bytes. */
const LINE_BYTES_MAX = 1024 * 1024

/** DIR/sock, or a short name in the temp folder where that would be too long. */
export function socketPathOf(root: string): string {
  const path = join(resolve(root), 'sock')
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path
  return join(tmpdir(), `crawler-${hash('sha256', resolve(root), 'hex').slice(0, 16)}.sock`)
}

export type Handler = (request: Readonly<Record<string, unknown>>) => Promise<unknown>

/** Listens until `close`. Errors of a request go back as `{"error":…}`. */
export function listenForControl(path: string, handle: Handler): Promise<{ close: () => void }> {
  rmSync(path, { force: true })
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    answerLines(socket, handle)
  })
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(path, () => {
      chmodSync(path, 0o600)
      // The crawl ends when it is done, not when nobody asks any more.
      server.unref()
      done({
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
          rmSync(path, { force: true })
        },
      })
    })
  })
}

function answerLines(socket: Socket, handle: Handler): void {
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
    if (received > LINE_BYTES_MAX) socket.destroy()
  })
  const lines = createInterface({ input: socket })
  lines.on('error', () => socket.destroy())
  lines.on('line', (line) => {
    received = 0
    void answer(line, handle).then((text) => socket.writable && socket.write(`${text}\n`))
  })
}

async function answer(line: string, handle: Handler): Promise<string> {
  try {
    return JSON.stringify({ ok: await handle(JSON.parse(line) as Record<string, unknown>) })
  } catch (error) {
    return JSON.stringify({ error: error instanceof Error ? error.message : String(error) })
  }
}

/** Asks the crawl that runs in DIR; undefined where none answers. Errors: what the crawl said was wrong. */
export function askCrawl(path: string, request: Readonly<Record<string, unknown>>): Promise<unknown> {
  return new Promise((done, fail) => {
    const socket = createConnection(path)
    socket.once('error', () => done(undefined))
    socket.once('connect', () => socket.write(`${JSON.stringify(request)}\n`))
    const lines = createInterface({ input: socket })
    // readline passes its input's errors on.
    lines.once('error', () => done(undefined))
    lines.once('line', (line) => {
      socket.destroy()
      const reply = JSON.parse(line) as { ok?: unknown; error?: string }
      if (reply.error === undefined) done(reply.ok)
      else fail(new Error(reply.error))
    })
    lines.once('close', () => done(undefined))
  })
}
