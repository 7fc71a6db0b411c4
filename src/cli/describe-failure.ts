import { ConfigError } from '../config.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { AppError } from '../errors.ts'
import { LocalFailure } from '../local/failure.ts'
import { scrub } from '../logger.ts'
import { CliError, EXIT } from './failure.ts'

interface Failure {
  text: string
  exitCode: number
}

/** One line for what the user can correct. Only a fault of ours shows its stack. */
export function describeFailure(error: unknown): Failure {
  const { text, exitCode } = toFailure(error)
  return { text: scrub(text), exitCode }
}

function toFailure(error: unknown): Failure {
  if (error instanceof CliError) return { text: error.message, exitCode: error.exitCode }
  if (error instanceof ConfigError) return { text: error.message, exitCode: EXIT.usage }
  if (error instanceof AppError) return { text: error.message, exitCode: exitCodeOf(error) }
  if (error instanceof LocalFailure) return { text: error.message, exitCode: EXIT.failed }
  if (isConnectionLoss(error))
    return {
      text: 'The database, Redis or the media store is unavailable. Check that the service is running.',
      exitCode: EXIT.unavailable,
    }
  return { text: error instanceof Error ? (error.stack ?? error.message) : String(error), exitCode: EXIT.failed }
}

function exitCodeOf({ code }: AppError): number {
  if (code === 'invalid_request') return EXIT.usage
  return code === 'unavailable' ? EXIT.unavailable : EXIT.failed
}
