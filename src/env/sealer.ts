/** Rewrites sealed segments of pages, compressed, beside the crawl. */
export interface Sealer {
  /**
   * Writes a sealed segment of pages anew, aside (`log/rewrite.ts`). Calls back once, later. The caller then adopts it.
   * An error leaves the segment as it was.
   */
  rewrite(directory: string, number: number, done: (error?: Error) => void): void
}
