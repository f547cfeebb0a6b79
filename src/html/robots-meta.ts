/** What a page asks of robots: `<meta name=robots>` and the X-Robots-Tag header. The stricter of all that apply counts. */

export type RobotsDirectives = {
  /** Whether the page may be kept for an index. */
  readonly index: boolean
  /** Whether its links may be followed. */
  readonly follow: boolean
}

export const ROBOTS_ALLOW_ALL: RobotsDirectives = { index: true, follow: true }

/** Joins what a list of words says to what is known. */
export function withDirectives(robots: RobotsDirectives, content: string): RobotsDirectives {
  const words = content.toLowerCase().split(/[\s,]+/)
  const isNone = words.includes('none')
  return {
    index: robots.index && !isNone && !words.includes('noindex'),
    follow: robots.follow && !isNone && !words.includes('nofollow'),
  }
}

/** Directives that have a value behind a colon; any other word before a colon names a robot. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/

/**
 * Joins what an X-Robots-Tag value says. A robot's name in it (`otherbot: noindex, nofollow`) holds up to the next name.
 *
 * @param agent  our product token, in lower case
 */
export function withRobotsHeader(robots: RobotsDirectives, value: string, agent: string): RobotsDirectives {
  let applies = true
  for (const part of value.split(',')) {
    const named = /^\s*([^\s:]+)\s*:(.*)$/s.exec(part)
    const isName = named !== null && !VALUED.test(named[1].toLowerCase())
    if (isName) applies = named[1].toLowerCase() === agent || named[1] === '*'
    if (applies) robots = withDirectives(robots, isName ? named[2] : part)
  }
  return robots
}
