/** Link relations (HTML 4.6.6): sets of words, compared without case. */

/** The `link` relations that lead to another page, as HTML's table of link types has them ("hyperlink"), and older ones. */
const FOLLOWED: ReadonlySet<string> = new Set(
  (
    'alternate author bookmark help license next prev previous privacy-policy search terms-of-service ' +
    'appendix chapter contents copyright first glossary home index last section start subsection toc up top'
  ).split(' '),
)

/** Types behind which a crawler finds links. */
const LINKING_TYPE = /^\s*(?:text\/html|application\/(?:xhtml|rss|atom)\+xml|(?:text|application)\/xml)\s*(?:;|$)/i

export type Relation = 'canonical' | 'followed' | 'resource' | 'none'

const NO_RESOURCE: ReadonlySet<string> = new Set([
  'dns-prefetch',
  'preconnect',
  'pingback',
  'profile',
  'me',
  'shortlink',
])

/** The words of a `rel` value. */
export function relWords(rel: string): string[] {
  return rel
    .toLowerCase()
    .split(/[\t\n\f\r ]+/)
    .filter((word) => word !== '')
}

/** What a `link` element or header is for, by its `rel` and `type`. */
export function relationOf(words: readonly string[], type: string): Relation {
  if (words.includes('canonical')) return 'canonical'
  if (words.includes('stylesheet')) return 'resource'
  if (words.some((word) => FOLLOWED.has(word))) return type === '' || LINKING_TYPE.test(type) ? 'followed' : 'resource'
  return words.every((word) => NO_RESOURCE.has(word)) ? 'none' : 'resource'
}
