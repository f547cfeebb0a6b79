/**
 * The bytes of the demo web's pages. Links are spelt in all the ways that mean the same, between things that look like
 * links and are none.
 *
 * Invariant: a function of the model and the origins, not of what was requested before.
 */
import { paragraphOf } from './prose.ts'
import { type Chance, chanceOf } from './random.ts'
import type { Resource, Site, Target } from './site.ts'

/** `http://127.1.0.1:8080`, by number of the host. */
export type Origins = readonly string[]

/** The page as text; `iso-8859-1` sites hold no other characters. */
export function htmlOf(site: Site, resource: Resource, origins: Origins): string {
  if (resource.answer.kind === 'copy') return htmlOf(site, site.resources.get(resource.answer.of)!, origins)
  const chance = chanceOf(`${site.title}/${site.host}${resource.path}`)
  const title = resource.answer.kind === 'page' ? resource.answer.title : ''
  // A copy stands at another address, so relative links would mean something else there.
  const isCopied = [...site.resources.values()].some(
    ({ answer }) => answer.kind === 'copy' && answer.of === resource.path,
  )
  const base = isCopied ? undefined : chance.pick([undefined, undefined, undefined, '/', '/base/here/'])
  const spell = (target: Target) =>
    spelling(target, site, isCopied ? undefined : (base ?? resource.path), origins, chance)
  const meta = chance.next() < 0.5 ? `<meta charset="${site.charset}">` : ''
  const parts = [
    `<!DOCTYPE html>\n<html lang="en">\n<head>${meta}<title>${title} - ${site.title}</title>`,
    base === undefined ? '' : `<base href="${base}">`,
    `<script>var ghost = '<a href="/ghost-of-a-script.html">no link</a>';</script>`,
    `</head>\n<body>\n<!-- <a href="/ghost-of-a-comment.html">no link</a> -->\n<h1>${title}</h1>`,
    `<nav><a href="mailto:editor@a.test">Write to us</a> <a href="http://outside.test/">Elsewhere</a>`,
    `<a rel="nofollow" href="${origins[site.host]}/ghost-of-nofollow.html">Do not follow</a></nav>`,
  ]
  for (const link of resource.links) {
    const tag = chance.pick(['a', 'a', 'a', 'A'])
    parts.push(`<p>${paragraphOf(chance)} <${tag} ${spell(link)}>${paragraphOf(chance).slice(0, 20)}</${tag}></p>`)
  }
  for (let i = chance.between(2, 12); i > 0; i -= 1) parts.push(`<p>${paragraphOf(chance)}</p>`)
  return `${parts.join('\n')}\n</body>\n</html>\n`
}

/** `href="…"` in one of many spellings of the same target; relative ones only where a base path is given. */
function spelling(target: Target, site: Site, base: string | undefined, origins: Origins, chance: Chance): string {
  const origin = origins[target.host]
  const path = chance.next() < 0.5 ? target.path : decodeURI(target.path)
  const spellings = [
    origin + path,
    origin.toUpperCase() + path,
    origin.slice('http:'.length) + path,
    `${origin}${path}#part`,
  ]
  if (target.host === site.host) spellings.push(path, `${path}#top`, `/x/..${path}`)
  if (target.host === site.host && base !== undefined) {
    const relative = relativeTo(base, path)
    spellings.push(relative, relative, `./${relative}`)
  }
  return attribute(chance.pick(spellings), chance)
}

function attribute(href: string, chance: Chance): string {
  const escaped = href.replaceAll('&', '&amp;')
  const bare = /[\s"'=<>`]/.test(escaped) || escaped.endsWith('/') ? `href="${escaped}"` : `href=${escaped}`
  return chance.pick([
    `href="${escaped}"`,
    `class='x' href='${escaped}'`,
    `HREF = " ${escaped}\n"`,
    `title="a > b" ${bare}`,
  ])
}

/** The path as seen from a directory; climbs to the root where they share nothing more. */
function relativeTo(basePath: string, path: string): string {
  const base = basePath.replace(/\?.*/, '').split('/').slice(1, -1)
  const [plain, query] = path.split('?')
  const wanted = plain.split('/').slice(1)
  let shared = 0
  while (shared < base.length && shared < wanted.length - 1 && base[shared] === wanted[shared]) shared += 1
  const climbed = '../'.repeat(base.length - shared) + wanted.slice(shared).join('/')
  return (climbed === '' ? './' : climbed) + (query === undefined ? '' : `?${query}`)
}
