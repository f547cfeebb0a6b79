/** What a command is: its place in the help, what it takes, and the module that runs it, loaded only when it runs. */

export interface Positional {
  /** As the usage shows it: `URL`, `DIR`. */
  readonly name: string
  readonly isRequired?: true
  /** Takes all that are left. */
  readonly isMany?: true
}

export interface Option {
  readonly help: string
  /** `flag` has no value, `texts` may be given several times. */
  readonly type: 'flag' | 'text' | 'texts'
  /** Name of the value in the help. */
  readonly value?: string
  /** A flag that is on where nothing is said: the help shows how to turn it off. */
  readonly isOn?: true
}

export interface Command {
  readonly name: string
  readonly group: 'Crawl' | 'Look' | 'Keep'
  /** One line. */
  readonly summary: string
  readonly positionals: readonly Positional[]
  /** Beside `--dir`, `--json` and `--help`, which all have. */
  readonly options: Readonly<Record<string, Option>>
  /** Whether the options of the crawl's settings are taken, `--config` and environment included. */
  readonly takesSettings: boolean
  /** Lines of the help that show how it is used. */
  readonly examples: readonly string[]
  readonly load: () => Promise<{ readonly run: Run }>
}

/** @returns the exit code. Errors: whatever is to be printed. */
export type Run = (args: Arguments) => Promise<number>

/** A command line as data: see arguments.ts. */
export interface Arguments {
  readonly command: Command
  readonly isJson: boolean
  readonly isQuiet: boolean
  /** Positionals by name, in order; [] where not given. */
  readonly positionals: Readonly<Record<string, readonly string[]>>
  /** Options by name, without dashes: text, a list of texts, or true and false. Undefined where not given. */
  readonly values: Readonly<Record<string, string | readonly string[] | boolean | undefined>>
}
