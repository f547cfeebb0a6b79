/** Host names to addresses. Never uses the thread pool. Implementations: `adapters/resolver.ts`, the simulator's. */
export interface Resolver {
  /**
   * Looks up the IPv4 and IPv6 addresses of a host name; calls back exactly once, never before it returns.
   * An IP literal (IPv6 without brackets) resolves to itself.
   */
  resolve(hostname: string, done: (answer: Resolution) => void): void
}

export type Resolution =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlMs: number }
  /** `notfound`: the name does not exist or has no address. `temporary`: no server gave an answer. */
  | { readonly kind: 'trouble'; readonly class: 'dns.notfound' | 'dns.temporary'; readonly message: string }
