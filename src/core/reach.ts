/**
 * Which addresses of a host may be contacted: asked on every hop, after resolution, for robots.txt too.
 *
 * Invariant: nothing is contacted at an address that `decideAddress` did not allow for this very origin.
 */
import { keyOf } from '../base/md5.ts'
import { type AddressRules, compileAddressRules, decideAddress } from './address.ts'
import type { Frontier } from './frontier.ts'
import { HOST } from './hosts.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

/** Origins whose answer is remembered: some MB. */
const REMEMBERED_MAX = 10_000

const compiledRules = new WeakMap<Settings, AddressRules>()

function rulesOf(settings: Settings): AddressRules {
  let rules = compiledRules.get(settings)
  if (rules === undefined) {
    rules = compileAddressRules(settings.allowPrivate)
    compiledRules.set(settings, rules)
  }
  return rules
}

/** Scope key of an origin that a seed names by IP literal or `localhost`, and so opens although it is private. */
export function openedOriginKey(origin: string): string {
  return `origin:${origin}`
}

/** Those of `addresses` that may be contacted for an origin, in their order. */
export function reachable(state: State, origin: string, addresses: readonly string[]): string[] {
  const rules = rulesOf(state.settings)
  const isSeedOrigin = (seed: string): boolean => state.scopeKeys.findKey(keyOf(openedOriginKey(seed))) >= 0
  return addresses.filter((address) => decideAddress(address, origin, rules, isSeedOrigin) === 'allowed')
}

/** The same for a known host's addresses. Cost: one Map look-up while neither they nor the seeds changed. */
export function allowedAddresses(state: State, frontier: Frontier, origin: string, host: number): readonly string[] {
  const handle = state.hosts.get(host, HOST.addresses)
  const keys = state.scopeKeys.count
  const known = frontier.reach.get(origin)
  if (known !== undefined && known.handle === handle && known.keys === keys) return known.addresses
  const addresses = reachable(state, origin, state.hosts.addresses(host))
  if (frontier.reach.size >= REMEMBERED_MAX) frontier.reach.clear()
  frontier.reach.set(origin, { addresses, handle, keys })
  return addresses
}
