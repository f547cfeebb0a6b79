/**
 * Durations and sizes as people write them, in flags, files and environment alike.
 *
 * Durations: `250` or `250ms`, `2s`, `5m`, `12h`. Sizes: `4096` (bytes), `64KiB`, `16MiB`, `1GiB`. A number may have a
 * fraction (`1.5s`); the result is a whole number of milliseconds or bytes.
 */

/** What is right, for messages. */
export const DURATION_FORM = 'a duration such as 250, 250ms, 2s, 5m or 12h'
export const SIZE_FORM = 'a size such as 4096 (bytes), 64KiB, 16MiB or 1GiB'

const MS_PER_UNIT: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const BYTES_PER_UNIT: Readonly<Record<string, number>> = { '': 1, b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 }

/** Milliseconds of a duration; undefined where it is none. A bare number is milliseconds. */
export function parseDurationMs(text: string | number): number | undefined {
  return parseQuantity(String(text), MS_PER_UNIT)
}

/** Bytes of a size; undefined where it is none. A bare number is bytes; units have no case. */
export function parseSizeBytes(text: string | number): number | undefined {
  return parseQuantity(String(text).toLowerCase(), BYTES_PER_UNIT)
}

function parseQuantity(text: string, perUnit: Readonly<Record<string, number>>): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text)
  if (match === null || !Object.hasOwn(perUnit, match[2])) return undefined
  const quantity = Math.round(Number(match[1]) * perUnit[match[2]])
  return Number.isSafeInteger(quantity) ? quantity : undefined
}
