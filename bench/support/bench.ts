/** What a benchmark says of itself. The report is made of it. */
export interface About {
  measures: string
  /** The limit that is measured in the same run. */
  against: string
  figures: Figure[]
  notes?: string[]
}

export interface Figure {
  what: string
  /** Where the value is in the result. */
  at: string[]
  atLeast?: number
  atMost?: number
  unit?: string
}

export interface Bench {
  about: About
  /** Prints a table for people unless `--json` is given, and resolves with the figures. */
  run(args: string[]): Promise<object | undefined>
}

/** One run that is kept: `bench/results/<name>.json`. */
export interface SavedRun {
  bench: string
  arguments: string[]
  /** ISO date. */
  date: string
  commit: string
  machine: string
  result: object
}
