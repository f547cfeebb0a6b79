/** Names whose addresses are known without asking a server. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1']

/** Addresses of names no server is asked about: IP literals, `localhost` and below (RFC 6761 6.3), the hosts file. */
export function knownWithoutServer(
  name: string,
  hosts: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  if (isIP(name) !== 0) return [name]
  if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK
  return hosts.get(name)
}

/** Names of a hosts file with their addresses in its order; empty where it cannot be read. */
export function readHostsFile(path: string): ReadonlyMap<string, readonly string[]> {
  try {
    return parseHosts(readFileSync(path, 'utf8'))
  } catch {
    // Not every system has one.
    return new Map()
  }
}

/** Lines of an address and names; `#` begins a comment. Lines without an address are skipped. */
function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const addresses = hosts.get(name.toLowerCase())
      if (addresses === undefined) hosts.set(name.toLowerCase(), [address])
      else if (!addresses.includes(address)) addresses.push(address)
    }
  }
  return hosts
}
