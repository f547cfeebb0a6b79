/**
 * Every request as the servers see it: by the time it leaves its claim must be written, and its host must have been left
 * alone for long enough, whatever happened to the process in between.
 */
import assert from 'node:assert/strict'
import { keyOf } from '../../src/base/md5.ts'
import { settingsOfHost } from '../../src/core/settings.ts'
import type { FetchRequest } from '../../src/env/web.ts'
import type { Audit } from './audit.ts'
import type { UrlEntry } from './audit-entries.ts'
import type { VirtualTime, Wall } from './scheduler.ts'
import type { Reply } from './server.ts'
import type { WebPlan } from './web.ts'

/** Deaths from which on a URL is fetched alone. */
const SUSPECT_DEATHS = 3

interface Contact {
  inFlight: number
  endMs: number
  /** How long the last answer took. */
  lastMs: number
  /** What the answer said is written. */
  isSettled: boolean
  /** What the server asked for: an instant, and what the wall clock had been put forward by then. */
  askedUntilMs: number
  askedForwardMs: number
  /** The wall clock's steps forward up to the last answer. */
  endForwardMs: number
  /** The process that got the last answer is dead. */
  isCut: boolean
}

export class Politeness {
  requests = 0
  /** Requests by URL, for the figures. */
  readonly #contacts = new Map<string, Contact>()
  /** Where robots.txt files redirect to, and addresses to be tried next: part of a contact that was claimed. */
  readonly #continued = new Map<string, number>()
  /** Requests for a robots.txt that another host redirected to: no contact of the host's own. */
  readonly #foreign = new WeakSet<FetchRequest>()
  readonly #time: VirtualTime
  readonly #wall: Wall
  readonly #plan: WebPlan
  readonly #delayMaxMs: number

  /** @param delayMaxMs the longest pause that a server may ask for */
  constructor(plan: WebPlan, time: VirtualTime, wall: Wall, delayMaxMs: number) {
    this.#delayMaxMs = delayMaxMs
    this.#plan = plan
    this.#time = time
    this.#wall = wall
  }

