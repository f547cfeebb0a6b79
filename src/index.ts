/**
 * The package's public face: the stages of a crawl, each callable alone, the bare store, and the crawl itself.
 * The one file that only re-exports.
 */

export { nodeDisk } from './adapters/disk.ts'
export { CrawlError, type ErrorCode, HINTS } from './base/errors.ts'
export { type Key, keyOf } from './base/md5.ts'
export { type Reason, reasonOf } from './core/reasons.ts'
export { crawlDelayMs, isAllowed, parseRobots, type Robots } from './core/robots.ts'
export { DEFAULTS, resolveSettings, type Settings } from './core/settings.ts'
export { hostOf, type NormalizeOptions, normalizeUrl } from './core/url.ts'
export { type OpenCrawl, resumeCrawl, startCrawl } from './crawl/starting.ts'
export type { Status } from './crawl/status.ts'
export type { Disk, File } from './env/disk.ts'
export { type Charset, detectCharset } from './html/charset.ts'
export { decodeText } from './html/decode.ts'
export { type ExtractOptions, extractLinks } from './html/extract-links.ts'
export type { Link, PageFacts } from './html/facts.ts'
export { Store, type StoreOptions } from './log/store.ts'
