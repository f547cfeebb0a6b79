/**
 * Errors of sockets, TLS and undici in the crawler's words. Pure; the one place that knows foreign error codes.
 */

import type { TroubleClass } from '../env/web.ts'

/** How far a connection had come when the error struck. */
export type Stage = 'connecting' | 'handshake' | 'waiting' | 'body'

const CLASS_OF_CODE: Readonly<Record<string, TroubleClass>> = {
  ECONNREFUSED: 'connect.refused',
  ECONNRESET: 'connect.reset',
  ECONNABORTED: 'connect.reset',
  EPIPE: 'connect.reset',
  EHOSTUNREACH: 'connect.unreachable',
  EHOSTDOWN: 'connect.unreachable',
  ENETUNREACH: 'connect.unreachable',
  ENETDOWN: 'connect.unreachable',
  EADDRNOTAVAIL: 'connect.unreachable',
  EAFNOSUPPORT: 'connect.unreachable',
  EACCES: 'connect.unreachable',
  EPERM: 'connect.unreachable',
  EINVAL: 'connect.unreachable',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls.invalid',
  UND_ERR_HEADERS_OVERFLOW: 'http.headers-too-large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'http.malformed',
  UND_ERR_INVALID_ARG: 'http.malformed',
}

/** The machine ran out of sockets or memory for them: no fault of the host, and it passes. */
const SHORTAGES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** Ends of a body that look like a server that stopped early, rather than a broken message or line. */
const PREMATURE_ENDS: ReadonlySet<string> = new Set(['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_SOCKET'])

/** The class of an error that ended a request. Anything unknown while connecting is `connect.unreachable`. */
export function troubleClass(error: Error, stage: Stage): TroubleClass {
  const code = codeOf(error)
  if (isParserError(error)) return 'http.malformed'
  const known = CLASS_OF_CODE[code]
  if (known === 'connect.reset' || known === 'timeout') return known
  // Certificates fail with some thirty codes of OpenSSL; what they share is the stage.
  if (stage === 'handshake' || /^ERR_(TLS|SSL)_/.test(code)) return 'tls.invalid'
  if (known !== undefined) return known
  if (code === 'UND_ERR_SOCKET') return isBadAnswer(error) ? 'http.malformed' : 'connect.reset'
  return stage === 'connecting' ? 'connect.unreachable' : 'connect.reset'
}

/** Whether the body merely ended too soon: what came of it is worth keeping. A reset is not: another try may get all. */
export function isPrematureEnd(error: Error): boolean {
  if (isParserError(error)) return /\bEOF\b/.test(error.message)
  return PREMATURE_ENDS.has(codeOf(error)) && !isBadAnswer(error)
}

export function isShortage(error: Error): boolean {
  return SHORTAGES.has(codeOf(error))
}

/** One line for people: the code, where the message has it not, and no control characters. */
export function troubleMessage(error: Error): string {
  const code = codeOf(error)
  // OpenSSL's own lines: number:error:number:library:function:reason:file:line.
  const plain = error.message.replace(/^[0-9A-F]+:error:[0-9A-F]+:([^:]*):[^:]*:([^:]*):.*/s, '$1: $2')
  const text = plain
    .replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
    .trim()
    .slice(0, MESSAGE_LENGTH_MAX)
  return code === '' || text.includes(code) ? text : `${text} (${code})`
}

const MESSAGE_LENGTH_MAX = 200

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

// By name: undici 8 leaves the code (`HPE_…`) of these undefined.
function isParserError(error: Error): boolean {
  return error.name === 'HTTPParserError'
}

// undici's words for an answer out of turn and for a switch of protocols nobody asked for.
function isBadAnswer(error: Error): boolean {
  return error.message === 'bad response' || error.message === 'bad upgrade'
}
