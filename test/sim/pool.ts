/** Runs many seeds in several processes. */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Figures } from './run.ts'
import type { SabotageName } from './sabotage.ts'

/** What a worker says: nothing once when it is ready, then one answer a seed. */
export interface Outcome {
  readonly seed: number
  readonly figures?: Figures
  readonly failure?: string
}

export interface PoolOptions {
  readonly sabotage?: SabotageName
  /** Processes; default: one per core. */
  readonly processes?: number
  /** No further seed is begun once one has failed. */
  readonly isOver?: (outcome: Outcome) => boolean
}

/** Seeds that failed once. */
export function keptSeeds(): number[] {
  const text = readFileSync(join(import.meta.dirname, 'seeds.txt'), 'utf8')
  return text
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => Number.parseInt(line, 10))
}

/** @returns an outcome for each seed that was run, in the order in which they ended */
export async function runSeeds(seeds: Iterable<number>, options: PoolOptions = {}): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const left = seeds[Symbol.iterator]()
  let isOver = false
  const next = (): number | undefined => {
    const { value, done } = isOver ? { value: undefined, done: true } : left.next()
    return done ? undefined : value
  }
  const settle = (outcome: Outcome): void => {
    outcomes.push(outcome)
    if (options.isOver?.(outcome)) isOver = true
  }
  const count = options.processes ?? availableParallelism()
  await Promise.all(Array.from({ length: count }, () => runWorker(options.sabotage, next, settle)))
  return outcomes
}

function runWorker(
  sabotage: SabotageName | undefined,
  next: () => number | undefined,
  settle: (outcome: Outcome) => void,
): Promise<void> {
  const worker = fork(join(import.meta.dirname, 'worker.ts'), sabotage === undefined ? [] : [sabotage])
  return new Promise((resolve, reject) => {
    worker.on('message', (outcome: Partial<Outcome>) => {
      if (outcome.seed !== undefined) settle(outcome as Outcome)
      sendOrEnd(worker, next())
    })
    worker.on('error', reject)
    worker.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`a process of the simulation ended with ${code ?? signal}`))
    })
  })
}

function sendOrEnd(worker: ChildProcess, seed: number | undefined): void {
  if (seed === undefined) worker.disconnect()
  else worker.send(seed)
}
