/** How far a long command is that works on files alone: on a terminal a line that changes, elsewhere one now and then. */

/** Commands shorter than this show nothing, milliseconds. */
const SHORT_MS = 2000
/** Elsewhere than on a terminal: a line so often, milliseconds. */
const LINE_MS = 10_000

export interface StepProgress<Step extends string> {
  readonly onProgress: (step: Step, done: number, max: number) => void
  /** Takes the line away. */
  readonly end: () => void
}

/** @param words  what is shown of each step */
export function stepProgress<Step extends string>(words: Readonly<Record<Step, string>>): StepProgress<Step> {
  const isTerminal = process.stderr.isTTY === true
  let shownMs = performance.now() + SHORT_MS - LINE_MS
  let isShown = false
  return {
    onProgress: (step, done, max) => {
      const nowMs = performance.now()
      if (nowMs - shownMs < (isTerminal && isShown ? SHORT_MS / 10 : LINE_MS)) return
      shownMs = nowMs
      isShown = true
      const line = `${words[step]} ${Math.floor((done / Math.max(1, max)) * 100)} %`
      process.stderr.write(isTerminal ? `\r${line}\x1b[K` : `crawler: ${line}\n`)
    },
    end: () => {
      if (isShown && isTerminal) process.stderr.write('\r\x1b[K')
    },
  }
}
