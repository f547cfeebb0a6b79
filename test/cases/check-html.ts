/** How the cases of the kind `html` are checked: page bytes in, facts out. */
import assert from 'node:assert/strict'
import { extractLinks } from '../../src/html/extract-links.ts'
import type { PageFacts } from '../../src/html/facts.ts'
import { bodyOf, type Case } from './read-cases.ts'

type Expected = {
  readonly links?: readonly string[]
  readonly notLinks?: readonly string[]
  readonly nofollow?: readonly string[]
  readonly resources?: readonly string[]
  readonly notResources?: readonly string[]
  readonly canonical?: string
  readonly refresh?: string | null
  readonly encoding?: string
  readonly title?: string
  readonly robotsMeta?: object
  readonly oneOf?: readonly Partial<Expected & { outcome: string }>[]
}

export function checkHtml({ input, expected }: Case): void {
  const headers: [string, string][] = input.contentType === undefined ? [] : [['Content-Type', input.contentType]]
  const facts = extractLinks(bodyOf(input), headers, input.url, { resources: true })
  checkFacts(facts, expected, input.url)
  // Alternatives that name an outcome are for whoever stores pages.
  const alternatives = ((expected as Expected).oneOf ?? []).filter((one) => one.outcome === undefined)
  if (alternatives.length > 0) assert.ok(alternatives.some((one) => holds(facts, one, input.url)))
}

function holds(facts: PageFacts, expected: Expected, url: string): boolean {
  try {
    checkFacts(facts, expected, url)
    return true
  } catch {
    return false
  }
}

function checkFacts(facts: PageFacts, expected: Expected, url: string): void {
  const followed = facts.links.filter((link) => !link.nofollow).map((link) => link.url)
  const nofollow = facts.links.filter((link) => link.nofollow).map((link) => link.url)
  const shown = [...facts.resources, ...facts.links.filter((link) => link.kind === 'frame').map((link) => link.url)]
  for (const link of expected.links ?? []) assert.ok(followed.includes(link), `${link} is missing: ${followed}`)
  for (const link of expected.notLinks ?? []) assert.ok(!followed.includes(link) && link !== url, `${link} is followed`)
  for (const link of expected.nofollow ?? []) assert.ok(nofollow.includes(link), `${link} is not marked`)
  for (const link of expected.resources ?? []) assert.ok(shown.includes(link), `${link} is missing: ${shown}`)
  for (const link of expected.notResources ?? []) assert.ok(!shown.includes(link), `${link} is shown`)
  if (expected.canonical !== undefined) assert.equal(facts.canonical, expected.canonical)
  if (expected.refresh !== undefined) assert.equal(facts.refresh?.url ?? null, expected.refresh)
  if (expected.encoding !== undefined) assert.equal(facts.encoding, expected.encoding)
  if (expected.title !== undefined) assert.equal(facts.title, expected.title)
  if (expected.robotsMeta !== undefined) assert.deepEqual(facts.robots, expected.robotsMeta)
}
