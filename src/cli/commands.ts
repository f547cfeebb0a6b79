/** The commands, in the order of the help. Nothing here loads anything: see `Command.load`. */
import type { Command, Option, Positional } from './command.ts'

const URL: Positional = { name: 'URL', isRequired: true }
const URLS: Positional = { name: 'URL', isMany: true }
const DIR: Positional = { name: 'DIR' }

const SEEDS: Option = { type: 'texts', value: 'FILE', help: 'File of URLs, one a line; - for standard input' }
const QUIET: Option = { type: 'flag', help: 'No progress and no summary' }
const CONFIG: Option = { type: 'text', value: 'FILE', help: 'Options from a JSON or YAML file, names in camelCase' }
const CLASS: Option = { type: 'text', value: 'CLASS', help: 'Only this class, such as timeout, or group, such as dns' }
const STATE: Option = { type: 'texts', value: 'STATE', help: 'Only pending, processing, done, failed or refused' }
const MATCH: Option = { type: 'text', value: 'RE', help: 'Only URLs that match this regular expression' }

export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    group: 'Crawl',
    summary: 'Begin a crawl and go on until nothing is left',
    positionals: [URLS],
    options: { seeds: SEEDS, config: CONFIG, quiet: QUIET },
    takesSettings: true,
    examples: [
      'crawler start https://example.org/ --depth 3',
      'crawler start --seeds urls.txt --scope any --dir logs/wide',
    ],
    load: () => import('./start.ts'),
  },
  {
    name: 'resume',
    group: 'Crawl',
    summary: 'Go on with a crawl; limits, delays and scope may change',
    positionals: [DIR],
    options: { config: CONFIG, quiet: QUIET },
    takesSettings: true,
    examples: ['crawler resume', 'crawler resume logs/wide --delay 2s --max-pages 10000'],
    load: () => import('./resume.ts'),
  },
  {
    name: 'add',
    group: 'Crawl',
    summary: 'More seeds, also while the crawl runs',
    positionals: [URLS],
    options: { seeds: SEEDS },
    takesSettings: false,
    examples: ['crawler add https://example.org/new/', 'crawler add --seeds more.txt --dir logs/wide'],
    load: () => import('./add.ts'),
  },
  {
    name: 'retry',
    group: 'Crawl',
    summary: 'Failed URLs back to pending, also while the crawl runs',
    positionals: [DIR],
    options: { class: CLASS, match: MATCH },
    takesSettings: false,
    examples: ['crawler retry --class timeout', 'crawler retry --class dns --match "^https://a\\.example/"'],
    load: () => import('./retry.ts'),
  },
  {
    name: 'status',
    group: 'Look',
    summary: 'Counts, rates and who is waited for',
    positionals: [DIR],
    options: {},
    takesSettings: false,
    examples: ['crawler status', 'crawler status --json'],
    load: () => import('./status.ts'),
  },
  {
    name: 'list',
    group: 'Look',
    summary: 'The crawls in a folder',
    positionals: [{ name: 'LOGS' }],
    options: {},
    takesSettings: false,
    examples: ['crawler list', 'crawler list /srv/crawls'],
    load: () => import('./list.ts'),
  },
  {
    name: 'urls',
    group: 'Look',
    summary: 'The URLs, one a line, in the order of the log',
    positionals: [DIR],
    options: {
      state: STATE,
      class: CLASS,
      match: MATCH,
      'turned-away': { type: 'flag', help: 'Instead: the links turned away on discovery (--keep-refused)' },
    },
    takesSettings: false,
    examples: ['crawler urls --state failed --json', 'crawler urls --match "\\.pdf$"'],
    load: () => import('./urls.ts'),
  },
  {
    name: 'get',
    group: 'Look',
    summary: 'The stored page of a URL',
    positionals: [URL, DIR],
    options: {
      raw: { type: 'flag', help: 'The body as it came over the wire, not decoded' },
      headers: { type: 'flag', help: 'Status and headers instead of the body' },
      select: { type: 'text', value: 'CSS', help: 'The elements that a CSS selector finds' },
      attr: { type: 'text', value: 'NAME', help: 'With --select: this attribute of each' },
      text: { type: 'flag', help: 'The text of the page, or of what --select finds' },
      title: { type: 'flag', help: 'The title of the page' },
    },
    takesSettings: false,
    examples: ['crawler get https://example.org/', 'crawler get https://example.org/ --select a --attr href'],
    load: () => import('./get.ts'),
  },
  {
    name: 'explain',
    group: 'Look',
    summary: 'All that happened to one URL',
    positionals: [URL, DIR],
    options: {
      links: { type: 'flag', isOn: true, help: 'Look for the pages that link to it: reads the whole log' },
      'links-max': { type: 'text', value: 'N', help: 'Name at most so many of them (default 20)' },
    },
    takesSettings: false,
    examples: ['crawler explain https://example.org/', 'crawler explain https://example.org/ --no-links --json'],
    load: () => import('./explain.ts'),
  },
  {
    name: 'check',
    group: 'Look',
    summary: 'What the rules say of a URL: scope, robots, address, next contact',
    positionals: [URL, DIR],
    options: {},
    takesSettings: false,
    examples: ['crawler check https://example.org/private/'],
    load: () => import('./check.ts'),
  },
  {
    name: 'export',
    group: 'Look',
    summary: 'Every URL with its last answer, for other programs',
    positionals: [{ name: 'FORMAT', isRequired: true }, DIR],
    options: {
      out: { type: 'text', value: 'FILE', help: 'Whole lines into a file; goes on behind those that are there' },
      state: STATE,
      class: CLASS,
      match: MATCH,
      since: { type: 'text', value: 'TS|@SEQ', help: 'Only what happened later than this time, or record' },
      body: { type: 'text', value: 'FORM', help: 'auto (text where it is text, else base64), text, base64 or none' },
    },
    takesSettings: false,
    examples: ['crawler export jsonl --state done --out pages.jsonl', 'crawler export jsonl --body none | head'],
    load: () => import('./export.ts'),
  },
  {
    name: 'replay',
    group: 'Keep',
    summary: 'The crawl as it was at an instant: counts and digest',
    positionals: [DIR],
    options: {
      until: { type: 'text', value: 'TS|@SEQ', help: 'ISO 8601 (UTC without a zone), epoch ms, or @ a record number' },
      fork: { type: 'text', value: 'NEWDIR', help: 'Make a crawl of its own of it, which `resume` goes on with' },
      'what-if': { type: 'flag', help: 'How the coverage would differ under other rules, without a request' },
      config: CONFIG,
    },
    takesSettings: true,
    examples: [
      'crawler replay --until 2026-05-01T12:00',
      'crawler replay --until @812 --fork logs/deeper --depth 5',
      'crawler replay --what-if --scope domain --depth 3',
    ],
    load: () => import('./replay.ts'),
  },
  {
    name: 'compact',
    group: 'Keep',
    summary: 'Give up the past for the state it led to: smaller, quicker to open',
    positionals: [DIR],
    options: {
      keep: { type: 'text', value: 'DURATION|TS', help: 'Keep the past of so long, or from this instant on' },
    },
    takesSettings: false,
    examples: ['crawler compact', 'crawler compact logs/wide --keep 12h'],
    load: () => import('./compact.ts'),
  },
  {
    name: 'verify',
    group: 'Keep',
    summary: 'Read everything and say what is damaged; repair it',
    positionals: [DIR],
    options: {
      repair: { type: 'flag', help: 'Set damaged files aside, go on from what is left, and say what is gone' },
    },
    takesSettings: false,
    examples: ['crawler verify', 'crawler verify logs/wide --repair'],
    load: () => import('./verify.ts'),
  },
]
