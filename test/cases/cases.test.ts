/**
 * What crawlers met in the wild: every case of `data/cases.jsonl` whose topic has a check here is a test.
 *
 * A topic is added by one line in `CHECK_BY_TOPIC`. A case that is believed to be wrong is listed with the section of the
 * standard that says so; at most two in a hundred may be.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHtml } from './check-html.ts'
import { checkResolve, checkSame } from './check-url.ts'
import { type Case, casesOf } from './read-cases.ts'

const CHECK_BY_TOPIC: Readonly<Record<string, (each: Case) => void | Promise<void>>> = {
  'url-resolve': checkResolve,
  'url-normalise': checkSame,
  html: checkHtml,
  charset: checkHtml,
}

/** Case id → section of the standard that contradicts it. */
const BELIEVED_WRONG: Readonly<Record<string, string>> = {}

let count = 0

for (const [topic, check] of Object.entries(CHECK_BY_TOPIC)) {
  for (const each of casesOf(topic)) {
    count++
    const contradicted = BELIEVED_WRONG[each.id]
    const options = contradicted === undefined ? {} : { skip: contradicted }
    test(`${topic}: ${each.id} (met as: ${each.symptom})`, options, () => check(each))
  }
}

test('at most two cases in a hundred are believed wrong, each with its section', () => {
  assert.ok(Object.keys(BELIEVED_WRONG).length <= (count * 2) / 100)
})
