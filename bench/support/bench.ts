import { parseArgs } from 'node:util'
import { median, round } from './stats.ts'

/** What a benchmark says of itself. Its report is made of it. */
export interface About {
  measures: string
  /** The limit that is measured in the same run. */
  against: string
  figures: Figure[]
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
  /** May print details for people. Resolves with the figures; undefined in a child process that serves a benchmark. */
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

/** Reads `--name value` for each default that is a number or a text, and `--name` for each that is `false`. */
export function optionsOf<T extends Record<string, number | string | boolean>>(
  args: string[],
  defaults: T,
): { [K in keyof T]: T[K] extends number ? number : T[K] extends boolean ? boolean : string } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) =>
      typeof value === 'boolean'
        ? [name, { type: 'boolean' as const, default: value }]
        : [name, { type: 'string' as const, default: String(value) }],
    ),
  )
  const { values } = parseArgs({ args, options })
  const read = (name: string, value: unknown) => (typeof defaults[name] === 'number' ? Number(value) : value)
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, read(name, value)])) as never
}

/** What one round of ours and one of the limit gave. */
export interface Turns {
  ours: number
  bare: number
  /** The median of the rounds' ratios: other load on the machine weighs on both sides of a round. */
  ratio: number
}

/** Runs both sides in turns. The side that begins alternates, and the first rounds warm up. */
export async function inTurns(
  sides: { ours: () => Promise<number>; bare: () => Promise<number> },
  { rounds, warmUp = 1 }: { rounds: number; warmUp?: number },
): Promise<Turns> {
  const figures = { ours: [] as number[], bare: [] as number[] }
  for (let n = -warmUp; n < rounds; n++)
    for (const side of n % 2 === 0 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const)) {
      const figure = await sides[side]()
      if (n >= 0) figures[side].push(figure)
    }
  return {
    ours: round(median(figures.ours)),
    bare: round(median(figures.bare)),
    ratio: round(median(figures.ours.map((figure, n) => figure / figures.bare[n]!))),
  }
}

export async function millisecondsOf(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}
