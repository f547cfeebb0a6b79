/** How the demo speaks: numbered steps, lines of at most 80 columns, a progress line that a terminal rewrites. */
import { styleText } from 'node:util'

const WIDTH = 80
const BAR_CELLS = 30
/** Between two progress lines where the output is no terminal. */
const LINE_MS = 2000

const isTerminal = process.stdout.isTTY === true
let steps = 0

export function step(title: string): void {
  steps++
  console.log(`\n${styleText('bold', `${steps}. ${title}`)}`)
}

/** A paragraph, set in and wrapped. */
export function say(text: string): void {
  for (const line of wrapped(text, WIDTH - 3)) console.log(`   ${line}`)
}

/** A command as one would type it; what is too long is shortened. */
export function command(text: string): void {
  const line = text.length > WIDTH - 6 ? `${text.slice(0, WIDTH - 7)}…` : text
  console.log(`   ${styleText('cyan', `$ ${line}`)}`)
}

/** Output of a program, as it is: it knows the width itself. */
export function quote(text: string): void {
  for (const line of text.trimEnd().split('\n')) console.log(styleText('dim', line))
}

/** Rows of a name and what is to say of it. */
export function table(rows: ReadonlyArray<readonly [string, string]>): void {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  for (const [name, text] of rows) {
    const lines = wrapped(text, WIDTH - 3 - width)
    for (const [i, line] of lines.entries()) console.log(`   ${(i === 0 ? name : '').padEnd(width)}${line}`)
  }
}

export class Progress {
  readonly #wholeCount: number
  #shownMs = Number.NEGATIVE_INFINITY
  #last = ''

  constructor(wholeCount: number) {
    this.#wholeCount = wholeCount
  }

  /** Shows how far it is; without a terminal only now and then. */
  show(count: number, text: string): void {
    const cells = Math.min(BAR_CELLS, Math.round((count / this.#wholeCount) * BAR_CELLS))
    this.#last = `   [${'#'.repeat(cells)}${'.'.repeat(BAR_CELLS - cells)}] ${text}`.slice(0, WIDTH - 1)
    if (isTerminal) process.stdout.write(`\r\x1b[K${this.#last}`)
    else if (performance.now() - this.#shownMs >= LINE_MS) {
      console.log(this.#last)
      this.#shownMs = performance.now()
    }
  }

  /** Leaves the last state standing. */
  end(): void {
    if (isTerminal) process.stdout.write('\n')
    else console.log(this.#last)
  }
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1]
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}
