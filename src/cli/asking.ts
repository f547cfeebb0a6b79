/** Asking the process that crawls in a directory, through its socket. */
import { askCrawl, socketPathOf } from '../crawl/control.ts'
import { usageError } from './errors.ts'

/** Longest wait for an answer, milliseconds: a retry of a million URLs takes its time. */
const ANSWER_MS_MAX = 600_000
/** Longest wait for figures. */
const FIGURES_MS_MAX = 15_000

/**
 * @returns what the crawl answered; undefined where none runs. Errors: USAGE where it refuses or does not answer.
 */
export async function ask(root: string, request: Readonly<Record<string, unknown>>): Promise<unknown> {
  const ms = request.do === 'status' || request.do === 'report' ? FIGURES_MS_MAX : ANSWER_MS_MAX
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no answer within ${ms / 1000} s`)), ms)
  })
  try {
    return await Promise.race([askCrawl(socketPathOf(root), request), late])
  } catch (error) {
    throw usageError(
      `The crawl that runs in ${root} says: ${(error as Error).message}.`,
      'Look at its output, or stop it and try again.',
    )
  } finally {
    clearTimeout(timer)
  }
}
