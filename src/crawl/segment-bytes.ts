/** For tests: VAL bytes of a segment, so that a small crawl has many of them. Unset in use. */
export function segmentBytes(): { readonly segmentBytesMax?: number } {
  const text = process.env.CRAWLER_SEGMENT_BYTES
  return text === undefined ? {} : { segmentBytesMax: Number(text) }
}
