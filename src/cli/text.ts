/**
 * Text for terminals: control characters made visible, numbers, sizes and durations for people, columns that align.
 *
 * Invariant: what came from the web never reaches a terminal unescaped, so no page can move a cursor or set a title.
 */

/** C0 (but tab and line feed), DEL, C1, line and paragraph separators, and what reverses the direction of writing. */
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
/** The same in JSON, whose own escapes cover C0. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Several lines of text, safe to show; tabs and line feeds stay. */
export function escapeLines(text: string): string {
  return text.replace(UNSAFE, escaped)
}

/** One line of text, safe to show. */
export function escapeLine(text: string): string {
  return escapeLines(text).replace(/[\t\n]/g, escaped)
}

function escaped(character: string): string {
  const code = character.charCodeAt(0)
  return code > 0xff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\x${code.toString(16).padStart(2, '0')}`
}

/** A value as one line of JSON, safe to show. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value)
  return text.replace(UNSAFE_IN_JSON, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Takes the user and password out of URLs in a message: they are nobody's business in a log. */
export function withoutUserinfo(text: string): string {
  return text.replace(/(\b[a-z][a-z\d+.-]*:\/\/)[^\s/?#@"']*@/gi, '$1***@')
}

/** `1234567` → `1,234,567`. */
export function count(number: number): string {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 page`, `2 pages`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`
}

/** Bytes in binary units, three digits or so. */
export function bytes(number: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let unit = 0
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024
    unit++
  }
  return `${unit === 0 ? number : threeDigits(number)} ${units[unit]}`
}

/** Events per second. */
export function rate(number: number): string {
  return number >= 1000 ? count(number) : threeDigits(number)
}

function threeDigits(number: number): string {
  return number >= 100 ? number.toFixed(0) : number.toFixed(1)
}

/** Milliseconds as `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 07 min`, `3 d 04 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return pair(seconds, 60, 'min', 1, 's')
  return seconds < 86_400 ? pair(seconds, 3600, 'h', 60, 'min') : pair(seconds, 86_400, 'd', 3600, 'h')
}

function pair(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)} ${largeUnit} ${String(rest).padStart(2, '0')} ${smallUnit}`
}

/** Rows as aligned columns, two spaces between; columns in `right` are flush right. No space at the ends of lines. */
export function table(rows: ReadonlyArray<readonly string[]>, right: readonly number[] = []): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  }
  return rows.map((row) => {
    const cells = row.map((cell, i) => (right.includes(i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
    return cells.join('  ').trimEnd()
  })
}

/** Columns that text is made for. */
export const WIDTH = 80

/** Words in lines of at most `width` characters; a longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Names left and what they are right, wrapped at `WIDTH`. */
export function labelled(rows: ReadonlyArray<readonly [name: string, value: string]>): string[] {
  const nameWidth = Math.max(...rows.map(([name]) => name.length)) + 2
  return rows.flatMap(([name, value]) => {
    const lines = wrap(value, WIDTH - nameWidth)
    return lines.map((line, i) => (i === 0 ? name : '').padEnd(nameWidth) + line)
  })
}

/** At most `length` characters, the end cut and marked. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`
}

/** An argument as a shell takes it, for commands to copy. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
