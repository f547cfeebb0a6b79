/** The cases of `data/cases.jsonl` as data: see `data/README.md` for what the fields mean. */
import { readFileSync } from 'node:fs'

type Part = { readonly s?: string; readonly b64?: string; readonly n?: number }

export type CaseInput = {
  readonly kind: string
  readonly url: string
  readonly contentType?: string
  readonly body?: string
  readonly bodyB64?: string
  readonly parts?: readonly Part[]
  readonly [field: string]: unknown
}

export type Case = {
  readonly id: string
  readonly topic: string
  readonly symptom: string
  readonly input: CaseInput
  readonly expected: Readonly<Record<string, unknown>>
}

const FILE = new URL('./data/cases.jsonl', import.meta.url)

/** All cases of a topic, in the order of the file. */
export function casesOf(topic: string): Case[] {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Case).filter((each) => each.topic === topic)
}

/** The bytes of an input's body, in whichever of its three spellings. */
export function bodyOf(input: CaseInput): Buffer {
  if (input.bodyB64 !== undefined) return Buffer.from(input.bodyB64, 'base64')
  if (input.parts === undefined) return Buffer.from(input.body ?? '')
  return Buffer.concat(input.parts.flatMap((part) => Array(part.n ?? 1).fill(bytesOf(part)) as Buffer[]))
}

function bytesOf(part: Part): Buffer {
  return part.b64 === undefined ? Buffer.from(part.s ?? '') : Buffer.from(part.b64, 'base64')
}
