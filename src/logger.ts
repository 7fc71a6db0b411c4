import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

const SECRETS = [
  [/flk_(live|test)_[0-9A-Za-z]+/g, 'flk_…'],
  // Session, sign-in and board-link tokens.
  [/\bfl([slb])_[0-9A-Za-z]{20,}/g, 'fl$1_…'],
  [/\bBearer\s+[^\s"']+/gi, 'Bearer …'],
  // It starts at `://`, not at the scheme, so that a long run of letters is read once and not once per letter.
  [/:\/\/[^\s/@"']+@/g, '://…@'],
] as const

/** Removes keys, tokens and passwords in URLs from a text. pino's redaction does not look into messages and errors. */
export function scrub(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text)
}

const PERSONAL = [
  // An e-mail address, percent-encoded too. The lookbehind makes a long run of letters be read once.
  [/(?<![\w.+-])[\w.+-]+(?:@|%40)[\w.-]*\w/gi, '…@…'],
  // The query of an address.
  [/\?[^\s"'\\?=&]+=[^\s"'\\]*/g, '?…'],
] as const

/** Removes e-mail addresses and the queries of addresses, which are people's own words. */
function withoutPersonal(line: string): string {
  return PERSONAL.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), line)
}

/** An error without the values of its failed query or command, which may be personal. */
function withoutValues(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { params: _, detail: _detail, where: _where, command: _command, ...shown } = pino.stdSerializers.err(error)
  let { message, stack } = shown
  const replace = (text: string, by: string) => {
    message = message.replaceAll(text, by)
    stack = stack.replaceAll(text, by)
  }
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { params, code } = cause as { params?: unknown; code?: unknown }
    if (Array.isArray(params) && params.length > 0) replace(`params: ${params}`, 'params: …')
    if (BAD_VALUE.test(String(code))) replace(cause.message, cause.message.replace(/"[^"]*"/g, '"…"'))
  }
  const aggregateErrors = error instanceof AggregateError ? error.errors.map(withoutValues) : undefined
  return { ...shown, message, stack, aggregateErrors }
}

/** PostgreSQL's states of a value that it cannot use: their messages quote it. */
const BAD_VALUE = /^22[0-9A-Z]{3}$/

/** A request's path may have 16 KB: the log holds its beginning. */
const MAX_PATH = 256

/**
 * JSON lines on standard output (or `destination`), without secrets and personal data. A destination that fails ends
 * nothing.
 */
export function createLogger(options: { level: string; name?: string }, destination?: DestinationStream): Logger {
  const sink = destination ?? openStandardOutput()
  return pino(
    {
      level: options.level,
      ...(options.name ? { name: options.name } : {}),
      serializers: {
        err: withoutValues,
        path: (path: unknown) => (typeof path === 'string' ? path.slice(0, MAX_PATH) : path),
      },
      redact: ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.token', '*.apiKey', '*.secret'],
    },
    {
      write(line: string) {
        try {
          sink.write(withoutPersonal(scrub(line)))
        } catch {
          // A full disk. The line is lost, the request is not.
        }
      },
    },
  )
}

/** Bytes of lines that wait for standard output. Further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024

function openStandardOutput(): DestinationStream {
  const output = pino.destination({ sync: true, maxLength: MAX_WAITING_BYTES })
  // Without a listener the error would end the process. Waiting lines are written with the next one.
  output.on('error', () => undefined)
  return output
}