  /** @param audit what is written. Errors: AssertionError where the request must not leave. */
  begin(request: FetchRequest, audit: Audit): void {
    this.requests++
    const { url, address } = request
    const { host } = new URL(url)
    const contact = this.#contact(host)
    if (this.#takeContinued(`foreign ${url}`)) return void this.#foreign.add(request)
    const isContinued = this.#takeContinued(`${url} ${address}`) || this.#takeContinued(url)
    if (!isContinued) {
      const entry = this.#claimed(url, audit)
      this.#checkPause(url, host, contact, audit, entry !== undefined)
      if (entry !== undefined && entry.deaths >= SUSPECT_DEATHS)
        assert.equal(this.#inFlight(), 0, `${url} was in flight at ${entry.deaths} deaths and is not fetched alone`)
    }
    contact.inFlight++
  }

  /** @param isContinued the same claim goes on at another address */
  end(request: FetchRequest, reply: Reply, isContinued: boolean): void {
    if (this.#foreign.has(request)) return
    const contact = this.#contact(new URL(request.url).host)
    contact.inFlight--
    // Where nobody accepted the connection the next address is tried: that is no answer yet.
    if (isContinued) return
    contact.endMs = this.#time.nowMs
    // A robots.txt may be several answers: for how long its host is left alone after it is not looked at.
    contact.lastMs = /\/robots[^/]*$/.test(request.url) ? 0 : reply.latencyMs
    contact.isSettled = false
    contact.isCut = false
    contact.endForwardMs = this.#wall.forwardMs
    if (reply.retryAfterMs > 0) {
      const stillMs = contact.askedUntilMs - (this.#wall.forwardMs - contact.askedForwardMs)
      contact.askedUntilMs = Math.max(stillMs, this.#time.nowMs + Math.min(reply.retryAfterMs, this.#delayMaxMs))
      contact.askedForwardMs = this.#wall.forwardMs
    }
  }

  /** No address answered: the next one is tried. */
  willTryAt(url: string, address: string): void {
    this.#willContinue(`${url} ${address}`)
  }

  /** A robots.txt is redirected. */
  willFollow(from: string, to: string): void {
    this.#willContinue(new URL(from).host === new URL(to).host ? to : `foreign ${to}`)
  }

  #willContinue(what: string): void {
    this.#continued.set(what, (this.#continued.get(what) ?? 0) + 1)
  }

  /** A turn has ended: all answers so far are settled. */
  settle(): void {
    for (const contact of this.#contacts.values()) contact.isSettled = true
  }

  /** The process is dead, and its connections with it. */
  cut(isPowerLost: boolean): void {
    this.#continued.clear()
    for (const contact of this.#contacts.values()) {
      if (contact.inFlight > 0) {
        contact.endMs = this.#time.nowMs
        contact.lastMs = 0
      }
      contact.inFlight = 0
      contact.isCut = true
      // What a server asked for is known if its answer was settled, and after a loss of power synced.
      if (isPowerLost || !contact.isSettled) contact.askedUntilMs = 0
      if (isPowerLost || !contact.isSettled) contact.lastMs = 0
    }
  }

  #inFlight(): number {
    let sum = 0
    for (const { inFlight } of this.#contacts.values()) sum += inFlight
    return sum
  }

  /** @returns the URL's entry, undefined for a robots.txt */
  #claimed(url: string, audit: Audit): UrlEntry | undefined {
    const { host, pathname, protocol } = new URL(url)
    if (pathname === '/robots.txt') {
      const robots = audit.hosts.get(keyOf(host))?.robots[protocol === 'https:' ? 'https' : 'http']
      assert.ok(robots?.isAsked && !robots.isRequested, `${url} is requested and no written record says so`)
      robots.isRequested = true
      return undefined
    }
    const entry = audit.urls.get(keyOf(url))
    const isClaimed = entry?.state === 'processing' && !entry.isRequested
    assert.ok(isClaimed, `${url} is requested and no written claim says so (${entry?.state})`)
    entry.isRequested = true
    return entry
  }

  #checkPause(url: string, host: string, contact: Contact, audit: Audit, isPage: boolean): void {
    const settings = settingsOfHost(audit.settings!, host)
    const { robots } = this.#plan.hosts.get(host)!
    const hasRules = robots.kind === 'rules' || robots.kind === 'moved' || robots.kind === 'elsewhere'
    const crawlDelayMs = isPage && settings.robots && hasRules ? robots.crawlDelaySeconds * 1000 : 0
    const delayMs = Math.max(settings.delayMs, Math.min(crawlDelayMs, settings.delayMaxMs))
    // What one process tells the next is an instant of the wall clock.
    const skippedMs = contact.isCut ? this.#wall.forwardMs - contact.endForwardMs : 0
    const factorMs = Math.min(settings.delayFactor * contact.lastMs, settings.delayMaxMs) - skippedMs
    const pauseMs = Math.max(delayMs, factorMs)
    const { nowMs } = this.#time
    const sinceMs = nowMs - contact.endMs
    assert.ok(
      contact.inFlight < (delayMs > 0 ? 1 : settings.perHost),
      `${url}: ${contact.inFlight} requests to its host are in flight`,
    )
    assert.ok(
      sinceMs >= (isPage ? pauseMs : delayMs),
      `${url}: requested ${sinceMs} ms after the last answer of its host, not ${pauseMs}`,
    )
    const forwardMs = this.#wall.forwardMs - contact.askedForwardMs
    const askedMs = contact.askedUntilMs - forwardMs
    assert.ok(nowMs >= askedMs, `${url}: requested ${askedMs - nowMs} ms before the time its host asked for`)
  }

  #takeContinued(what: string): boolean {
    const count = this.#continued.get(what) ?? 0
    if (count > 0) this.#continued.set(what, count - 1)
    return count > 0
  }

  #contact(host: string): Contact {
    let contact = this.#contacts.get(host)
    if (contact === undefined) {
      contact = {
        inFlight: 0,
        endMs: Number.NEGATIVE_INFINITY,
        lastMs: 0,
        isSettled: true,
        askedUntilMs: 0,
        askedForwardMs: 0,
        endForwardMs: 0,
        isCut: false,
      }
      this.#contacts.set(host, contact)
    }
    return contact
  }
}
