import pg from 'pg'
import { createPoller } from './waiting.ts'

interface FollowOptions {
  url: string
  /** Names the connection where PostgreSQL lists it. */
  name: string
  pollMs: number
  signal: AbortSignal
  /** Readies a new connection. False: another process reads, so the connection is closed until the next poll. */
  begin?(client: pg.Client): Promise<boolean>
  /** Reads on. False when there is nothing more. */
  step(): Promise<boolean>
  /** Notes a failure. Returns the milliseconds to wait before the next step. */
  failed(error: unknown): number
}

/** Another process reads on in the place of this one, or the position was moved: the connection is begun anew. */
export class Fenced extends Error {}

/** An older transaction may hide an event for a moment after its NOTIFY, so the next looks come soon. */
const AFTER_NOTIFY_MS = 25

/** Steps through the log at once, at every NOTIFY and at every poll. Lost connections are opened again. */
export function followLog({ url, name, pollMs, signal, begin, step, failed }: FollowOptions) {
  const poller = createPoller(signal)
  let session: pg.Client | undefined

  async function open(): Promise<void> {
    const client = new pg.Client({ connectionString: url, application_name: name })
    let lost = false
    client.on('error', () => undefined)
    client.on('end', () => {
      lost = true
      if (session !== client) return
      session = undefined
      poller.wake()
    })
    client.on('notification', () => poller.wake())
    try {
      await client.connect()
      if (begin && !(await begin(client))) return await client.end()
      await client.query('listen events')
      if (!lost) session = client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  async function close(): Promise<void> {
    const ended = session
    session = undefined
    await ended?.end().catch(() => undefined)
  }

  async function run(): Promise<void> {
    let waitMs = pollMs
    while (!signal.aborted) {
      try {
        if (poller.reset()) waitMs = Math.min(AFTER_NOTIFY_MS, pollMs)
        if (!session) await open()
        while (session && !signal.aborted && (await step()));
        await poller.wait(waitMs)
        waitMs = Math.min(2 * waitMs, pollMs)
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof Fenced) await close()
        await poller.pause(failed(error))
      }
    }
    await close()
  }

  return {
    poller,
    /** Whether it has a connection that was readied. */
    active: () => session !== undefined,
    /** Resolves after the signal. */
    ended: run(),
  }
}
