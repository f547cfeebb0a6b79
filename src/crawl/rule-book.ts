/** The rules of a crawl outside its shard: asked about single URLs, with the scope that its seeds open. */
import { keyOf, word } from '../base/md5.ts'
import type { Refusal } from '../core/reasons.ts'
import { admits, admitsPath, type CompiledScope, compileScope, rulesOfHost, scopeKeysOf } from '../core/scope.ts'
import type { Settings } from '../core/settings.ts'
import { hostOf } from '../core/url.ts'
import { OrderedTable } from '../tables/ordered.ts'

export class RuleBook {
  readonly #scope: CompiledScope
  /** Scope keys opened: three a seed, so off-heap. */
  readonly #keys = new OrderedTable({ valueWords: 0 })

  constructor(settings: Settings) {
    this.#scope = compileScope(settings)
  }

  /** A seed, or what a seed redirects to. */
  open(url: string): void {
    const { host, domain, prefix } = scopeKeysOf(url)
    for (const text of [host, domain, prefix]) this.#keys.insertKey(keyOf(text))
  }

  /** Why a URL would not be let in; undefined where it would. Cost: a microsecond. */
  refusal(url: string, depth: number, isSeed: boolean): Refusal | undefined {
    // A seed need not match `include`, and is in scope by being one.
    if (isSeed) return admitsPath(rulesOfHost(this.#scope, hostOf(url)), url, 0)
    return admits(this.#scope, url, depth === 0 ? 1 : depth, this.#isKnown)
  }

  readonly #isKnown = (text: string): boolean => {
    const key = keyOf(text)
    return this.#keys.find(word(key, 0), word(key, 1), word(key, 2), word(key, 3)) >= 0
  }
}
