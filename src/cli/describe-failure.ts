import { BackupFailure } from '../backup/failure.ts'
import { ConfigError } from '../config.ts'
import { isConnectionLoss } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { LocalFailure } from '../local/processes.ts'
import { scrub } from '../logger.ts'
import { describeAccess } from './context.ts'
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
  if (error instanceof AppError) return { text: withList(error), exitCode: exitCodeOf(error) }
  if (error instanceof BackupFailure || error instanceof LocalFailure)
    return { text: error.message, exitCode: EXIT.failed }
  const refused = refusedCredentials(error)
  if (refused) return { text: refused, exitCode: EXIT.failed }
  if (isConnectionLoss(error))
    return {
      text:
        `The database, Redis or the media store is unavailable${silentAddress(error)}. ` +
        'Check its address, and that it runs.',
      exitCode: EXIT.unavailable,
    }
  const known = describeAccess(error)
  if (known) return { text: known, exitCode: EXIT.failed }
  return { text: error instanceof Error ? (error.stack ?? error.message) : String(error), exitCode: EXIT.failed }
}

/** What PostgreSQL, Redis, a bucket or Meilisearch says to a wrong password or name, as what to correct. */
const REFUSALS: readonly [what: RegExp, text: string][] = [
  [/^53100$/, 'The disk of PostgreSQL is full. Free some space, then try again.'],
  [
    /^(28P01|28000)$/,
    'PostgreSQL refuses the user or the password of DATABASE_URL. Correct it. A new POSTGRES_PASSWORD in .env ' +
      'applies at the first start of a database only: use the old one, or change it with ALTER ROLE.',
  ],
  [
    /^3D000$/,
    'PostgreSQL has no database of the name in DATABASE_URL. Create it, or correct the name. In a container whose ' +
      'first start was interrupted, remove its volume.',
  ],
  [/^(WRONGPASS|NOAUTH)\b/, 'Redis refuses the password of REDIS_URL. Correct it.'],
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied)$/,
    'The bucket refuses S3_ACCESS_KEY and S3_SECRET_KEY. Correct them, or allow this key to use the bucket.',
  ],
  [/^NoSuchBucket$/, 'There is no bucket of the name in S3_BUCKET. Create it, or correct the name.'],
  [/^invalid_api_key$/, 'Meilisearch refuses MEILI_KEY. Correct it.'],
]

function refusedCredentials(error: unknown): string | undefined {
  // Meilisearch's client gives the server's answer as a cause that is no Error.
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as Error).cause) {
    const { code, name, message } = cause as Partial<Error> & { code?: unknown }
    const found = REFUSALS.find(([what]) =>
      [String(code), name, message].some((said) => said !== undefined && what.test(said)),
    )
    if (found) return found[1]
  }
  return undefined
}

/** Which command lists what there is none of. */
const LISTED: Readonly<Record<string, string>> = {
  video: 'frames status',
  account: 'frames accounts',
  key: 'frames keys list',
  technique: 'frames techniques',
  webhook: 'frames webhooks',
  'dead event': 'frames events dead',
}

function withList({ message, missing = '' }: AppError): string {
  const kind = Object.keys(LISTED).find((name) => missing === name || missing.startsWith(`${name} "`))
  return kind === undefined ? message : `${message} ${LISTED[kind]} lists those there are.`
}

/** Where nothing answers, if the error knows it. */
function silentAddress(error: unknown): string {
  const causes = error instanceof AggregateError ? error.errors : [error]
  for (const one of causes)
    for (let cause = one as unknown; cause instanceof Error; cause = cause.cause) {
      const { address, port, hostname } = cause as { address?: unknown; port?: unknown; hostname?: unknown }
      if (typeof address === 'string' && typeof port === 'number') return ` (nothing answers at ${address}:${port})`
      if (typeof hostname === 'string') return ` (the host ${hostname} is not found)`
    }
  return ''
}

function exitCodeOf({ code }: AppError): number {
  if (code === 'invalid_request') return EXIT.usage
  return code === 'unavailable' ? EXIT.unavailable : EXIT.failed
}
