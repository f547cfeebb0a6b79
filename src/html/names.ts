/**
 * The tag and attribute names that mean something to a crawler, found by a hash of the name's bytes.
 *
 * Invariant: in each table no two names share a slot (asserted when the module is loaded).
 */
import assert from 'node:assert'
import { LOWER } from './bytes.ts'

const SLOTS = 1024

export type NameTable = { readonly names: readonly string[]; readonly idBySlot: Uint8Array }

/** One step of the hash; a name's hash begins with 0. `lower` is the byte in lower case. */
export function hashStep(hash: number, lower: number): number {
  return (Math.imul(hash, 31) + lower) | 0
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 7)) & (SLOTS - 1)
}

function nameTable(names: readonly string[]): NameTable {
  const idBySlot = new Uint8Array(SLOTS)
  names.forEach((name, id) => {
    if (name === '') return
    const slot = slotOf(Buffer.from(name).reduce(hashStep, 0))
    assert.equal(idBySlot[slot], 0, `the names ${name} and ${names[idBySlot[slot]]} collide: change the hash`)
    idBySlot[slot] = id
  })
  return { names, idBySlot }
}

/** The id of the name at `start`, whose hash is `hash`; 0 for any other name. */
export function idOf(table: NameTable, page: Uint8Array, start: number, end: number, hash: number): number {
  const id = table.idBySlot[slotOf(hash)]
  if (id === 0) return 0
  const name = table.names[id]
  if (name.length !== end - start) return 0
  for (let at = 0; at < name.length; at++) if (LOWER[page[start + at]] !== name.charCodeAt(at)) return 0
  return id
}

const TAG_NAMES = [
  ...['', 'a', 'area', 'base', 'frame', 'iframe', 'link', 'meta', 'script', 'style', 'title', 'textarea', 'xmp'],
  ...['noembed', 'noframes', 'plaintext', 'template', 'svg', 'math', 'img', 'image', 'source', 'video', 'audio'],
  ...['track', 'embed', 'object', 'input'],
] as const

export type TagName = (typeof TAG_NAMES)[number]

/** Ids of tags by name; 0 is any other. */
export const TAG = Object.fromEntries(TAG_NAMES.map((name, id) => [name, id])) as Readonly<Record<TagName, number>>
export const TAGS = nameTable(TAG_NAMES)

const ATTRIBUTE_NAMES = [
  ...['', 'href', 'rel', 'src', 'srcset', 'content', 'http-equiv', 'name', 'charset', 'type', 'data', 'poster'],
  ...['xlink:href', 'shadowrootmode', 'imagesrcset', 'encoding', 'color', 'face', 'size'],
] as const

/** Ids of attributes by name, at most 31: they are bits of a mask too. */
export const ATTRIBUTE = Object.fromEntries(ATTRIBUTE_NAMES.map((name, id) => [name, id])) as Readonly<
  Record<(typeof ATTRIBUTE_NAMES)[number], number>
>
export const ATTRIBUTES = nameTable(ATTRIBUTE_NAMES)
