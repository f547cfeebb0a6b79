/** Instants as people write them: ISO 8601 (UTC without a zone), epoch milliseconds, or `@` and record numbers. */
import type { Until } from '../crawl/reading.ts'
import { usageError } from './errors.ts'

const FORM =
  'It must be a time such as 2026-05-01T12:00:00.5Z (UTC without a zone), epoch milliseconds, or @ and a record number.'
const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?(?:Z|([+-])(\d\d):?(\d\d)?)?$/i
/** @param shardCount  record numbers there must be: one a shard. Errors: USAGE. */
export function parseUntil(text: string, shardCount: number): Until {
  const trimmed = text.trim()
  if (trimmed.startsWith('@')) return sequenceOf(trimmed, shardCount)
  const timeMs = parseInstant(trimmed)
  if (timeMs === undefined) throw usageError(`--until is ${JSON.stringify(text)}, which is no instant.`, FORM)
  return { kind: 'time', timeMs }
}

/** Milliseconds since 1970 of an instant; undefined where it is none. */
export function parseInstant(text: string): number | undefined {
  const trimmed = text.trim()
  return /^\d{1,15}$/.test(trimmed) ? Number(trimmed) : isoMs(trimmed)
}

function sequenceOf(text: string, shardCount: number): Until {
  const numbers = /^@\d{1,15}(?:,\d{1,15})*$/.test(text) ? text.slice(1).split(',').map(Number) : []
  if (numbers.length === 0) throw usageError(`--until is ${JSON.stringify(text)}, which is no record number.`, FORM)
  if (numbers.length !== shardCount) {
    throw usageError(
      `--until has ${numbers.length} record numbers; this crawl has ${shardCount} shard${shardCount === 1 ? '' : 's'}.`,
      'Name one for each.',
    )
  }
  return { kind: 'sequence', sequence: numbers[0] }
}

/** Milliseconds since 1970 of a time in ISO 8601; digits beyond milliseconds are dropped. Undefined where it is none. */
function isoMs(text: string): number | undefined {
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0))
  const ms = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const utcMs = Date.UTC(year, month - 1, day, hour, minute, second, ms)
  const date = new Date(utcMs)
  // Date.UTC counts on where a field is too large: 30 February would be 2 March.
  const isReal =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
  if (!isReal) return undefined
  const zoneMinutes = match[8] === undefined ? 0 : Number(match[9]) * 60 + Number(match[10] ?? 0)
  return utcMs - (match[8] === '-' ? -1 : 1) * zoneMinutes * 60_000
}
