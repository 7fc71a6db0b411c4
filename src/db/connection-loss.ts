const CODES = /^(57P0[123]|08\w{3}|53300|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/
/** Errors of pg and ioredis that carry no code. */
const MESSAGES = [
  /Connection terminated/,
  /connection error and is not queryable/,
  /timeout exceeded when trying to connect/,
  /^Command timed out$/,
]

/** True for an outage of the database, Redis or the network: retrying later may succeed. */
export function isConnectionLoss(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && CODES.test(code)) return true
    const { message } = cause
    if (MESSAGES.some((pattern) => pattern.test(message))) return true
  }
  return false
}
