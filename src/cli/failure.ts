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
