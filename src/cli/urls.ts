/** `urls [DIR]`: the URLs of a crawl, one a line, in the order of the log: see crawl/urls.ts. */
import { forEachTurnedAway, type TurnedAwayLink } from '../crawl/turned-away.ts'
import { forEachUrl, isClass, type UrlFilter } from '../crawl/urls.ts'
import type { Arguments } from './command.ts'
import { EXIT, usageError } from './errors.ts'
import { Output } from './output.ts'
import { crawlNamed, withLogs, withPast } from './reading.ts'
import { jsonLine } from './text.ts'
import { filterOf } from './url-filter.ts'

export async function run(args: Arguments): Promise<number> {
  const filter = filterOf(args)
  const { layout, crawl } = crawlNamed(args)
  const isTurnedAway = args.values['turned-away'] === true
  if (isTurnedAway && filter.states !== undefined)
    throw usageError('Links that were turned away have no state.', 'Leave out --state.')
  if (isTurnedAway && !crawl.settings.keepRefused) {
    process.stderr.write(
      'crawler: this crawl counts the links it turns away but does not keep them; --keep-refused does\n',
    )
  }
  const output = new Output()
  if (isTurnedAway) {
    withLogs(layout, ({ events, end }) =>
      forEachTurnedAway(events, end, (link) => {
        if (passes(link, filter)) output.line(args.isJson ? jsonLine({ ...link, state: 'turned-away' }) : link.url)
      }),
    )
  } else {
    withPast(layout, (past) =>
      forEachUrl(past, filter, args.isJson, (line) => output.line(args.isJson ? jsonLine(line) : line.url)),
    )
  }
  output.flush()
  return EXIT.done
}

function passes(link: TurnedAwayLink, { class: wanted, match }: UrlFilter): boolean {
  return (wanted === undefined || isClass(link.class, wanted)) && (match === undefined || match.test(link.url))
}
