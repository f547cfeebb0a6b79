/** Made-up prose from a small vocabulary: enough to read like a page, all of it in latin1. */
import type { Chance } from './random.ts'

const NOUNS =
  'harbour archive meadow lantern bridge almanac orchard ferry signal garden chapter valley workshop café résumé fjörd'
const VERBS = 'keeps describes follows crosses repairs gathers measures remembers opens collects names borrows'
const ADJECTIVES = 'old quiet northern narrow careful copper early salted distant naïve plain winding'
const PLACES =
  'near the river|behind the mill|in every season|for the town|against the wind|since the flood|by hand|at dusk'

const nouns = NOUNS.split(' ')
const verbs = VERBS.split(' ')
const adjectives = ADJECTIVES.split(' ')
const places = PLACES.split('|')

/** Two or three words, as a heading. */
export function titleOf(chance: Chance): string {
  const title = `${chance.pick(adjectives)} ${chance.pick(nouns)} ${chance.next() < 0.4 ? 'and ' + chance.pick(nouns) : ''}`
  return title[0].toUpperCase() + title.slice(1).trim()
}

/** Letters, digits and dashes, as a file's name. */
export function slugOf(title: string): string {
  const plain = title.normalize('NFD').replace(/[\u0300-\u036f]/g, '')
  return plain.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

/** A paragraph of a few sentences, plain text. */
export function paragraphOf(chance: Chance): string {
  return Array.from({ length: chance.between(3, 7) }, () => sentenceOf(chance)).join(' ')
}

function sentenceOf(chance: Chance): string {
  const subject = `${chance.pick(adjectives)} ${chance.pick(nouns)}`
  const object = `${chance.pick(adjectives)} ${chance.pick(nouns)}`
  return `The ${subject} ${chance.pick(verbs)} the ${object} ${chance.pick(places)}.`
}
