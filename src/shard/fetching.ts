/**
 * Starts what was claimed and turns each result into one arrival. Called after the claims are written.
 *
 * A host with several addresses is tried at the next one where nobody accepts a connection.
 */
import type { Claim, RobotsClaim, Work } from '../core/claim.ts'
import { settingsFor } from '../core/frontier.ts'
import { hostnameOf } from '../core/url.ts'
import type { Arrival } from './arrival.ts'
import { readAnswer } from './reading.ts'
import { fetchAtFirst, troubleOf } from './requesting.ts'
import { fetchRobots } from './robots-fetching.ts'
import { type Shard, wake } from './shard-parts.ts'

export function startFetches(shard: Shard, work: Work): void {
  for (const claim of work.claims) fetchPage(shard, claim)
  for (const asked of work.robots) startRobots(shard, asked)
  for (const host of work.lookups) startLookup(shard, host)
}

function arrive(shard: Shard, arrival: Arrival): void {
  if (shard.hasEnded) return
  shard.inbox.push(arrival)
  wake(shard)
}

function fetchPage(shard: Shard, claim: Claim): void {
  const { env, state } = shard
  const settings = settingsFor(state, claim.host)
  fetchAtFirst(shard, claim.link.url, claim.addresses, settings, (result, address) => {
    const { timing } = result
    const common = { kind: 'page', claim, address, timing } as const
    if (result.kind === 'trouble') {
      if (result.class === 'stopped') return
      return arrive(shard, { ...common, result: troubleOf(result) })
    }
    const read = readAnswer(claim.link.url, result, settings, env.decodeContent, env.clock.wallMs())
    arrive(shard, { ...common, result: { kind: 'answer', ...read } })
  })
}

function startRobots(shard: Shard, claim: RobotsClaim): void {
  const { host, isHttps, addresses, attempts } = claim
  const name = shard.source.hostName(host)
  const hostKey = shard.state.hosts.keyOf(host)
  const settings = settingsFor(shard.state, host)
  fetchRobots(shard, `${isHttps ? 'https' : 'http'}://${name}/robots.txt`, addresses, settings, (result, totalMs) => {
    arrive(shard, {
      kind: 'robots',
      claim,
      totalMs,
      observation: { kind: 'robots', host: name, hostKey, isHttps, attempts, result },
    })
  })
}

function startLookup(shard: Shard, host: number): void {
  const name = shard.state.hosts.name(host)
  const hostKey = shard.state.hosts.keyOf(host)
  const hostname = hostnameOf(`http://${name}/`).replace(/^\[|\]$/g, '')
  shard.env.resolver.resolve(hostname, (result) => {
    arrive(shard, { kind: 'lookup', host, observation: { kind: 'lookup', host: name, hostKey, result } })
  })
}
