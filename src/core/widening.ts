/**
 * Whether a change of the rules may let URLs in that were turned away before: then what the crawl has read already must
 * be read again, or the set would depend on when the rules were changed.
 *
 * Invariant: `readsAgain` may say yes where nothing would be found, never no where something would.
 */
import { hasDepthLimit, scopeOf } from './admission.ts'
import { REASONS } from './reasons.ts'
import type { HOST_KEYS, Scope, Settings } from './settings.ts'

const WIDTH: Readonly<Record<Scope, number>> = { prefix: 0, host: 1, domain: 2, any: 3 }

/** Whether stored pages and seeds are to be read again under the new rules. */
export function readsAgain(before: Settings, after: Settings): boolean {
  return isWider(before, after) || isDeeper(before, after) || startsToCountDepth(before, after)
}

/** More URLs are let in, whatever their depth. */
function isWider(before: Settings, after: Settings): boolean {
  return (
    WIDTH[after.scope] > WIDTH[before.scope] ||
    lacksSome(after.exclude, before.exclude) ||
    lacksSome(after.skipExtensions, before.skipExtensions) ||
    (before.include.length > 0 && (after.include.length === 0 || lacksSome(before.include, after.include))) ||
    after.urlBytesMax > before.urlBytesMax ||
    after.linksMax > before.linksMax ||
    (before.robots && !after.robots) ||
    JSON.stringify(hostRules(before)) !== JSON.stringify(hostRules(after))
  )
}

/** `list` is without something of `other`. */
function lacksSome(list: readonly string[], other: readonly string[]): boolean {
  return other.some((entry) => !list.includes(entry))
}

/** What is said for single hosts about which pages there are. */
function hostRules({ hosts }: Settings): unknown {
  const rules: ReadonlyArray<(typeof HOST_KEYS)[number]> = [
    'depthMax',
    'include',
    'exclude',
    'skipExtensions',
    'robots',
    'linksMax',
  ]
  return Object.entries(hosts).map(([pattern, settings]) => [pattern, ...rules.map((key) => settings[key] ?? null)])
}

function isDeeper(before: Settings, after: Settings): boolean {
  return (after.depthMax ?? Number.POSITIVE_INFINITY) > (before.depthMax ?? Number.POSITIVE_INFINITY)
}

/** Without a limit the depths known are those of the ways found first; with one the shortest ways count. */
function startsToCountDepth(before: Settings, after: Settings): boolean {
  return hasDepthLimit(scopeOf(after)) && !hasDepthLimit(scopeOf(before))
}

/** Least depth of the pages whose links are to be read again: only a page at the old limit had its links cut by it. */
export function depthReadAgainMin(before: Settings, after: Settings): number {
  if (isWider(before, after) || startsToCountDepth(before, after)) return 0
  return before.depthMax ?? 0
}

/** Whether a refusal for this reason may not hold any more. */
export function isRefusalInDoubt(reason: number, before: Settings, after: Settings): boolean {
  if (reason === REASONS['robots.denied'] || reason === REASONS['robots.unreachable']) {
    return before.robots !== after.robots || JSON.stringify(before.hosts) !== JSON.stringify(after.hosts)
  }
  if (reason === REASONS['address.forbidden']) {
    return JSON.stringify(before.allowPrivate) !== JSON.stringify(after.allowPrivate)
  }
  return reason === REASONS['url.length'] || (reason >= REASONS['scope.host'] && reason <= REASONS.extension)
}
