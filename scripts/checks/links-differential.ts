/**
 * Compares the link scanner with parse5 (and, on a sample, linkedom) on the documentation that lies on this machine.
 *
 *     node scripts/checks/links-differential.ts [--pages N] [--linkedom N]
 *
 * Same links in the same order, same title, same base: equal. Prints counts by site and the first differences of each
 * with their reason, and exits 1 if a page differs from parse5.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { parseHTML } from 'linkedom'
import { canonicalUrl } from '../../src/html/canonical.ts'
import { decodeText } from '../../src/html/decode.ts'
import { extractLinks } from '../../src/html/extract-links.ts'
import { linksOfTree } from '../../test/html/links-of-tree.ts'

const SITES: Readonly<Record<string, string>> = {
  python: '/usr/share/doc/python3.11/html',
  postgresql: '/usr/share/doc/postgresql-doc-15/html',
  git: '/usr/share/doc/git/html',
  openjdk: '/usr/share/doc/openjdk-17-jre-headless/api',
}

const DIFFERENCES_SHOWN = 5

const { values } = parseArgs({
  options: { pages: { type: 'string', default: '0' }, linkedom: { type: 'string', default: '20' } },
})

/** Every n-th page, so that a part of a site is like the whole. */
function pagesOf(root: string, countMax: number): string[] {
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.x?html?$/.test(name))
    .sort()
  const step = countMax === 0 ? 1 : Math.max(1, Math.ceil(all.length / countMax))
  return all.filter((_, at) => at % step === 0)
}

function firstDifference(ours: readonly string[], theirs: readonly string[]): string {
  const at = ours.findIndex((link, index) => link !== theirs[index])
  const place = at < 0 ? ours.length : at
  return `${ours.length} links against ${theirs.length}; link ${place}: ${ours[place]} against ${theirs[place]}`
}

function reasonOf(body: Buffer, url: string): string | undefined {
  const facts = extractLinks(body, { 'content-type': 'text/html' }, url)
  const tree = linksOfTree(decodeText(body, facts.encoding ?? 'utf-8'), url)
  const ours = facts.links.map((link) => link.url)
  if (ours.join('\n') !== tree.links.join('\n')) return `links: ${firstDifference(ours, tree.links)}`
  if (facts.title !== tree.title) return `title: ${facts.title} against ${tree.title}`
  return facts.base === tree.base ? undefined : `base: ${facts.base} against ${tree.base}`
}

/** linkedom has no encodings, frames or bases of its own; only `a` and `area` are compared, as sets. */
function reasonByLinkedom(body: Buffer, url: string): string | undefined {
  const facts = extractLinks(body, { 'content-type': 'text/html' }, url)
  const { document } = parseHTML(decodeText(body, facts.encoding ?? 'utf-8'))
  const theirs = new Set<string>()
  for (const element of document.querySelectorAll('a[href],area[href]')) {
    const canonical = canonicalUrl(element.getAttribute('href') ?? '', facts.base)
    if ('url' in canonical && canonical.url !== url) theirs.add(canonical.url)
  }
  const ours = facts.links.filter((link) => link.kind === 'a' || link.kind === 'area').map((link) => link.url)
  const missing = [...theirs].filter((link) => !facts.links.some((each) => each.url === link))
  const added = ours.filter((link) => !theirs.has(link))
  return missing.length + added.length === 0 ? undefined : `only linkedom: ${missing}; only ours: ${added}`
}

function compare(site: string, root: string, names: readonly string[], reason: typeof reasonOf, by: string): number {
  let different = 0
  for (const name of names) {
    const found = reason(readFileSync(path.join(root, name)), `http://${site}.test/${encodeURI(name)}`)
    if (found === undefined) continue
    if (different++ < DIFFERENCES_SHOWN) console.log(`  ${name}: ${found}`)
  }
  console.log(`${site} against ${by}: ${names.length - different} equal, ${different} different`)
  return different
}

let differentCount = 0
for (const [site, folder] of Object.entries(SITES)) {
  if (!existsSync(folder)) {
    console.log(`${site}: ${folder} is not on this machine`)
    continue
  }
  const root = realpathSync(folder)
  differentCount += compare(site, root, pagesOf(root, Number(values.pages)), reasonOf, 'parse5')
  if (Number(values.linkedom) > 0)
    compare(site, root, pagesOf(root, Number(values.linkedom)), reasonByLinkedom, 'linkedom')
}
process.exitCode = differentCount === 0 ? 0 : 1
