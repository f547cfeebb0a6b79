/** Gathers links that stand in no queue into `linked` records, and says what a record knows of such a link. */
import { type Key, keyOf } from '../base/md5.ts'
import {
  type CrawlEvent,
  LINKED_LINKS_MAX,
  type Link,
  type LinkedEvent,
  type LinkGroup,
  STANDING,
  type Standing,
  standingOf,
} from '../core/event.ts'
import { KIND } from '../core/kind.ts'
import { hostOf } from '../core/url.ts'

/** URLs' bytes of one record, about. */
const LINKED_BYTES_MAX = 256 * 1024

interface OpenGroup extends LinkGroup {
  readonly links: Link[]
}

export class LinkedBuffer {
  readonly #write: (event: LinkedEvent) => void
  #groups: OpenGroup[] = []
  #standings: Standing[] = []
  #bytes = 0

  constructor(write: (event: LinkedEvent) => void) {
    this.#write = write
  }

  /** Order is kept: links of one host stand in one group only where they follow each other. */
  add(link: Link, standing: Standing): void {
    const host = hostOf(link.url)
    const last = this.#groups.at(-1)
    if (last?.host === host) last.links.push(link)
    else this.#groups.push({ host, hostKey: keyOf(host), isPreferred: false, links: [link] })
    this.#standings.push(standing)
    this.#bytes += link.url.length
    if (this.#standings.length === LINKED_LINKS_MAX || this.#bytes > LINKED_BYTES_MAX) this.flush()
  }

  flush(): void {
    if (this.#groups.length === 0) return
    this.#write({ kind: KIND.linked, groups: this.#groups, standings: this.#standings })
    this.#groups = []
    this.#standings = []
    this.#bytes = 0
  }
}

const PLAIN: Standing = { what: STANDING.plain, attempts: 0, deaths: 0, dueMs: 0, status: 0, reason: 0 }

/** What the record that holds a URL's link says of its attempts. */
export function standingIn(event: CrawlEvent, key: Key): Standing {
  if (event.kind === KIND.linked) return standingOf(event, key) ?? PLAIN
  if (event.kind !== KIND.retry) return PLAIN
  const { attempts, status } = event.attempt
  return { ...PLAIN, attempts, status, reason: event.reason }
}
