/** Randomness: salts, crawl ids, jitter. The simulator's comes from its seed. */
export interface Random {
  /** Uniform in [0, 2³²). */
  uint32(): number
}
