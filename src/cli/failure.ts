import { editDistance } from '../search/text/typos.ts'

/** Exit codes. Scripts depend on them, so every help text lists them. */
export const EXIT = { done: 0, failed: 1, usage: 2, unavailable: 3 } as const

/** What the user can correct: printed as one line without a stack. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The command was called wrongly: exit code 2. */
export function usage(message: string): CliError {
  return new CliError(message, EXIT.usage)
}

const MOST = 3
const NEAR = 2

/** The names that a mistyped one was probably meant for: those that it begins, else the nearest by letters. */
export function similarNames(given: string, names: readonly string[]): string[] {
  const typed = given.toLowerCase()
  const begun = names.filter((name) => name.startsWith(typed))
  if (typed.length >= 2 && begun.length > 0) return begun.slice(0, MOST)
  const measured = names.map((name) => ({ name, distance: editDistance(typed, name, NEAR) }))
  const least = Math.min(...measured.map(({ distance }) => distance))
  if (least > NEAR || least >= typed.length) return []
  return measured
    .filter(({ distance }) => distance === least)
    .map(({ name }) => name)
    .slice(0, MOST)
}
