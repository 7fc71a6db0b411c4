/** A database, a Redis or a network that went away and will come back. */
export function isConnectionLoss(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code
    if (
      typeof code === 'string' &&
      /^(57P0[123]|08\w{3}|53300|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/.test(code)
    )
      return true
    if (
      /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|^Command timed out$/.test(
        cause.message,
      )
    )
      return true
  }
  return false
}
