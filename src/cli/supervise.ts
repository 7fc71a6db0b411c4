import { setTimeout as sleep } from 'node:timers/promises'
import type { LocalServer } from '../local/postgres.ts'
import type { Logger } from '../logger.ts'

export interface Supervision {
  /** The server's name in messages. */
  name: string
  /** Starts it. `before` is the one that ended: the new one must have its URL and its data. */
  start(before: LocalServer | undefined): Promise<LocalServer>
  logger: Logger
  /** Holds the process while it runs. */
  pids: Set<number>
  /** Called when it does not stay up. Nothing restarts it after that. */
  giveUp(why: string): void
}

const MOST_FAILURES = 5
const FIRST_PAUSE_MS = 200
/** A server that ran this long counts as healthy. Its end is then the first failure of a new series. */
const STEADY_MS = 30_000

/** Starts a local database, and starts it again on the same port and data whenever it ends by itself. */
export async function superviseServer({ name, start, logger, pids, giveUp }: Supervision) {
  const stopping = new AbortController()
  let server = await start(undefined)
  let failures = 0

  /** Undefined when the service stops meanwhile, or after too many failures in a row. */
  async function restart(): Promise<LocalServer | undefined> {
    let reason = 'it was killed, or it failed'
    for (;;) {
      if (failures >= MOST_FAILURES) {
        giveUp(`${name} ended unexpectedly, ${failures} failures in a row: ${reason}. ${remedyFor(name)}`)
        return undefined
      }
      await sleep(FIRST_PAUSE_MS * 2 ** (failures - 1), undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return undefined
      try {
        return await start(server)
      } catch (error) {
        failures++
        reason = (error as Error).message
        logger.error({ err: error, server: name, failures }, 'local database does not start')
      }
    }
  }

  async function keepUp(): Promise<void> {
    for (;;) {
      const startedAt = Date.now()
      pids.add(server.pid)
      await server.exited
      pids.delete(server.pid)
      if (stopping.signal.aborted) return
      failures = Date.now() - startedAt > STEADY_MS ? 1 : failures + 1
      logger.error({ server: name, failures }, 'local database ended, restarting')
      const next = await restart()
      if (!next) return
      server = next
      logger.info({ server: name }, 'local database runs again')
      // Asked to stop while it started.
      if (stopping.signal.aborted) return server.stop()
    }
  }

  const kept = keepUp()
  return {
    url: server.url,
    async stop() {
      stopping.abort()
      await server.stop()
      await kept
    },
  }
}

function remedyFor(name: string): string {
  const variable = name === 'Redis' ? 'REDIS_URL' : 'DATABASE_URL'
  return `Free disk space and memory, then start again, or set ${variable} to another server`
}
