/**
 * The kinds of VAL records and of KEY items. One number space: a record's kind and its items' kinds share it.
 *
 * On disk since v1. Never renumber, never reuse. A reader that meets a greater number refuses (LOG_NEWER).
 * `value`, `segment`, `mark`, `deleted` and `synced` are the log's own (log/format.ts); the rest is the crawler's.
 */
export const KIND = {
  value: 0,
  segment: 1,
  /** A process took the log over: process, version, effective settings, shard count. */
  open: 2,
  /** A process stopped in order. An end without it is a death. */
  close: 3,
  mark: 4,
  /** At most 1,000 seeds admitted at once, with the cursor in their source. */
  seeded: 5,
  /** Item only: the URLs whose items follow belong to this host. */
  host: 6,
  /** Item only: a URL is known, argument = depth; again for a known pending URL: its link moved to this record. */
  enqueue: 7,
  /**
   * Record: links of one host with few waiting, gathered. Item: a bulk joins the tail of one of the host's queues;
   * argument bit 7 = the preferred queue, low 7 bits = bulks at that tail it replaces.
   */
  bulk: 8,
  /** Item only: a bulk left a queue of the host; argument bit 7 = the preferred queue, bit 6 = counted from the tail, low 6 bits = index. */
  drained: 9,
  claim: 10,
  /** A claim given back: argument 1 = by a death, 0 = by a stop. */
  void: 11,
  /** A final answer below 400. Argument = status ÷ 100, or 0 where no body was stored. */
  fetched: 12,
  /** Item only: key = first 16 bytes of the body's SHA-256. */
  content: 13,
  /** Back to pending with a due time, argument = attempts made. */
  retry: 14,
  /** Final, argument = reason. */
  failed: 15,
  refused: 16,
  /** A final URL pending again, argument = depth; its link is in this record's bulks. */
  reopened: 17,
  resolved: 18,
  badhost: 19,
  robots: 20,
  delay: 21,
  control: 22,
  forwarded: 23,
  received: 24,
  deleted: 25,
  repaired: 26,
  forked: 27,
  /** A stored page's links admitted again, after a shorter way to it was found. */
  relinked: 28,
  /** Item only: a shorter way to a known URL, argument = depth. */
  shorter: 29,
  /** Item only: the same, and the stored page's links are to be admitted again. */
  relink: 30,
  synced: 31,
  /** Item only: key = md5 of a scope key that a seed opens. */
  scoped: 32,
  /** Item only: robots.txt of this host is being fetched; argument 0 = over http, 1 = over https, 2 = both given back. */
  asked: 33,
  /** In compacted segments: hosts in the order of their ids, so that ids stay. Item: argument 1 = has answered. */
  hosts: 34,
  /** In compacted segments: links that stand in no queue, since their URLs wait, are in flight, or failed with their host. */
  linked: 35,
  /** Item only: a pending URL waits, argument = attempts made; all else of it stands in its `linked` record. */
  waits: 36,
} as const

/** The greatest kind this version knows. */
export const KIND_MAX = 36

/**
 * Flag of a record: a compaction wrote it. An outcome then tells a URL's whole life, so its items begin with `enqueue`.
 * On disk since kinds 34 to 36 are.
 */
export const COMPACTED = 1
